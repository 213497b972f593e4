"""Commits that fail, seem to fail, or are overtaken between their check and their commit."""

from collections.abc import Callable

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from seglake.lake.app_versions import AppVersions
from seglake.lake.delta_commit import recover, versions
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import CommitUnknownError, ForeignChangeError
from seglake.lake.parquet_files import DataFile
from seglake.lake.tables import CHECKPOINTS, GAPS, RECORDS, Table
from support.lake_drivers import commit, commit_after_the_first_table
from support.lake_rows import PLAIN_TABLES, SOURCE, Lake, read_offsets, wave
from support.lake_states import assert_each_row_once, generations, redo_files, table_versions

Commit = Callable[..., None]


def patch_commit(
    patch: pytest.MonkeyPatch,
    lake: Lake,
    table: Table,
    around: Callable[[Callable[[], None]], None],
) -> None:
    """Let `around` decide what becomes of each commit to one table; it may call it, or not."""
    original: Commit = DeltaTable.create_write_transaction
    location = f"{lake.tables.path(table)}/"

    def patched(self: DeltaTable, *args: object, **options: object) -> None:
        if self.table_uri.removeprefix("file://").rstrip("/") + "/" != location:
            original(self, *args, **options)
        else:
            around(lambda: original(self, *args, **options))

    patch.setattr(DeltaTable, "create_write_transaction", patched)


