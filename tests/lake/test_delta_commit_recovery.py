from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.lake import redo_file
from seglake.lake.app_versions import AppVersions
from seglake.lake.commit_protocol import _is_needless
from seglake.lake.delta_commit import recover, versions
from seglake.lake.errors import DecidedFileGoneError, ForeignChangeError
from seglake.lake.redo_file import Redo
from seglake.lake.tables import BATCHES, CHECKPOINTS, GAPS, LOG_TABLES, RECORDS, Table
from seglake.lake.waves import TopicWave
from support.lake_drivers import (
    EXIT_CODE_OF_THE_DEAD,
    commit,
    commit_all,
    commit_and_die,
    race,
    recover_together,
)
from support.lake_rows import PLAIN_TABLES, SOURCE, Lake, next_wave, read_offsets, wave
from support.lake_states import assert_each_row_once, redo_files, table_versions
from support.processes import young

STEPS = ("redo", *(table.name for table in PLAIN_TABLES), "cleaned")


def started(target: Callable[..., None], *args: object) -> BaseProcess:
    process = young().Process(target=target, args=args)
    process.start()
    return process


def let_die(lake: Lake, step: str, *waves: TopicWave) -> None:
    process = started(commit_and_die, lake.path, step, *waves)
    process.join()
    assert process.exitcode == EXIT_CODE_OF_THE_DEAD


def leave_redo_file(lake: Lake, mine: TopicWave) -> None:
    """What a driver leaves that is overtaken between its check and its commit, and killed then."""
    redo = Redo(
        source_id=SOURCE,
        attempt_id="overtaken",
        commit_id="none",
        run_id="run",
        created_at_ms=0,
        generations={mine.topic: mine.generation},
        files=mine.files,
    )
    redo_file.write(lake.storage, lake.tables.redo_folder_of(LOG_TABLES), redo)


@pytest.mark.parametrize("step", STEPS)
def test_driver_killed_after_any_step_is_completed_by_the_next(lake: Lake, step: str) -> None:
    commit(lake, wave(lake, "orders", 1, range(2)))
    let_die(lake, step, wave(lake, "orders", 2, range(2, 5)))
    is_published = step in ("checkpoints", "cleaned")
    seen = [0, 1, 2, 3, 4] if is_published else [0, 1]
    assert read_offsets(lake, CHECKPOINTS, "orders") == seen

    completed = recover(lake.tables, SOURCE, ["orders"])
    assert completed == (() if step == "redo" or is_published else ("orders",))
    expected = [0, 1] if step == "redo" else [0, 1, 2, 3, 4]
    assert_each_row_once(lake, "orders", expected)
    assert len(redo_files(lake)) == (1 if step == "redo" else 0)

    before = [lake.tables.open(table).version() for table in PLAIN_TABLES]
    assert recover(lake.tables, SOURCE, ["orders"]) == ()
    assert [lake.tables.open(table).version() for table in PLAIN_TABLES] == before

    commit(lake, next_wave(lake, "orders", range(100, 101)))
    assert_each_row_once(lake, "orders", [*expected, 100])
    recover(lake.tables, None)
    assert redo_files(lake) == []


@pytest.mark.parametrize("step", ["redo", "records"])
def test_killed_driver_without_records_files_is_judged_by_the_history(
    lake: Lake, step: str
) -> None:
    let_die(lake, step, wave(lake, "orders", 1, range(3), tables=(GAPS, CHECKPOINTS)))
    assert recover(lake.tables, SOURCE) == (() if step == "redo" else ("orders",))
    assert read_offsets(lake, GAPS, "orders") == ([] if step == "redo" else [0, 1, 2])


def test_decision_is_found_when_its_log_entry_is_gone(lake: Lake) -> None:
    let_die(lake, "records", wave(lake, "orders", 1, range(3)))
    handle = lake.tables.open(RECORDS)
    handle.create_checkpoint()
    for version in range(handle.version() + 1):
        Path(lake.tables.log_entry_path(RECORDS, version)).unlink()
    assert recover(lake.tables, SOURCE) == ("orders",)
    assert_each_row_once(lake, "orders", [0, 1, 2])


