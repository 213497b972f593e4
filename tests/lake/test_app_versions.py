"""Tables that were put back, dropped or written to by others are refused, not mended."""

import shutil
from pathlib import Path

import pytest

from seglake.lake.delta_commit import recover, versions
from seglake.lake.errors import NotALakeError, RedoMissingError, TablesDisagreeError
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import CHECKPOINTS, RECORDS, Table
from support.lake_drivers import commit
from support.lake_rows import PLAIN_TABLES, SOURCE, Lake, lake_at, next_wave, wave
from support.lake_states import table_versions


def copy_of(lake: Lake, table: Table) -> Path:
    copy = lake.path.parent / f"copy of {table.name}"
    shutil.copytree(lake.tables.path(table), copy)
    return copy


def put_back(lake: Lake, table: Table, copy: Path) -> None:
    shutil.rmtree(lake.tables.path(table))
    copy.rename(lake.tables.path(table))


@pytest.mark.parametrize("table", PLAIN_TABLES, ids=lambda table: table.name)
def test_table_put_back_from_an_older_copy_is_refused(lake: Lake, table: Table) -> None:
    commit(lake, next_wave(lake, "orders", range(1)))
    copy = copy_of(lake, table)
    commit(lake, next_wave(lake, "orders", range(1, 2)))
    commit(lake, next_wave(lake, "orders", range(2, 3)))
    put_back(lake, table, copy)
    mine = wave(lake, "orders", 4, range(3, 4))
    before = table_versions(lake)
    later = lake_at(lake.path)
    for call in (
        lambda: versions(later.tables, SOURCE, ["orders"]),
        lambda: recover(later.tables, SOURCE, ["orders"]),
        lambda: commit(later, mine),
    ):
        with pytest.raises(TablesDisagreeError, match="tables disagree on topic orders"):
            call()
    assert table_versions(lake) == before


def test_table_put_back_during_a_run_is_noticed_before_the_next_commit(lake: Lake) -> None:
    copy = copy_of(lake, CHECKPOINTS)
    commit(lake, next_wave(lake, "orders", range(1)))
    assert versions(lake.tables, SOURCE, ["orders"])["orders"].is_settled
    put_back(lake, CHECKPOINTS, copy)
    before = table_versions(lake)
    assert commit(lake, wave(lake, "orders", 2, range(1, 2))) == ((), ("orders",))
    with pytest.raises(RedoMissingError):
        recover(lake.tables, SOURCE, ["orders"])
    assert table_versions(lake) == before


def test_table_put_back_during_a_commit_ends_it(lake: Lake) -> None:
    copy = copy_of(lake, CHECKPOINTS)
    commit(lake, next_wave(lake, "orders", range(1)))

    def meddle(step: str) -> None:
        if step == RECORDS.name:
            put_back(lake, CHECKPOINTS, copy)

    with pytest.raises(TablesDisagreeError, match="checkpoints is at 0"):
        commit(lake, wave(lake, "orders", 2, range(1, 2)), after=meddle)


@pytest.mark.parametrize("table", PLAIN_TABLES, ids=lambda table: table.name)
def test_table_that_was_dropped_and_made_anew_is_refused(lake: Lake, table: Table) -> None:
    for number in range(2):
        commit(lake, next_wave(lake, "orders", range(number, number + 1)))
    shutil.rmtree(lake.tables.path(table))
    with pytest.raises(NotALakeError, match="has no table"):
        versions(lake_at(lake.path).tables, SOURCE, ["orders"])
    fresh = lake_at(lake.path.parent / "fresh")
    create_missing(fresh.tables)
    shutil.copytree(fresh.tables.path(table), lake.tables.path(table))
    with pytest.raises(TablesDisagreeError):
        versions(lake_at(lake.path).tables, SOURCE, ["orders"])


def test_ledger_put_back_by_one_generation_is_refused_for_want_of_a_redo_file(lake: Lake) -> None:
    commit(lake, next_wave(lake, "orders", range(1)))
    copy = copy_of(lake, CHECKPOINTS)
    commit(lake, next_wave(lake, "orders", range(1, 2)))
    put_back(lake, CHECKPOINTS, copy)
    before = table_versions(lake)
    with pytest.raises(RedoMissingError, match=r"^generation 2 of topic orders is only in records"):
        recover(lake.tables, SOURCE, ["orders"])
    assert table_versions(lake) == before
