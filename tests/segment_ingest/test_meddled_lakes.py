"""A lake that somebody else changed between two runs: refused untouched, served, or told.

What does not fit is refused, and no byte of the lake is another then. What changes no row is
served, and so is what was undone.
"""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

from seglake.errors import SeglakeError
from support.audits import audited
from support.cases import cases
from support.lake_accounts import incomplete, rows_of, unpublished
from support.lakes import ingested
from support.made_logs import make_log_dir

pytestmark = pytest.mark.xdist_group("meddled lakes")

_EDGES = [
    {("orders", 0): [0, 20], ("payments", 0): [0, 10]},
    {("orders", 0): [0, 20, 40], ("payments", 0): [0, 10, 20]},
    {("orders", 0): [0, 20, 40, 60], ("payments", 0): [0, 10, 20, 30]},
]
_COMMITTED = ("records", "batches", "quarantine", "gaps", "checkpoints")
_SETTING = {"delta.logRetentionDuration": "interval 60 days"}

Meddle = Callable[[Path, Path], object]
"""Changes a table; the second folder is as it was one run before."""


class Lakes(NamedTuple):
    """A lake behind its first and its second run, the disk by now, and what belongs in it."""

    older: Path
    newer: Path
    disk: Path
    rows: dict[str, list[str]]


def _drop(table: Path, older: Path) -> None:
    shutil.rmtree(table)


def _put_back(table: Path, older: Path) -> None:
    shutil.rmtree(table)
    shutil.copytree(older, table)


def _add_column(table: Path, older: Path) -> None:
    DeltaTable(str(table)).alter.add_columns([Field("more", PrimitiveType("string"))])


def _set_property(table: Path, older: Path) -> None:
    DeltaTable(str(table)).alter.set_table_properties(_SETTING)


def _compact(table: Path, older: Path) -> None:
    DeltaTable(str(table)).optimize.compact()


def _append_nothing(table: Path, older: Path) -> None:
    pl.read_delta(str(table)).head(0).write_delta(str(table), mode="append")


def _append_and_undo(table: Path, older: Path) -> None:
    before = DeltaTable(str(table)).version()
    _append_nothing(table, older)
    DeltaTable(str(table)).restore(before)


def _append_a_row(table: Path, older: Path) -> None:
    pl.read_delta(str(table)).head(1).write_delta(str(table), mode="append")


def _restore_by_delta(table: Path, older: Path) -> None:
    DeltaTable(str(table)).restore(1)


def _overwrite(table: Path, older: Path) -> None:
    handle = DeltaTable(str(table))
    handle.alter.set_table_properties({"delta.appendOnly": "false"})
    write_deltalake(str(table), handle.to_pyarrow_table().slice(1), mode="overwrite")


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Lakes:
    folder = tmp_path_factory.mktemp("meddled")
    disk, lake, older, newer = (folder / name for name in ("disk", "lake", "older", "newer"))
    for edges, copy in zip(_EDGES, (older, newer, None), strict=True):
        ingested(make_log_dir(disk, edges), lake)
        if copy is not None:
            shutil.copytree(lake, copy)
    return Lakes(older, newer, disk, rows_of(lake))


def _meddled(lakes: Lakes, lake: Path, table: str, meddle: Meddle) -> None:
    shutil.copytree(lakes.newer, lake)
    meddle(lake / table, lakes.older / table)


def _bytes_of(lake: Path) -> dict[str, str]:
    """What every file holds."""
    return {
        str(path.relative_to(lake)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in lake.rglob("*")
        if path.is_file()
    }


_REFUSED = [
    (meddle, table, reason)
    for table in _COMMITTED
    for meddle, reason in (
        (_drop, f"it has lost the table {table}"),
        (_put_back, "tables disagree on topic|is only in records"),
        (_add_column, f"columns do not fit table {table}"),
        (_append_nothing, f"{table} at .* was changed by another tool: WRITE in version"),
        (_append_a_row, f"{table} at .* was changed by another tool: WRITE in version"),
        (_restore_by_delta, f"{table} at .* was changed by another tool: RESTORE in version"),
        (_overwrite, f"{table} at .* was changed by another tool: WRITE in version"),
    )
]


@pytest.mark.parametrize(
    ("meddle", "table", "reason"),
    cases(_REFUSED, telling=[case for case in _REFUSED if case[1] == "checkpoints"]),
)
def test_what_does_not_fit_is_refused_and_no_byte_is_touched(
    meddle: Meddle, table: str, reason: str, lakes: Lakes, lake: Path
) -> None:
    _meddled(lakes, lake, table, meddle)
    before = _bytes_of(lake)
    with pytest.raises(SeglakeError, match=reason):
        ingested(lakes.disk, lake)
    assert _bytes_of(lake) == before


_SERVED: list[tuple[Meddle, str]] = [
    *((meddle, table) for table in _COMMITTED for meddle in (_set_property, _compact)),
    *((_append_and_undo, table) for table in _COMMITTED),
    *((meddle, "observations") for meddle in (_drop, _put_back, _compact)),
]


@pytest.mark.parametrize(
    ("meddle", "table"),
    cases(_SERVED, telling=[(_compact, "records"), (_compact, "checkpoints"), _SERVED[-2]]),
)
def test_what_changes_no_row_is_served(
    meddle: Meddle, table: str, lakes: Lakes, lake: Path
) -> None:
    _meddled(lakes, lake, table, meddle)
    assert ingested(lakes.disk, lake).exit_code == 0
    assert rows_of(lake) == lakes.rows
    assert [*incomplete(lake), *unpublished(lake)] == []


def test_a_lake_that_is_put_back_whole_takes_again_what_it_lost(lakes: Lakes, lake: Path) -> None:
    shutil.copytree(lakes.older, lake)
    assert ingested(lakes.disk, lake).exit_code == 0
    assert rows_of(lake) == lakes.rows


@pytest.mark.parametrize("table", ["records", "checkpoints"])
@pytest.mark.parametrize("meddle", [_append_a_row, _restore_by_delta, _overwrite])
def test_rows_that_another_tool_changed_are_found_by_the_audit(
    meddle: Meddle, table: str, lakes: Lakes, lake: Path
) -> None:
    _meddled(lakes, lake, table, meddle)
    assert audited(lake).exit_code == 3


def test_rows_that_were_erased_stay_erased(lakes: Lakes, lake: Path) -> None:
    shutil.copytree(lakes.newer, lake)
    table = DeltaTable(str(lake / "records"))
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    DeltaTable(str(lake / "records")).delete("partition = 0 AND offset = 3")
    assert ingested(lakes.disk, lake).exit_code == 0
    left = [row for row in pl.read_delta(str(lake / "records"))["offset"] if row == 3]
    assert left == []
