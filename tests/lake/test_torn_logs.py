"""Logs as a power cut leaves them: files that are cut short, wherever that is."""

from pathlib import Path

import pytest

from seglake.errors import SeglakeError
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import TornLogError
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import RECORDS, TABLES, Table
from support.lake_drivers import commit
from support.lake_rows import SOURCE, Lake, wave
from support.lake_states import assert_each_row_once


@pytest.fixture
def torn(lake: Lake) -> Path:
    """The newest log entry of records, which one commit of two files has written."""
    commit(lake, wave(lake, "a", 1, range(3)), wave(lake, "b", 1, range(3)))
    return Path(lake.tables.log_entry_path(RECORDS, 1))


def test_a_cut_entry_is_refused_and_the_commit_can_be_made_again_without_it(
    lake: Lake, torn: Path
) -> None:
    whole = torn.read_bytes()
    ends = [number for number, byte in enumerate(whole) if byte == ord("\n")]
    for end in (0, 1, *ends, *(end + 1 for end in ends), *range(90, len(whole) - 1, 97)):
        torn.write_bytes(whole[:end])
        with pytest.raises(TornLogError, match="delete the file and run again"):
            recover(LakeTables(lake.tables.lake_path, lake.storage), SOURCE, ["a"])
    torn.write_bytes(bytes(len(whole)))
    with pytest.raises(TornLogError):
        recover(LakeTables(lake.tables.lake_path, lake.storage), SOURCE, ["a"])
    torn.write_bytes(whole)
    recover(LakeTables(lake.tables.lake_path, lake.storage), SOURCE, ["a"])


def test_a_cut_entry_of_another_tool_is_refused_where_a_line_is_cut(lake: Lake, torn: Path) -> None:
    torn.with_name(f"{2:020d}.json").write_text('{"commitInfo":{"operation":"OPTIMIZE"}}\n{"add"')
    with pytest.raises(TornLogError):
        recover(LakeTables(lake.tables.lake_path, lake.storage), SOURCE, ["a"])


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_cut_entry_of_any_table_keeps_it_from_being_opened_and_altered(
    lake: Lake, table: Table
) -> None:
    """Else commits would lie on top of it, and nobody could tell any more."""
    log = Path(lake.tables.log_entry_path(table, 0)).parent
    whole = ['{"commitInfo":{"operation":"WRITE","action_count":"2"}}', "{}", "{}"]
    cut = log / f"{1:020d}.json"
    cut.write_text("\n".join(whole[:2]))
    files = _contents(lake)
    for touch in (lambda tables: tables.open(table), LakeTables.open_all, create_missing):
        with pytest.raises(TornLogError, match=cut.name):
            touch(LakeTables(lake.tables.lake_path, lake.storage))
    assert _contents(lake) == files
    cut.unlink()
    assert create_missing(LakeTables(lake.tables.lake_path, lake.storage)) == []


def _contents(lake: Lake) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(lake.path).rglob("*") if path.is_file()}


@pytest.mark.parametrize("left", ["empty", "cut", "zeros", "zeros inside", "gone"])
def test_a_cut_checkpoint_is_named_and_the_table_opens_without_it(
    lake: Lake, torn: Path, left: str
) -> None:
    lake.tables.open(RECORDS).create_checkpoint()
    checkpoint = torn.with_suffix(".checkpoint.parquet")
    content = checkpoint.read_bytes()
    inside = content[:200] + bytes(400) + content[600:]
    cut = {"empty": b"", "cut": content[:-9], "zeros": bytes(len(content)), "zeros inside": inside}
    if left == "gone":
        checkpoint.unlink()
    else:
        checkpoint.write_bytes(cut[left])
    hint = torn.with_name("_last_checkpoint")
    named = hint if left == "gone" else checkpoint
    with pytest.raises(TornLogError, match=f"^{named} is damaged"):
        lake.tables.open(RECORDS)
    checkpoint.unlink(missing_ok=True)
    hint.unlink()
    assert_each_row_once(lake, "a", [0, 1, 2])


def test_what_was_not_cut_is_said_in_other_words(lake: Lake, torn: Path) -> None:
    torn.with_name(f"{0:020d}.json").write_text("{")
    with pytest.raises(SeglakeError) as caught:
        lake.tables.open(RECORDS)
    assert not isinstance(caught.value, TornLogError)
