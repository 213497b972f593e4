"""Which topics the data files hold, and files of which nobody can tell."""

from pathlib import Path

from support.audits import audited


def test_a_data_file_that_is_no_parquet_is_named(lake: Path) -> None:
    (broken,) = (lake / "gaps").rglob("*.parquet")
    broken.write_bytes(b"PAR1 and no more")
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems[0].startswith(f"cannot read {broken}: ")
