"""`maintain` merges the files of tables of latest state, beside runs that replace their rows."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.errors import WrongCallError
from seglake.lake.compaction import Merge, merge_task, replace_files
from seglake.lake.delta_tables import LakeTables
from seglake.lake.latest_tables import latest_table
from seglake.lake.merged_files import merge
from seglake.lake.table_view import view_of
from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice
from seglake.storage.local_storage import LocalStorage
from support.keyed_logs import Values, write
from support.lakes import ingested, maintained
from support.latest_state import assert_current, state, updated


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose table got a new key in each of three runs, and so has three files."""
    folder = tmp_path_factory.mktemp("three")
    log: list[Values] = []
    for key in "abc":
        log.append((key, b"1"))
        ingested(write(folder / "disk", *log), folder / "lake")
        updated(folder / "lake", "orders")
    assert _file_count(folder / "lake") == 3
    return folder


@pytest.fixture
def lake(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


def _file_count(lake: Path) -> int:
    return len(DeltaTable(str(lake / "latest" / "orders")).file_uris())


def test_files_become_one_with_the_same_rows_and_the_next_run_goes_on(
    lake: Path, tmp_path: Path
) -> None:
    before = state(lake, "orders")
    assert maintained(lake, MaintenanceChoice(tables=("latest/orders",))).exit_code == 0
    assert (_file_count(lake), state(lake, "orders")) == (1, before)
    ingested(write(tmp_path / "disk", ("a", b"1"), ("b", b"1"), ("c", b"1"), ("a", None)), lake)
    assert updated(lake).topics[0].updated == 1
    assert_current(lake, "orders")


def test_a_run_whose_files_are_merged_meanwhile_merges_again(lake: Path, tmp_path: Path) -> None:
    ingested(write(tmp_path / "disk", ("a", b"1"), ("b", b"1"), ("c", b"1"), ("a", b"2")), lake)
    tries = []

    def after(step: str) -> None:
        if step == "files":
            tries.append(1)
            if len(tries) == 1:
                maintained(lake)

    assert updated(lake, after=after).exit_code == 0
    assert (len(tries), _file_count(lake)) == (2, 1)
    assert_current(lake, "orders")


def test_a_compaction_of_a_file_that_a_run_has_replaced_meanwhile_fails(
    lake: Path, tmp_path: Path
) -> None:
    tables = LakeTables(str(lake), LocalStorage())
    view = view_of(tables, latest_table("orders").table)
    files = Merge("", view.files)
    merged = merge(merge_task(tables, view.table, files, compression_level=1))
    ingested(write(tmp_path / "disk", ("a", b"1"), ("b", b"1"), ("c", b"1"), ("a", b"2")), lake)
    updated(lake)
    assert replace_files(view, [files], [merged], run_id="late", now_ms=1) != ""
    assert_current(lake, "orders")


def test_a_table_that_the_lake_does_not_have_is_a_wrong_call(lake: Path) -> None:
    with pytest.raises(WrongCallError, match="latest/order; did you mean latest/orders"):
        maintained(lake, MaintenanceChoice(tables=("latest/order",)))
