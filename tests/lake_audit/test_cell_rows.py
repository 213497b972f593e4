"""The rows of a cell, and what of them cannot be read."""

from pathlib import Path

from support.audits import audited


def test_a_data_file_that_is_gone_is_named(lake: Path) -> None:
    (gone,) = (lake / "records").rglob("*.parquet")
    gone.unlink()
    found = audited(lake)
    assert found.exit_code == 3
    assert found.problems == (f"cannot open {gone}: no such file or folder",)