@pytest.mark.parametrize("table", PLAIN_TABLES, ids=lambda table: table.name)
def test_commit_that_happened_but_seemed_to_fail_is_recognised(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    calls: list[str] = []

    def fail_afterwards(real: Callable[[], None]) -> None:
        calls.append(table.name)
        real()
        raise OSError("connection lost after the commit")

    mine = wave(lake, "orders", 1, range(3))
    patch_commit(monkeypatch, lake, table, fail_afterwards)
    assert commit(lake, mine) == (("orders",), ())
    assert calls == [table.name]
    assert_each_row_once(lake, "orders", [0, 1, 2])


def test_commit_without_records_that_seemed_to_fail_is_recognised(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_afterwards(real: Callable[[], None]) -> None:
        real()
        raise CommitFailedError("Concurrent transaction failed")

    mine = wave(lake, "orders", 1, range(3), tables=(GAPS, CHECKPOINTS))
    patch_commit(monkeypatch, lake, RECORDS, fail_afterwards)
    assert commit(lake, mine) == (("orders",), ())
    assert read_offsets(lake, GAPS, "orders") == [0, 1, 2]


@pytest.mark.parametrize("table", PLAIN_TABLES, ids=lambda table: table.name)
def test_commit_that_failed_once_is_tried_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    calls: list[str] = []

    def fail_first(real: Callable[[], None]) -> None:
        calls.append(table.name)
        if len(calls) == 1:
            raise OSError("storage is away for a moment")
        real()

    mine = wave(lake, "orders", 1, range(3))
    patch_commit(monkeypatch, lake, table, fail_first)
    assert commit(lake, mine) == (("orders",), ())
    assert_each_row_once(lake, "orders", [0, 1, 2])


def fail_always(real: Callable[[], None]) -> None:
    raise OSError("storage is away")


def is_there(lake: Lake, file: DataFile) -> bool:
    return (lake.path / file.table / file.path).is_file()


def test_decision_that_stays_unknown_keeps_everything_for_a_later_run(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = wave(lake, "orders", 1, range(3))
    with monkeypatch.context() as patch:
        patch_commit(patch, lake, RECORDS, fail_always)
        with pytest.raises(CommitUnknownError, match=r"to records .*storage is away"):
            commit(lake, mine)
    assert len(redo_files(lake)) == 1
    assert recover(lake.tables, SOURCE, ["orders"]) == ()
    assert len(redo_files(lake)) == 1
    assert table_versions(lake) == [0] * len(PLAIN_TABLES)
    assert [file.path for file in mine.files if not is_there(lake, file)] == []

    commit(lake, wave(lake, "orders", 1, range(5)), attempt_id="later")
    assert recover(lake.tables, SOURCE, ["orders"]) == ()
    assert redo_files(lake) == []
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])


@pytest.mark.parametrize("table", PLAIN_TABLES[1:], ids=lambda table: table.name)
def test_follower_that_cannot_be_reached_is_completed_later(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    mine = wave(lake, "orders", 1, range(3))
    with monkeypatch.context() as patch:
        patch_commit(patch, lake, table, fail_always)
        with pytest.raises(CommitUnknownError):
            commit(lake, mine)
    assert read_offsets(lake, CHECKPOINTS, "orders") == []
    assert recover(lake.tables, SOURCE) == ("orders",)
    assert_each_row_once(lake, "orders", [0, 1, 2])


def test_rival_between_check_and_commit_wins(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, rival = wave(lake, "orders", 1, range(3)), wave(lake, "orders", 1, range(10, 12))
    outcomes: list[object] = []

    def be_overtaken(real: Callable[[], None]) -> None:
        monkeypatch.undo()
        outcomes.append(commit(lake, rival, attempt_id="rival"))
        real()

    patch_commit(monkeypatch, lake, RECORDS, be_overtaken)
    assert commit(lake, mine) == ((), ("orders",))
    assert outcomes == [(("orders",), ())]
    assert_each_row_once(lake, "orders", [10, 11])
    assert redo_files(lake) == []


def test_rival_between_the_look_at_the_generations_and_the_commit_wins(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, rival = wave(lake, "orders", 1, range(3)), wave(lake, "orders", 1, range(10, 12))
    look = LakeTables.generation

    def be_overtaken(self: LakeTables, table: Table, handle: DeltaTable, app: str) -> int:
        found = look(self, table, handle, app)
        if redo_files(lake):  # it is about to decide
            monkeypatch.undo()
            commit(lake, rival, attempt_id="rival")
        return found

    monkeypatch.setattr(LakeTables, "generation", be_overtaken)
    assert commit(lake, mine) == ((), ("orders",))
    assert_each_row_once(lake, "orders", [10, 11])


def test_generations_read_while_someone_commits_belong_together(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_after_the_first_table(lake, monkeypatch)
    found = versions(lake.tables, SOURCE, ["orders"])["orders"]
    assert (found.deciding, found.publishing) == (1, 0)


def test_other_topics_between_check_and_commit_do_not_disturb(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = wave(lake, "orders", 1, range(3)), wave(lake, "clicks", 1, range(2))

    def be_overtaken(real: Callable[[], None]) -> None:
        monkeypatch.undo()
        commit(lake, other, attempt_id="other")
        real()

    patch_commit(monkeypatch, lake, RECORDS, be_overtaken)
    assert commit(lake, mine) == (("orders",), ())
    assert_each_row_once(lake, "orders", [0, 1, 2])
    assert_each_row_once(lake, "clicks", [0, 1])


@pytest.mark.parametrize("step", ["records", "batches", "quarantine", "gaps", "checkpoints"])
def test_followers_committed_by_someone_else_are_fine(lake: Lake, step: str) -> None:
    completed: list[tuple[str, ...]] = []

    def be_helped(done: str) -> None:
        if done == step:
            completed.append(recover(lake.tables, SOURCE, ["orders"]))

    mine = wave(lake, "orders", 1, range(3))
    assert commit(lake, mine, after=be_helped) == (("orders",), ())
    assert completed == [("orders",) if step != "checkpoints" else ()]
    assert_each_row_once(lake, "orders", [0, 1, 2])
    assert table_versions(lake) == [1] * len(PLAIN_TABLES)


def test_wave_planned_before_the_last_one_was_published_is_lost(lake: Lake) -> None:
    outcomes = []

    def commit_too_early(step: str) -> None:
        if step == "batches":
            outcomes.append(commit(lake, wave(lake, "orders", 2, range(9, 10))))

    commit(lake, wave(lake, "orders", 1, range(3)), after=commit_too_early)
    assert outcomes == [((), ("orders",))]
    assert generations(lake, "orders") == AppVersions(1, 1, 1)


def test_commit_of_another_topic_does_not_hide_what_another_tool_changed(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(2)))
    commit(lake, wave(lake, "orders", 2, range(2, 5)))
    restored = DeltaTable(lake.tables.path(CHECKPOINTS))
    newest = restored.version()
    restored.restore(newest - 1)
    before = table_versions(lake)
    with pytest.raises(ForeignChangeError, match="RESTORE"):
        commit(lake, wave(lake, "clicks", 1, range(1)))
    assert (table_versions(lake), redo_files(lake)) == (before, [])

    restored.restore(newest)
    assert commit(lake, wave(lake, "clicks", 1, range(1))) == (("clicks",), ())
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])
