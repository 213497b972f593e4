"""Maintenance of small lakes: the same rows in fewer files, whatever goes on beside it."""

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from seglake.errors import SeglakeError, WrongCallError
from seglake.lake.compaction import merges_of, replace_files, view_of
from seglake.lake.delta_tables import LakeTables
from seglake.lake.merged_files import MergeTask, merge
from seglake.lake.parquet_files import DataFile
from seglake.lake.tables import RECORDS
from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice, maintain
from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary
from seglake.pipelines.progress import RunReporter
from seglake.pipelines.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import LocalEngine
from support.audits import audited
from support.lake_accounts import incomplete, left_behind, rows_of, unpublished
from support.lakes import ingested
from support.made_logs import make_log_dir

_TARGET_BYTES = 256 << 20
_TABLES = ("records", "batches", "checkpoints")


def _edges(runs: int) -> dict[tuple[str, int], list[int]]:
    steps = {("orders", 0): 20, ("orders", 1): 5, ("payments", 0): 10}
    return {key: [*range(0, step * runs + 1, step)] for key, step in steps.items()}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A disk, and a lake that six runs have filled."""
    folder = tmp_path_factory.mktemp("grown")
    for runs in range(1, 7):
        ingested(make_log_dir(folder / "disk", _edges(runs)), folder / "lake")
    return folder


@pytest.fixture
def lake(grown: Path, tmp_path: Path) -> Path:
    shutil.copytree(grown, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


def _maintained(lake: Path, **choice: bool | int | tuple[str, ...]) -> MaintainSummary:
    chosen = MaintenanceChoice(**choice)  # type: ignore[arg-type]  # as each test names them
    with LocalEngine(1) as engine:
        reporter = RunReporter(io.StringIO())
        return maintain(str(lake), LocalStorage(), engine, reporter, Settings(), choice=chosen)


def _paths(lake: Path, table: str) -> list[str]:
    return DeltaTable(str(lake / table)).file_uris()


def _is_right(lake: Path, rows: dict[str, list[str]]) -> bool:
    whole = rows_of(lake) == rows and audited(lake).exit_code == 0
    return whole and [*incomplete(lake), *unpublished(lake), *left_behind(lake)] == []


def test_rows_are_the_same_in_fewer_files_and_in_the_order_of_offsets(lake: Path) -> None:
    before = rows_of(lake)
    assert [len(_paths(lake, table)) for table in _TABLES] == [12, 12, 12]
    summary = _maintained(lake)
    assert [len(_paths(lake, table)) for table in _TABLES] == [2, 2, 1]
    assert _is_right(lake, before)
    for path in _paths(lake, "records"):
        rows = pa.parquet.read_table(path, columns=["partition", "offset"]).to_pylist()
        places = [(row["partition"], row["offset"]) for row in rows]
        assert places == sorted(places)
    entry = max((lake / "records" / "_delta_log").glob("*.json")).read_text("utf-8")
    assert ('"dataChange":false' in entry, '"dataChange":true' in entry) == (True, False)
    assert summary.to_text().startswith("36 files became 5 (")
    assert _maintained(lake).to_text().startswith("nothing to compact, nothing to delete (")


def test_next_run_takes_what_is_new_and_nothing_twice(lake: Path, tmp_path: Path) -> None:
    _maintained(lake)
    disk = make_log_dir(tmp_path / "disk", _edges(8))
    assert ingested(disk, lake).exit_code == 0
    clean = tmp_path / "clean"
    ingested(disk, clean)
    written = {name: rows_of(clean)[name] for name in ("records", "batches", "gaps", "quarantine")}
    assert _is_right(lake, rows_of(lake) | written)
    assert _maintained(lake).exit_code == 0
    assert len(_paths(lake, "records")) == 2


def test_dry_run_says_what_a_run_does_and_touches_nothing(lake: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    planned = _maintained(lake, dry_run=True)
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()} == before
    assert planned.to_text().startswith("dry run: 36 files would become 5; nothing was changed")
    done = _maintained(lake)
    assert [table.files_after for table in planned.tables] == [
        table.files_after for table in done.tables
    ]


def test_reader_that_began_before_finishes(lake: Path) -> None:
    reader = DeltaTable(str(lake / "records"))
    before = reader.to_pyarrow_table().num_rows
    _maintained(lake)
    assert reader.to_pyarrow_table().num_rows == before


def _merged(tables: LakeTables) -> Callable[[str], str]:
    """Merge all files of records, and give what commits that."""
    view = view_of(tables, RECORDS)
    merges = merges_of(view.files, _TARGET_BYTES)
    files: list[DataFile] = [
        merge(
            MergeTask(
                storage=tables.storage,
                lake_path=tables.lake_path,
                table=RECORDS,
                topic=each.topic or "",
                paths=tuple(file.path for file in each.files),
                row_count=each.row_count,
                compression_level=1,
            )
        )
        for each in merges
    ]
    return lambda run_id: replace_files(tables, view, merges, files, run_id=run_id, now_ms=1)


def test_of_two_that_replace_the_same_files_one_wins(lake: Path) -> None:
    before = rows_of(lake)
    commits = [_merged(LakeTables(str(lake), LocalStorage())) for _ in range(2)]
    failures = [commit("run") for commit in commits]
    assert failures[0] == ""
    assert "Concurrent transaction failed" in failures[1]
    assert _is_right(lake, before)


def test_rows_that_another_tool_erased_meanwhile_stay_erased(lake: Path) -> None:
    commit = _merged(LakeTables(str(lake), LocalStorage()))
    table = DeltaTable(str(lake / "records"))
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    DeltaTable(str(lake / "records")).delete("partition = 0 AND offset = 3")
    before = rows_of(lake)
    assert commit("run") != ""
    assert rows_of(lake) == before


def test_what_is_ingested_meanwhile_is_there_too(lake: Path, tmp_path: Path) -> None:
    commit = _merged(LakeTables(str(lake), LocalStorage()))
    ingested(make_log_dir(tmp_path / "disk", _edges(7)), lake)
    before = rows_of(lake)
    assert commit("run") == ""
    assert _is_right(lake, before)


def test_merge_whose_rows_are_not_those_of_the_log_is_refused(lake: Path) -> None:
    before = rows_of(lake)
    shutil.copy(_paths(lake, "records")[0], _paths(lake, "records")[1])
    with pytest.raises(SeglakeError, match=r"have \d+ rows, and the log says \d+"):
        _maintained(lake)
    assert rows_of(lake) != before  # the copy; nothing else
    assert len(_paths(lake, "records")) == 12


def test_files_of_dead_runs_go_when_they_are_old(lake: Path) -> None:
    _maintained(lake)
    folder = Path(_paths(lake, "records")[0]).parent
    redo = lake / "records" / "_seglake" / "kept.txt"
    old, young = folder / "old.parquet", folder / "young.parquet"
    for path in (old, young, redo):
        path.write_bytes(b"left")
    for path in (old, redo):
        os.utime(path, (0, 0))
    assert _maintained(lake, dry_run=True).tables[0].deleted_files == 1
    assert old.exists()
    assert _maintained(lake).tables[0].deleted_files == 1
    assert (old.exists(), young.exists(), redo.exists()) == (False, True, True)


def test_only_what_is_named_is_compacted(lake: Path) -> None:
    _maintained(lake, tables=("batches",))
    assert [len(_paths(lake, table)) for table in _TABLES] == [12, 2, 12]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"retention_days": 6}, "at least 7 days, got 6"),
        ({"tables": ("record",)}, "has the name record; did you mean records?"),
    ],
)
def test_wrong_call_is_refused(choice: dict[str, int], said: str) -> None:
    with pytest.raises(WrongCallError, match=said):
        MaintenanceChoice(**choice)  # type: ignore[arg-type]  # that is the test


def test_what_a_dead_run_began_is_completed_first(lake: Path, tmp_path: Path) -> None:
    class Death(BaseException):
        pass

    def die(step: str) -> None:
        if step == "records":
            raise Death

    disk = make_log_dir(tmp_path / "disk", _edges(7))
    with pytest.raises(Death):
        ingested(disk, lake, after=die)
    assert _maintained(lake).recovered == ["orders", "payments"]
    clean = tmp_path / "clean"
    ingested(disk, clean)
    written = {name: rows_of(clean)[name] for name in ("records", "batches", "gaps", "quarantine")}
    assert _is_right(lake, rows_of(lake) | written)
