"""A commit that replaces files of `records` by files with fewer rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.transaction import RemoveAction

from seglake.lake.app_versions import MAINTAIN_APP
from seglake.lake.compaction import Merge, merge_task, replace_files
from seglake.lake.delta_commit import recover
from seglake.lake.errors import WaveError
from seglake.lake.merged_files import merge
from seglake.lake.parquet_files import RemovedFile
from seglake.lake.table_changes import allow_removals
from seglake.lake.table_commit import Addition, Removal, add_files
from seglake.lake.table_view import view_of
from seglake.lake.tables import CHECKPOINTS, GAPS, LOG_TABLES, RECORDS
from seglake.lake.waves import TopicWave
from support.lake_drivers import EXIT_CODE_OF_THE_DEAD, commit, commit_and_die
from support.lake_rows import (
    NOW_MS,
    PLAIN_TABLES,
    SOURCE,
    Lake,
    lake_at,
    next_wave,
    read_offsets,
    rows,
    wave,
    write_file,
)
from support.lake_states import generations, redo_files, table_versions
from support.processes import young

_STEPS = ["redo", *(table.name for table in PLAIN_TABLES), "cleaned"]


def _erasing(lake: Lake, kept: range, erased: range, generation: int = 2) -> TopicWave:
    """Put a file with the kept offsets in place of all files of `records`."""
    files = [
        write_file(lake, table, "orders", rows(table, "orders", offsets, generation=generation))
        for table, offsets in ((RECORDS, kept), (GAPS, erased), (CHECKPOINTS, erased))
        if offsets
    ]
    removed = tuple(file.removed for file in view_of(lake.tables, RECORDS).files)
    return TopicWave("orders", generation, tuple(files), removed)


def _let_die(lake: Lake, step: str, mine: TopicWave) -> None:
    process = young().Process(target=commit_and_die, args=(lake.path, step, mine))
    process.start()
    process.join()
    assert process.exitcode == EXIT_CODE_OF_THE_DEAD


def test_rows_are_gone_from_records_and_named_in_the_other_tables(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(5)))
    steps: list[str] = []
    mine = _erasing(lake, range(1, 5), range(1))
    assert commit(lake, mine, after=steps.append) == (("orders",), ())
    assert steps == _STEPS
    assert read_offsets(lake, RECORDS, "orders") == [1, 2, 3, 4]
    assert read_offsets(lake, GAPS, "orders") == [0, 0, 1, 2, 3, 4]
    assert generations(lake, "orders") == (2, 2, 2)
    assert redo_files(lake) == []
    version = lake.tables.open(RECORDS).version()
    entry = Path(lake.tables.log_entry_path(RECORDS, version)).read_text().splitlines()
    actions = [action for action in map(json.loads, entry) if {"add", "remove"} & action.keys()]
    assert [next(iter(a.values()))["dataChange"] for a in actions] == [True, True]


def test_files_may_be_removed_without_a_replacement(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(5)), wave(lake, "clicks", 1, range(3)))
    removed = tuple(
        file.removed for file in view_of(lake.tables, RECORDS).files if file.topic == "orders"
    )
    mine = _erasing(lake, range(0), range(5))._replace(removed=removed)
    assert commit(lake, mine) == (("orders",), ())
    assert read_offsets(lake, RECORDS, "orders") == []
    assert read_offsets(lake, RECORDS, "clicks") == [0, 1, 2]


@pytest.mark.parametrize("step", _STEPS)
def test_driver_killed_after_any_step_is_completed_by_the_next(lake: Lake, step: str) -> None:
    commit(lake, wave(lake, "orders", 1, range(5)))
    mine = _erasing(lake, range(1, 5), range(1))
    _let_die(lake, step, mine)
    recover(lake.tables, SOURCE, ["orders"])
    is_decided = step != "redo"
    assert read_offsets(lake, RECORDS, "orders") == [*range(int(is_decided), 5)]
    assert len(read_offsets(lake, GAPS, "orders")) == 5 + is_decided
    assert generations(lake, "orders") == (1 + is_decided,) * 3
    if not is_decided:
        assert commit(lake, mine) == (("orders",), ())
    recover(lake.tables, SOURCE)
    assert redo_files(lake) == []


def _compacted(lake: Lake) -> None:
    """Merge all files of `records` into one, as a maintenance does."""
    view = view_of(lake.tables, RECORDS)
    merges = [Merge("orders", view.files)]
    files = [merge(merge_task(lake.tables, RECORDS, each, 1)) for each in merges]
    assert not replace_files(view, merges, files, run_id="m", now_ms=NOW_MS)


@pytest.mark.parametrize("step", ["plan", "redo"])
@pytest.mark.parametrize("by_seglake", [True, False], ids=["maintain", "OPTIMIZE"])
def test_compaction_of_a_file_to_remove_makes_the_caller_plan_again(
    lake: Lake, step: str, by_seglake: bool
) -> None:
    commit(lake, wave(lake, "orders", 1, range(5)))
    commit(lake, wave(lake, "orders", 2, range(5, 8)))
    mine = _erasing(lake, range(1, 8), range(1), generation=3)
    others = next_wave(lake, "clicks", range(3))

    def compact(done: str) -> None:
        if done == step and len(view_of(lake.tables, RECORDS).files) == 2:
            if by_seglake:
                _compacted(lake_at(lake.path))
            else:
                lake_at(lake.path).tables.open(RECORDS).optimize.compact()

    compact("plan")
    assert commit(lake, mine, others, after=compact) == (("clicks",), ("orders",))
    assert read_offsets(lake, RECORDS, "orders") == [*range(8)]
    assert generations(lake, "orders") == (2, 2, 2)
    assert redo_files(lake) == []
    again = _erasing(lake, range(1, 8), range(1), generation=3)
    orders = tuple(file for file in again.removed if file.topic == "orders")
    assert commit(lake, again._replace(removed=orders)) == (("orders",), ())
    assert read_offsets(lake, RECORDS, "orders") == [*range(1, 8)]


def test_removal_is_refused_on_top_of_a_version_that_it_has_not_seen(lake: Lake) -> None:
    """Delta itself accepts that a file is removed twice, and so its rows would be there again."""
    commit(lake, wave(lake, "orders", 1, range(5)))
    commit(lake, wave(lake, "orders", 2, range(5, 8)))
    allow_removals(lake.tables, RECORDS)
    view = view_of(lake.tables, RECORDS)
    files = view.files
    lake_at(lake.path).tables.open(RECORDS).optimize.compact()
    kept = write_file(lake, RECORDS, "orders", rows(RECORDS, "orders", range(1, 8)))
    failure = add_files(
        view,
        [Addition(kept, NOW_MS)],
        now_ms=NOW_MS,
        commit_info={"run_id": "run"},
        generations={},
        removals=[Removal(file.removed, loses_rows=True) for file in files],
    )
    assert failure
    assert read_offsets(lake, RECORDS, "orders") == [*range(8)]


def test_compaction_that_read_the_removed_file_fails(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(5)))
    view = view_of(lake.tables, RECORDS)
    merges = [Merge("orders", view.files)]
    files = [merge(merge_task(lake.tables, RECORDS, each, 1)) for each in merges]
    commit(lake, _erasing(lake, range(1, 5), range(1)))
    assert replace_files(view, merges, files, run_id="m", now_ms=NOW_MS)
    assert read_offsets(lake, RECORDS, "orders") == [1, 2, 3, 4]
    handle = lake.tables.open(RECORDS)
    assert lake.tables.generation(RECORDS, handle, MAINTAIN_APP) == 1


def test_other_commits_in_between_do_not_stop_a_removal(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More often than a commit is usually tried."""
    commit(lake, wave(lake, "orders", 1, range(5)))
    mine = _erasing(lake, range(1, 5), range(1))
    rivals = [wave(lake, "clicks", generation, range(generation, 9)) for generation in range(1, 8)]
    original = DeltaTable.create_write_transaction

    # Any: what delta-rs takes.
    def overtaken(self: DeltaTable, actions: list[Any], *args: Any, **options: Any) -> None:
        if rivals and any(isinstance(action, RemoveAction) for action in actions):
            commit(lake_at(lake.path), rivals.pop(0))
        original(self, actions, *args, **options)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", overtaken)
    assert commit(lake, mine) == (("orders",), ())
    assert rivals == []
    assert read_offsets(lake, RECORDS, "orders") == [1, 2, 3, 4]
    assert generations(lake, "clicks") == (7, 7, 7)


def test_recovery_reads_redo_files_that_do_not_name_removed_files(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(5))
    _let_die(lake, "records", mine)
    (path,) = Path(lake.tables.redo_folder_of(LOG_TABLES)).iterdir()
    content = json.loads(path.read_text())
    assert content.pop("removed") == []
    path.write_text(json.dumps(content))
    assert recover(lake.tables, SOURCE, ["orders"]) == ("orders",)
    assert read_offsets(lake, CHECKPOINTS, "orders") == [0, 1, 2, 3, 4]


def test_file_of_another_topic_is_not_removed(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(5))._replace(removed=(RemovedFile("clicks", "x", 1),))
    before = table_versions(lake)
    with pytest.raises(WaveError, match="belongs to clicks"):
        commit(lake, mine)
    assert table_versions(lake) == before
