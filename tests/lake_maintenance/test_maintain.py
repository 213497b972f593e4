"""Maintenance of small lakes: the same rows in fewer files, whatever goes on beside it."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from seglake.errors import SeglakeError, WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.lake.compaction import merge_task, replace_files
from seglake.lake.delta_tables import LakeTables
from seglake.lake.merged_files import merge
from seglake.lake.table_view import view_of
from seglake.lake.tables import RECORDS
from seglake.lake.vacuum import scratch_deleted
from seglake.pipelines.lake_maintenance import merge_plan
from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice
from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary, TableMaintenance
from seglake.pipelines.lake_maintenance.merge_plan import merges_of
from seglake.printable import show_bytes
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo
from support.audits import audited
from support.dying import Died, dying
from support.lake_accounts import incomplete, left_behind, rows_of, unpublished
from support.lakes import ingested, maintained
from support.made_logs import make_log_dir

_TARGET_BYTES = 256 << 20
_TABLES = ("records", "batches", "checkpoints", "observations")


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
def lake(grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # As if a day had passed: newer observations are left alone.
    monkeypatch.setattr(merge_plan, "_DAY_MS", -1)
    shutil.copytree(grown, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


def _paths(lake: Path, table: str) -> list[str]:
    return DeltaTable(str(lake / table)).file_uris()


def _is_right(lake: Path, rows: dict[str, list[str]]) -> bool:
    whole = rows_of(lake) == rows and audited(lake).exit_code == 0
    return whole and [*incomplete(lake), *unpublished(lake), *left_behind(lake)] == []


def test_rows_are_the_same_in_fewer_files_and_in_the_order_of_offsets(lake: Path) -> None:
    before = rows_of(lake)
    assert [len(_paths(lake, table)) for table in _TABLES] == [12, 12, 12, 6]
    summary = maintained(lake)
    assert [len(_paths(lake, table)) for table in _TABLES] == [2, 2, 1, 1]
    assert _is_right(lake, before)
    for path in _paths(lake, "records"):
        rows = pa.parquet.read_table(path, columns=["partition", "offset"]).to_pylist()
        places = [(row["partition"], row["offset"]) for row in rows]
        assert places == sorted(places)
    entry = max((lake / "records" / "_delta_log").glob("*.json")).read_text("utf-8")
    assert ('"dataChange":false' in entry, '"dataChange":true' in entry) == (True, False)
    assert summary.to_text().startswith("42 files became 6 (")
    assert maintained(lake).to_text().startswith("nothing to compact, nothing to delete (")


def test_what_was_seen_last_is_still_known_and_so_is_all_before(lake: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    before = rows_of(lake)["observations"]
    maintained(lake)
    assert rows_of(lake)["observations"] == before
    assert ingested(disk, lake).records == 0
    assert len(_paths(lake, "observations")) == 1  # what the newest rows say still holds
    ingested(make_log_dir(disk, _edges(7)), lake)
    assert len(_paths(lake, "observations")) == 2


def test_merged_files_are_as_old_as_their_newest_rows(lake: Path) -> None:
    before = _times(lake)
    maintained(lake)
    assert _times(lake) == {table: {max(times, key=str)} for table, times in before.items()}


def _times(lake: Path) -> dict[str, set[object]]:
    """When the files of tables say that they were written, in the log."""
    found = {}
    for table in ("checkpoints", "observations"):
        actions = pa.table(DeltaTable(str(lake / table)).get_add_actions())
        found[table] = {*actions.column("modification_time").to_pylist()}
    return found


def test_next_run_takes_what_is_new_and_nothing_twice(lake: Path, tmp_path: Path) -> None:
    maintained(lake)
    disk = make_log_dir(tmp_path / "disk", _edges(8))
    assert ingested(disk, lake).exit_code == 0
    clean = tmp_path / "clean"
    ingested(disk, clean)
    written = {name: rows_of(clean)[name] for name in ("records", "batches", "gaps", "quarantine")}
    assert _is_right(lake, rows_of(lake) | written)
    assert maintained(lake).exit_code == 0
    assert len(_paths(lake, "records")) == 2


def test_dry_run_says_what_a_run_does_and_touches_nothing(lake: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    planned = maintained(lake, dry_run=True)
    assert {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()} == before
    assert planned.to_text().startswith(
        "dry run: 42 files would become at most 6; nothing was changed ("
    )
    assert {table.files_after for table in planned.tables} == {None}
    done = maintained(lake)
    assert [table.expected_files for table in planned.tables] == [
        table.files_after for table in done.tables
    ]


def test_reader_that_began_before_finishes(lake: Path) -> None:
    reader = DeltaTable(str(lake / "records"))
    before = reader.to_pyarrow_table().num_rows
    maintained(lake)
    assert reader.to_pyarrow_table().num_rows == before


def _merged(tables: LakeTables, *, days_ago: int = 0) -> Callable[[str], str]:
    """Merge all files of records, and give what commits that."""
    now_ms = time.time_ns() // 1_000_000 - days_ago * 86_400_000
    view = view_of(tables, RECORDS)
    merges = merges_of(RECORDS, view.files, _TARGET_BYTES)
    files = [merge(merge_task(tables, RECORDS, each, compression_level=1)) for each in merges]
    return lambda run_id: replace_files(view, merges, files, run_id=run_id, now_ms=now_ms)


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
    with pytest.raises(SeglakeError, match=r"have \d+ rows, and the log has \d+"):
        maintained(lake)
    assert rows_of(lake) != before  # the copy; nothing else
    assert len(_paths(lake, "records")) == 12


def test_files_of_dead_runs_go_when_they_are_old(lake: Path) -> None:
    maintained(lake)
    folder = Path(_paths(lake, "records")[0]).parent
    redo = lake / "records" / "_seglake" / "kept.txt"
    old, young = folder / "old.parquet", folder / "young.parquet"
    for path in (old, young, redo):
        path.write_bytes(b"left")
    for path in (old, redo):
        os.utime(path, (0, 0))
    planned = maintained(lake, dry_run=True)
    assert old.exists()
    for summary in (planned, maintained(lake)):
        records = summary.tables[0]
        assert (records.deleted_files, records.deleted_bytes) == (1, 4)
    assert (old.exists(), young.exists(), redo.exists()) == (False, True, True)


def test_scratch_files_of_dead_replays_and_probes_go_when_they_are_old(lake: Path) -> None:
    maintained(lake)
    own = lake / "records" / "_seglake"
    old, half, probe = own / "replay" / "old", own / "replay" / "half", own / "probe" / "probe-1"
    for path in (old / "0.log", old / "1.log", half / "0.log", half / "1.log", probe):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"left")
    for path in (old / "0.log", old / "1.log", old, half / "1.log", half, probe):
        os.utime(path, (0, 0))
    planned = maintained(lake, dry_run=True)
    assert planned.to_text().splitlines()[1:] == [
        "left by replays and probes that died: 3 old files of 12 B would be deleted"
    ]
    assert (old.exists(), probe.exists()) == (True, True)
    done = maintained(lake)
    assert (done.scratch_files, done.scratch_bytes) == (3, 12)
    assert done.to_text().startswith("3 old files of 12 B deleted (")
    assert (old.exists(), probe.exists()) == (False, False)
    assert len([*half.iterdir()]) == 2, "a replay may be at work"
    assert maintained(lake).scratch_files == 0


def test_scratch_files_are_as_old_as_they_are_where_folders_have_no_times(lake: Path) -> None:
    """As on S3."""

    class Timeless(LocalStorage):
        def list_folder(self, path: str) -> list[FileInfo]:
            found = super().list_folder(path)
            return [info._replace(modified_at_ms=0) if info.is_folder else info for info in found]

    young = lake / "records" / "_seglake" / "replay" / "young" / "0.log"
    young.parent.mkdir(parents=True)
    young.write_bytes(b"left")
    tables = LakeTables(str(lake), Timeless())
    now_ms = time.time_ns() // 1_000_000
    assert scratch_deleted(tables, now_ms, dry_run=False) == (0, 0)
    assert scratch_deleted(tables, now_ms + 8 * 86_400_000, dry_run=False) == (1, 4)
    assert not young.exists()


@pytest.mark.parametrize(
    ("kept", "deleted"), [(None, 12), ("interval 1 hours", 12), ("interval 30 days", 0)]
)
def test_replaced_files_go_after_a_week_or_when_the_table_says(
    lake: Path, kept: str | None, deleted: int
) -> None:
    replaced = [Path(path) for path in _paths(lake, "records")]
    assert _merged(LakeTables(str(lake), LocalStorage()), days_ago=10)("run") == ""
    for path in replaced:
        os.utime(path, (0, 0))
    sizes = sum(path.stat().st_size for path in replaced) if deleted else 0
    if kept is not None:
        DeltaTable(str(lake / "records")).alter.set_table_properties(
            {"delta.deletedFileRetentionDuration": kept}
        )
    summary = maintained(lake, MaintenanceChoice(tables=("records",)))
    assert (summary.tables[0].deleted_files, summary.tables[0].failure) == (deleted, "")
    assert sum(not path.exists() for path in replaced) == deleted
    size = show_bytes(summary.tables[0].deleted_bytes)
    assert summary.tables[0].deleted_bytes == sizes
    said = (
        f"{deleted} old files of {size} deleted"
        if deleted
        else "nothing to compact, nothing to delete"
    )
    assert summary.to_text().startswith(f"{said} (")


def test_files_replaced_an_hour_ago_stay(lake: Path) -> None:
    replaced = [Path(path) for path in _paths(lake, "records")]
    for path in replaced:
        os.utime(path, (0, 0))
    maintained(lake)
    assert maintained(lake).tables[0].deleted_files == 0
    assert all(path.exists() for path in replaced)


def test_what_another_tool_appends_beside_it_is_not_hidden(lake: Path, tmp_path: Path) -> None:
    commit = _merged(LakeTables(str(lake), LocalStorage()))
    table = DeltaTable(str(lake / "records"))
    write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append")
    assert commit("run") == ""
    with pytest.raises(SeglakeError, match="WRITE"):
        ingested(make_log_dir(tmp_path / "disk", _edges(7)), lake)
    with pytest.raises(SeglakeError, match="WRITE"):
        maintained(lake)


def test_failure_is_told_and_is_not_nothing(lake: Path) -> None:
    summary = MaintainSummary("run", str(lake), seconds=1.5)
    summary.add_table(TableMaintenance("records", 12, 2048, 12, 2048, failure="CommitError: no"))
    assert summary.to_text().splitlines() == [
        "failed to compact records (1.5 s)",
        "records: not compacted, the next maintenance tries again: CommitError: no",
    ]
    assert summary.exit_code == 3


def test_a_topic_that_is_named_and_not_there_needs_a_look() -> None:
    missing = {"payment": "payment selects no topic of the lake"}
    summary = MaintainSummary("r", "l")
    summary.findings.add_reasons(FindingKind.LEFT_OUT, missing)
    assert summary.exit_code == 3
    assert "left out: payment selects no topic of the lake" in summary.to_text().splitlines()


def test_only_what_is_named_is_compacted(lake: Path) -> None:
    maintained(lake, MaintenanceChoice(tables=("batches",)))
    assert [len(_paths(lake, table)) for table in _TABLES] == [12, 2, 12, 6]


def test_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(WrongCallError, match=r"has the name record; did you mean records\?"):
        MaintenanceChoice(tables=("record",))


def test_what_a_dead_run_began_is_completed_first(lake: Path, tmp_path: Path) -> None:
    disk = make_log_dir(tmp_path / "disk", _edges(7))
    with pytest.raises(Died):
        ingested(disk, lake, after=dying("records"))
    assert maintained(lake).recovered == ["orders", "payments"]
    clean = tmp_path / "clean"
    ingested(disk, clean)
    written = {name: rows_of(clean)[name] for name in ("records", "batches", "gaps", "quarantine")}
    assert _is_right(lake, rows_of(lake) | written)
