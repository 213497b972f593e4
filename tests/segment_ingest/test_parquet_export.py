"""`--format parquet`: one conversion into an empty folder, the same rows as in Delta tables."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import NotALakeError
from seglake.lake.tables import TABLES, Table
from seglake.pipelines.segment_ingest.parquet_export import convert
from seglake.settings.settings import Settings
from seglake.storage.errors import LakeFolderError, RefusedError, StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo, Storage
from seglake.task_engine.engine import LocalEngine
from support.lakes import ingested, local_scan, read_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAMPLES = Path(__file__).parents[2] / "samples" / "broker-0"
_OF_ALL_TOPICS = tuple(table for table in TABLES if not table.topics)
_OF_A_RUN = {
    *("run_id", "attempt_id", "quarantined_at", "committed_at", "observed_at", "waiting_since"),
}


class _OtherNames(LocalStorage):
    """Lists files of records by another name than they were written by."""

    def list_folder(self, path: str) -> list[FileInfo]:
        found = super().list_folder(path)
        return [
            found_item._replace(path=found_item.path.replace("topic=", "topic%3D"))
            for found_item in found
        ]


class _RefusesTheSecondProbe(LocalStorage):
    """As a store does whose session ends in the middle of a conversion."""

    def __init__(self) -> None:
        self.probes = 0

    def creates_exclusively(self, folder: str) -> bool:
        self.probes += 1
        if self.probes > 1:
            raise RefusedError(action="write", path=folder, reason="the session has ended")
        return True


def _converted(
    folder: Path,
    *,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
    storage: Storage | None = None,
) -> IngestSummary:
    with LocalEngine(1) as engine:
        scan = local_scan(Settings(), engine, dry_run=dry_run, after=after)
        return convert(
            [str(_SAMPLES)], str(folder), replace(scan, storage=storage or LocalStorage())
        )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")  # there, and empty
    assert _converted(folder).exit_code == 3  # two batches are damaged
    return folder


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("delta") / "lake"
    ingested(_SAMPLES, lake, isolation="read_committed")
    return lake


def _rows(found: pa.Table, table: Table) -> list[str]:
    names = [name for name in table.schema.names if name not in _OF_A_RUN]
    columns = found.select(names).cast(pa.schema([table.schema.field(name) for name in names]))
    return sorted(repr(row) for row in columns.to_pylist())


def _counts(lake: Path) -> dict[str, int]:
    return {table.name: read_arrow(lake, table.name).num_rows for table in _OF_ALL_TOPICS}


def test_nothing_is_left_of_delta_and_success_is_there(plain: Path) -> None:
    assert sorted(path.name for path in plain.iterdir()) == sorted(
        ["_SUCCESS", *(table.name for table in _OF_ALL_TOPICS)]
    )
    assert (plain / "_SUCCESS").read_bytes() == b""
    strange = [p for p in plain.rglob("*") if p.is_file() and p.suffix != ".parquet"]
    assert strange == [plain / "_SUCCESS"]
    assert {path.name.split("=")[0] for path in (plain / "records").iterdir()} == {"topic"}


@pytest.mark.parametrize("table", _OF_ALL_TOPICS, ids=lambda table: table.name)
def test_arrow_reads_the_rows_that_delta_has(table: Table, plain: Path, delta: Path) -> None:
    parts = pa.schema([table.schema.field(name) for name in table.partition_by])
    partitioning = ds.partitioning(parts, flavor="hive") if table.partition_by else None
    found = ds.dataset(plain / table.name, format="parquet", partitioning=partitioning).to_table()
    assert (found.num_rows > 0) == (table.name != "salvaged_records")  # nothing to salvage here
    assert _rows(found, table) == _rows(read_arrow(delta, table.name), table)


def test_duckdb_reads_them(plain: Path, delta: Path) -> None:
    counts = {}
    for table in _OF_ALL_TOPICS:
        files = f"{plain}/{table.name}/**/*.parquet"
        query = (
            "select count(*), count(distinct topic) from read_parquet(?, hive_partitioning=true)"
        )
        (found,) = duckdb.execute(query, [files]).fetchall()
        counts[table.name] = found[0]
        assert found[1] == len(set(read_arrow(delta, table.name).column("topic").to_pylist()))
    assert counts == _counts(delta)


@pytest.mark.spark
def test_spark_reads_them(plain: Path, delta: Path, spark_session: "SparkSession") -> None:
    frames = {t.name: spark_session.read.parquet(str(plain / t.name)) for t in _OF_ALL_TOPICS}
    assert {name: frame.count() for name, frame in frames.items()} == _counts(delta)
    for table in _OF_ALL_TOPICS:
        assert set(frames[table.name].columns) == set(table.schema.names)
    values = {(r.topic, r.partition, r.offset, r.value) for r in frames["records"].collect()}
    expected = read_arrow(delta, "records").select(["topic", "partition", "offset", "value"])
    assert values == {tuple(row.values()) for row in expected.to_pylist()}


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    with LocalEngine(1) as engine:
        select = {"topics": ["v2-*"], "to_timestamp": "2000-01-01"}
        settings = Settings.from_mappings([("test", {"select": select})])
        convert([str(_SAMPLES)], str(folder), local_scan(settings, engine))
    for table in _OF_ALL_TOPICS:
        assert ds.dataset(folder / table.name).to_table().schema == table.schema
    assert (folder / "_SUCCESS").exists()


def test_files_that_no_commit_names_are_not_left(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    stray = folder / "records" / "topic=v2-none" / "lost-attempt.parquet"

    def lose_an_attempt(step: str) -> None:
        if step == "records":
            stray.write_bytes(b"half a file")

    _converted(folder, after=lose_an_attempt)
    assert not stray.exists()


def test_nothing_is_deleted_where_committed_files_are_not_listed_by_their_names(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "lake"
    with pytest.raises(StorageError, match="committed but not listed"):
        _converted(folder, storage=_OtherNames())
    assert read_arrow(folder, "records").num_rows > 0
    assert not (folder / "_SUCCESS").exists()


@pytest.mark.parametrize("name", ["records", "_SUCCESS", ".hidden"])
def test_a_folder_that_is_not_empty_is_refused_untouched(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(LakeFolderError, match=f"it has {name}.*needs an empty folder"):
        _converted(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_conversion_is_named_where_a_lake_is_wanted(plain: Path) -> None:
    with pytest.raises(LakeFolderError, match="cannot be a lake: it holds a conversion to Parquet"):
        ingested(_SAMPLES, plain)
    with pytest.raises(LakeFolderError, match="it has a conversion to Parquet, but a conversion"):
        _converted(plain)
    with pytest.raises(NotALakeError, match="is not a lake: it is a conversion to Parquet"):
        LakeTables(str(plain), LocalStorage()).require()


def test_a_conversion_that_dies_has_no_success_and_is_not_gone_on_with(tmp_path: Path) -> None:
    def die(step: str) -> None:
        if step == "batches":
            raise StorageError(action="write", path="x", reason="No space left on device")

    folder = tmp_path / "lake"
    with pytest.raises(StorageError):
        _converted(folder, after=die)
    assert not (folder / "_SUCCESS").exists()
    with pytest.raises(LakeFolderError, match="is complete only if it has _SUCCESS"):
        _converted(folder)


def test_what_was_left_out_leaves_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = LocalStorage.list_folder

    def closed(storage: LocalStorage, path: str) -> list[FileInfo]:
        if path.endswith("/v2-lz4-0"):
            raise StorageError(action="list", path=path, reason="Permission denied")
        return listed(storage, path)

    monkeypatch.setattr(LocalStorage, "list_folder", closed)
    summary = _converted(tmp_path / "lake")
    assert (summary.exit_code, list(summary.left_out)) == (3, ["v2-lz4-0"])
    assert "it has no _SUCCESS" in summary.to_text()
    assert sorted(path.name for path in (tmp_path / "lake").iterdir()) == sorted(
        table.name for table in _OF_ALL_TOPICS
    )


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    assert _converted(tmp_path / "lake", dry_run=True).exit_code == 0
    assert not (tmp_path / "lake").exists()


def test_plain_parquet_is_no_lake(plain: Path) -> None:
    before = {str(path) for path in plain.rglob("*")}
    with pytest.raises(LakeFolderError):
        ingested(_SAMPLES, plain)
    assert {str(path) for path in plain.rglob("*")} == before


def test_the_lake_is_opened_once_and_not_again_when_all_is_written(tmp_path: Path) -> None:
    storage = _RefusesTheSecondProbe()
    assert _converted(tmp_path / "out", storage=storage).exit_code == 3
    assert storage.probes == 1
    assert (tmp_path / "out" / "_SUCCESS").exists()