@pytest.mark.parametrize(
    "tables", [PLAIN_TABLES, (GAPS, CHECKPOINTS)], ids=["records", "no records"]
)
@pytest.mark.parametrize("winner_decides_last", [True, False])
def test_redo_file_that_won_is_told_from_those_that_did_not(
    lake: Lake, tables: tuple[Table, ...], winner_decides_last: bool
) -> None:
    winner = wave(lake, "orders", 1, range(3), tables=tables)
    loser = wave(lake, "orders", 1, range(10, 12), tables=tables)
    if winner_decides_last:
        let_die(lake, "redo", loser)
        let_die(lake, "records", winner)
    else:
        let_die(lake, "records", winner)
        leave_redo_file(lake, loser)
    assert len(redo_files(lake)) == 2
    assert recover(lake.tables, SOURCE, ["orders"]) == ("orders",)
    assert read_offsets(lake, GAPS, "orders") == [0, 1, 2]
    assert redo_files(lake) == []


def test_redo_file_that_can_no_longer_be_decided_is_deleted_though_a_topic_is_free(
    lake: Lake,
) -> None:
    let_die(lake, "redo", wave(lake, "a", 1, range(2)), wave(lake, "b", 1, range(2)))
    assert recover(lake.tables, SOURCE) == ()
    assert len(redo_files(lake)) == 1
    commit(lake, wave(lake, "a", 1, range(5)))
    assert recover(lake.tables, SOURCE) == ()
    assert redo_files(lake) == []
    assert read_offsets(lake, CHECKPOINTS, "b") == []


def test_wave_of_several_topics_is_completed_as_a_whole(lake: Lake) -> None:
    let_die(lake, "batches", wave(lake, "a", 1, range(2)), wave(lake, "b", 1, range(3)))
    assert recover(lake.tables, None) == ("a", "b")
    assert_each_row_once(lake, "a", [0, 1])
    assert_each_row_once(lake, "b", [0, 1, 2])


def test_redo_files_of_other_sources_are_left_alone(lake: Lake) -> None:
    let_die(lake, "records", wave(lake, "orders", 1, range(3)))
    assert recover(lake.tables, "other") == ()
    assert recover(lake.tables, SOURCE) == ("orders",)


def test_commit_before_recovery_is_lost(lake: Lake) -> None:
    let_die(lake, "records", wave(lake, "orders", 1, range(3)))
    mine = wave(lake, "orders", 2, range(3, 5))
    assert commit(lake, mine) == ((), ("orders",))
    recover(lake.tables, SOURCE, ["orders"])
    assert commit(lake, mine) == (("orders",), ())
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])


@pytest.mark.parametrize("step", ["records", "quarantine", "checkpoints"])
def test_two_drivers_recover_at_the_same_time(lake: Lake, step: str) -> None:
    let_die(lake, step, wave(lake, "orders", 1, range(3)))
    barrier = young().Barrier(2)
    helpers = [started(recover_together, lake.path, barrier) for _ in range(2)]
    for helper in helpers:
        helper.join()
    assert [helper.exitcode for helper in helpers] == [0, 0]
    assert_each_row_once(lake, "orders", [0, 1, 2])
    assert [lake.tables.open(table).version() for table in PLAIN_TABLES] == [1] * len(PLAIN_TABLES)
    assert redo_files(lake) == []


@pytest.mark.parametrize("driver_count", [2, 4])
def test_one_driver_wins_each_generation(lake: Lake, tmp_path: Path, driver_count: int) -> None:
    round_count = 3
    barrier = young().Barrier(driver_count)
    drivers = [
        started(race, lake.path, number, round_count, barrier, tmp_path)
        for number in range(driver_count)
    ]
    for driver in drivers:
        driver.join()
    assert [driver.exitcode for driver in drivers] == [0] * driver_count
    results = [(tmp_path / str(number)).read_text() for number in range(driver_count)]
    winners = [sum(int(result[turn]) for result in results) for turn in range(round_count)]
    assert winners == [1] * round_count
    offsets = [turn * 10 + n for turn in range(1, round_count + 1) for n in range(3)]
    assert_each_row_once(lake, "orders", offsets)
    assert versions(lake.tables, SOURCE, ["orders"])["orders"].publishing == round_count
    assert redo_files(lake) == []


