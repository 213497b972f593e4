"""Tables that serve one internal topic take part in its commits, and in no others."""

from collections.abc import Callable

import pytest
from deltalake import DeltaTable

from seglake.lake.app_versions import AppVersions, app_id
from seglake.lake.delta_commit import recover, versions
from seglake.lake.errors import TablesDisagreeError, WaveError
from seglake.lake.tables import (
    CHECKPOINTS,
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    LOG_TABLES,
    RECORDS,
    TABLES,
    TRANSACTION_STATE,
    Table,
)
from support.cases import cases, every
from support.lake_drivers import EXIT_CODE_OF_THE_DEAD, commit, commit_and_die
from support.lake_rows import SOURCE, Lake, next_wave, read_offsets, rows, wave, write_file
from support.lake_states import assert_each_row_once, generations, redo_files
from support.processes import young

OFFSETS, STATES = "__consumer_offsets", "__transaction_state"
OWN = LOG_TABLES.of([OFFSETS])
_STEPS = ["redo", *(table.name for table in OWN), "cleaned"]


def opened(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """The tables that are opened from now on."""
    found: list[Table] = []

    def noting(look: Callable[[Table], DeltaTable]) -> Callable[[Table], DeltaTable]:
        def noted(table: Table) -> DeltaTable:
            found.append(table)
            return look(table)

        return noted

    for name in ("open", "newest"):
        monkeypatch.setattr(lake.tables, name, noting(getattr(lake.tables, name)))
    return found


def test_an_internal_topic_is_committed_to_its_own_table_before_the_checkpoints(
    lake: Lake,
) -> None:
    steps: list[str] = []
    outcome = commit(
        lake,
        wave(lake, "orders", 1, range(3)),
        wave(lake, OFFSETS, 1, range(4)),
        after=steps.append,
    )
    assert outcome == (("orders", OFFSETS), ())
    assert steps == [
        *("redo", "records", "batches", "quarantine", "gaps"),
        *("consumer_offsets", "checkpoints", "cleaned"),
    ]
    assert_each_row_once(lake, "orders", [0, 1, 2])
    assert_each_row_once(lake, OFFSETS, [0, 1, 2, 3])
    assert generations(lake, OFFSETS) == generations(lake, "orders") == AppVersions(1, 1, 1)
    committed = [table.name for table in TABLES if lake.tables.open(table).version() == 1]
    assert committed == steps[1:-1]
    handle = lake.tables.open(CONSUMER_OFFSETS)
    assert handle.transaction_version(app_id(SOURCE, OFFSETS)) == 1
    assert handle.transaction_version(app_id(SOURCE, "orders")) is None


def test_a_plain_topic_never_opens_them(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    found = opened(lake, monkeypatch)
    commit(lake, wave(lake, "orders", 1, range(3)))
    recover(lake.tables, SOURCE, ["orders"])
    assert found
    assert not {table.name for table in found if table.topics is not None}


@pytest.mark.parametrize("step", cases(_STEPS, telling=every(3, _STEPS)))
def test_a_driver_killed_after_any_step_is_completed_by_the_next(lake: Lake, step: str) -> None:
    commit(lake, wave(lake, OFFSETS, 1, range(2)))
    waves = [wave(lake, OFFSETS, 2, range(2, 5)), wave(lake, "orders", 1, range(7))]
    process = young().Process(target=commit_and_die, args=(lake.path, step, *waves))
    process.start()
    process.join()
    assert process.exitcode == EXIT_CODE_OF_THE_DEAD

    is_unfinished = step not in ("redo", "checkpoints", "cleaned")
    completed = recover(lake.tables, SOURCE, [OFFSETS, "orders"])
    assert completed == ((OFFSETS, "orders") if is_unfinished else ())
    assert_each_row_once(lake, OFFSETS, [0, 1] if step == "redo" else [0, 1, 2, 3, 4])
    assert_each_row_once(lake, "orders", [] if step == "redo" else list(range(7)))

    commit(lake, next_wave(lake, OFFSETS, range(100, 101)))
    recover(lake.tables, None)
    assert read_offsets(lake, CONSUMER_OFFSETS, OFFSETS)[-1] == 100
    assert redo_files(lake) == []


def test_a_generation_that_its_own_table_lacks_is_not_complete(lake: Lake) -> None:
    commit(lake, wave(lake, OFFSETS, 1, range(2)))
    lake.path.joinpath(CONSUMER_OFFSETS.name, "_delta_log", f"{1:020d}.json").unlink()
    with pytest.raises(TablesDisagreeError, match="ahead"):
        versions(lake.tables, SOURCE, [OFFSETS])
    assert versions(lake.tables, SOURCE, ["orders"])["orders"] == AppVersions(0, 0, 0)


@pytest.mark.parametrize(
    ("topic", "table"),
    [
        ("orders", CONSUMER_OFFSETS),
        (OFFSETS, TRANSACTION_STATE),
        (STATES, CLUSTER_METADATA),
        ("consumer_offsets", CONSUMER_OFFSETS),
    ],
    ids=lambda value: value.name if isinstance(value, Table) else value,
)
def test_rows_for_a_table_that_serves_another_topic_are_refused(
    lake: Lake, topic: str, table: Table
) -> None:
    strange = write_file(lake, table, topic, rows(table, topic, range(2)))
    mine = wave(lake, topic, 1, range(2), tables=(RECORDS, CHECKPOINTS))
    with pytest.raises(WaveError, match=f"belongs to {table.name} of {topic}"):
        commit(lake, mine._replace(files=(*mine.files, strange)))
    assert generations(lake, topic) == AppVersions(0, 0, 0)
