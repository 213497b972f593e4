"""Every block of docs/python.md runs as it stands, one after the other in one process."""

import re
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "python.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Any: what the blocks bind.
Names = dict[str, Any]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    """What the blocks bound, run in a folder that has the sample disk, as a checkout has it."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "samples").symlink_to(_ROOT / "samples")
    bound: Names = {"__name__": _PAGE.name}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in _BLOCK.findall(_PAGE.read_text("utf-8")):
            exec(compile(block, _PAGE.name, "exec"), bound)
    return bound


def test_ingest_gives_the_summary(names: Names) -> None:
    assert (names["summary"].records, names["summary"].exit_code) == (2070, 3)
    assert (names["facts"]["batches"], names["facts"]["quarantined"]) == (229, 2)
    assert names["again"].records == 0


def test_tables_are_those_of_the_lake(names: Names) -> None:
    assert names["records"].num_rows == 208 + 239
    assert {name for name, _ in names["tables"].items()} >= {"batches", "checkpoints", "gaps"}
    assert names["row"]["defect_code"] in {"bad_length", "crc_mismatch"}


def test_audit_and_replay_say_what_the_commands_say(names: Names) -> None:
    assert "has a record or a recorded cause" in names["proof"].to_text()
    assert "no gap could be filled" in names["replayed"].to_text()


def test_inspect_gives_what_a_segment_holds(names: Names) -> None:
    assert names["batches"][0]["codec"] == "zstd"
    assert names["record"]["offset"] == 5


def test_dry_run_writes_nothing(names: Names) -> None:
    assert "nothing was written" in names["plan"].to_text()