def test_drivers_that_plan_again_after_losing_all_get_their_rows_in_once(lake: Lake) -> None:
    drivers = [started(commit_all, lake.path, number, 3) for number in range(3)]
    for driver in drivers:
        driver.join()
    assert [driver.exitcode for driver in drivers] == [0, 0, 0]
    assert_each_row_once(lake, "orders", [d * 1000 + n for d in range(3) for n in range(3)])
    recover(lake.tables, SOURCE, ["orders"])
    assert redo_files(lake) == []


@pytest.mark.parametrize(
    ("first", "second", "is_needless"),
    [
        (AppVersions(0, 0, 0), AppVersions(4, 4, 4), False),
        (AppVersions(1, 0, 0), AppVersions(5, 4, 4), False),
        (AppVersions(1, 1, 1), AppVersions(5, 4, 4), False),
        (AppVersions(1, 1, 1), AppVersions(4, 4, 4), True),
        (AppVersions(1, 0, 0), AppVersions(4, 4, 4), True),
        (AppVersions(1, 1, 1), AppVersions(5, 5, 5), True),
        (AppVersions(2, 1, 1), AppVersions(9, 9, 8), True),
    ],
    ids=["undecided", "decided", "half", "taken", "being taken", "published", "long published"],
)
def test_redo_file_is_kept_until_its_commit_is_published_or_impossible(
    first: AppVersions, second: AppVersions, is_needless: bool
) -> None:
    redo = Redo(
        source_id=SOURCE,
        attempt_id="attempt",
        commit_id="commit",
        run_id="run",
        created_at_ms=0,
        generations={"a": 1, "b": 5},
        files=(),
    )
    assert _is_needless({"a": first, "b": second}, redo) is is_needless


def test_decision_is_found_when_its_files_were_compacted(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(2)))
    let_die(lake, "records", wave(lake, "orders", 2, range(2, 5)))
    compacted = lake.tables.open(RECORDS).optimize.compact()
    assert compacted["numFilesRemoved"] == 2
    assert recover(lake.tables, SOURCE, ["orders"]) == ("orders",)
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])


def test_commit_is_not_completed_with_files_that_were_vacuumed(lake: Lake) -> None:
    let_die(lake, "records", wave(lake, "orders", 1, range(3)))
    table = lake.tables.open(BATCHES)
    kept = {path: path.read_bytes() for path in Path(lake.tables.path(BATCHES)).rglob("*.parquet")}
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    before = [lake.tables.open(table).version() for table in PLAIN_TABLES]
    with pytest.raises(DecidedFileGoneError, match="was the lake vacuumed") as caught:
        recover(lake.tables, SOURCE)
    (path,) = kept
    assert f"commit of orders: data file {path} is missing" in str(caught.value)
    assert [lake.tables.open(table).version() for table in PLAIN_TABLES] == before

    for path, content in kept.items():
        path.write_bytes(content)
    assert recover(lake.tables, SOURCE) == ("orders",)
    assert_each_row_once(lake, "orders", [0, 1, 2])


def test_files_that_are_in_their_table_already_may_be_compacted_away(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(2)))
    let_die(lake, "batches", wave(lake, "orders", 2, range(2, 5)))
    table = lake.tables.open(BATCHES)
    table.optimize.compact()
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert recover(lake.tables, SOURCE, ["orders"]) == ("orders",)
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])


def test_recovery_does_not_hide_what_another_tool_changed(lake: Lake) -> None:
    commit(lake, wave(lake, "clicks", 1, range(2)))
    commit(lake, wave(lake, "clicks", 2, range(2, 5)))
    let_die(lake, "records", wave(lake, "orders", 1, range(3)))
    restored = DeltaTable(lake.tables.path(CHECKPOINTS))
    newest = restored.version()
    restored.restore(newest - 1)
    before = table_versions(lake)
    with pytest.raises(ForeignChangeError, match="RESTORE"):
        recover(lake.tables, SOURCE)
    assert table_versions(lake) == before

    restored.restore(newest)
    assert recover(lake.tables, SOURCE) == ("orders",)
    assert_each_row_once(lake, "orders", [0, 1, 2])
