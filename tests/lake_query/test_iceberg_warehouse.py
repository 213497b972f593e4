"""Iceberg's metadata of a lake: what its readers get, and what is never overwritten."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable
from pyiceberg.table import StaticTable

import seglake
from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import TABLES
from seglake.lake.typed_tables import typed_tables
from seglake.lake.value_tables import VALUE_TABLES
from seglake.pipelines.lake_query.iceberg import manifests
from seglake.pipelines.lake_query.lake_names import name_of
from seglake.pipelines.lake_query.registration import Registration
from seglake.storage.local_storage import LocalStorage
from support.internal_logs import INTERNAL, OFFSETS, commits, write_topic
from support.lakes import ingested, maintained, read_table
from support.made_logs import make_log_dir
from support.quick_spark import write_defaults
from support.servers.earlier_spark import earlier_spark
from support.servers.maven_jars import maven_jars
from support.typed_disk import typed_lake
from support.typed_lakes import add_schemas, add_values, decoded, int_of, made

_EXTENSIONS = ("avro", "iceberg")
_RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
_SPARK_CALL = """
import json, sys
from pyspark.sql import SparkSession
jar, warehouse, *statements = sys.argv[1:]
builder = SparkSession.builder.master("local[2]")
for name, value in {
    "spark.jars": jar,
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": warehouse,
}.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
print(json.dumps([[list(row) for row in session.sql(each).collect()] for each in statements]))
"""

# Any: rows hold values of many types.
Rows = list[dict[str, Any]]


def in_order(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Rows in an order that depends on nothing but them."""
    return sorted((dict(sorted(row.items())) for row in rows), key=repr)


def by_pyiceberg(table: str) -> Rows:
    """All columns of all rows."""
    return StaticTable.from_metadata(table).scan().to_arrow().to_pylist()


def planned_by_pyiceberg(table: str, wanted: str) -> list[str]:
    """The data files that have to be read for a condition."""
    tasks = StaticTable.from_metadata(table).scan(row_filter=wanted).plan_files()
    return sorted(task.file.file_path for task in tasks)


def by_duckdb(table: str, columns: str = "*") -> Rows:
    """Some columns of all rows."""
    with duckdb.connect() as connection:
        version = f"v{duckdb.__version__}"
        for name in _EXTENSIONS:
            packed = files(f"duckdb_extension_{name}") / "extensions" / version
            connection.execute(f"LOAD '{packed / f'{name}.duckdb_extension'}'")
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(f"SELECT {columns} FROM iceberg_scan(?)", [table])
        return found.to_arrow_table().to_pylist()


def by_spark(folder: Path, warehouse: str, statements: Sequence[str]) -> list[list[list[Any]]]:
    """The rows of each statement, whose tables are named `lake.DATABASE.TABLE`.

    Runs a Spark that Iceberg has a runtime for, in a process of its own.
    """
    (jar,) = maven_jars("iceberg-1.12.0", [_RUNTIME], alone=True).glob("*.jar")
    done = subprocess.run(
        [sys.executable, "-c", _SPARK_CALL, str(jar), warehouse, *statements],
        cwd=folder,
        env=earlier_spark() | {"SPARK_CONF_DIR": str(write_defaults(folder, is_ours=False))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[list[list[Any]]] = json.loads(done.stdout.splitlines()[-1])
    return found


_DISK = Path(__file__).parents[2] / "samples" / "broker-0"
_NAMES = [table.name for table in TABLES]
_DAY_S = 24 * 3600


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With rows of a real disk and of an internal topic; SQL has to quote its path."""
    folder = tmp_path_factory.mktemp("iceberg") / "it's a lake"
    ingested(_DISK, folder / "lake")
    ingested(
        write_topic(folder / "disk", OFFSETS, [commits(0, 5, 7)]), folder / "lake", select=INTERNAL
    )
    return folder / "lake"


@pytest.fixture(scope="module")
def warehouse(lake: Path) -> Path:
    folder = lake.with_name("warehouse of Iceberg")
    done = seglake.register(lake, "kafka", iceberg=folder)
    assert done == Registration(f"{folder}/kafka", str(lake), (*_NAMES,), (), (*_NAMES,))
    return folder / "kafka"


def _small(folder: Path, *ends: int) -> Path:
    """A lake of one topic; a run for each end of its log."""
    for end in ends:
        ingested(make_log_dir(folder / "disk", {("orders", 0): [0, end]}), folder / "lake")
    return folder / "lake"


def _registered(lake: Path, folder: Path) -> Path:
    seglake.register(lake, "kafka", iceberg=folder)
    return folder / "kafka"


def _without_null_lists(rows: Iterable[dict[str, object]]) -> Rows:
    """pyiceberg 0.12 reads a list that is null as an empty one."""
    lists = ("headers", "not_ingested")
    return in_order(
        {**row, **{name: row[name] or [] for name in lists if name in row}} for row in rows
    )


@pytest.mark.parametrize("table", _NAMES)
def test_readers_get_the_rows_of_delta(lake: Path, warehouse: Path, table: str) -> None:
    wanted = read_table(lake, table)
    assert in_order(by_duckdb(str(warehouse / table))) == in_order(wanted)
    assert _without_null_lists(by_pyiceberg(str(warehouse / table))) == _without_null_lists(wanted)


_TYPED = ("avro_orders", "avro_mixed", "avro_tree", "proto_events", "connect_json", "json_plain")


@pytest.fixture(scope="module")
def decoded_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with typed tables of all kinds of values, described for Iceberg beside it."""
    folder = tmp_path_factory.mktemp("typed")
    lake = typed_lake(folder / "lake", "_schemas", *_TYPED)
    decoded(lake, *_TYPED)
    seglake.register(lake, "kafka", iceberg=folder / "iceberg")
    return lake


def test_readers_get_the_rows_of_typed_tables_and_of_their_ledger(decoded_lake: Path) -> None:
    place = decoded_lake.with_name("iceberg") / "kafka"
    tables = typed_tables(LakeTables(str(decoded_lake), LocalStorage()))
    assert len(tables) > len(_TYPED)  # topics of several records have several
    names = {f"all_typed_{name_of(each)}".replace(".", "_"): each.table.name for each in tables}
    names |= {table.name: table.name for table in VALUE_TABLES}
    for name, table in names.items():
        wanted = DeltaTable(str(decoded_lake / table)).to_pyarrow_table().to_pylist()
        assert _texts(by_duckdb(str(place / name))) == _texts(wanted), table
        assert len(by_pyiceberg(str(place / name))) == len(wanted) > 0, table


def _texts(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows as texts in order, in which one NaN is like another."""
    return sorted(json.dumps(dict(row), default=str, sort_keys=True) for row in rows)


def test_a_column_that_a_later_schema_adds_is_read(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    _registered(lake, tmp_path / "iceberg")
    add_schemas(lake, tmp_path / "schemas", '"string"')
    add_values(lake, tmp_path / "more", b"\x00\x00\x00\x00\x02\x02x", start=1)
    decoded(lake, "t")
    table = _registered(lake, tmp_path / "iceberg") / "all_typed_t"
    rows = [(row["value"], row["value__string"]) for row in by_pyiceberg(str(table))]
    assert sorted(rows, key=repr) == [(1, None), (None, "x")]


def test_the_lake_of_these_tests_has_rows_for_most_tables(lake: Path) -> None:
    empty = [name for name in _NAMES if not read_table(lake, name)]
    assert empty == [
        *("transaction_state", "cluster_metadata", "remote_log_metadata", "salvaged_records")
    ]


def test_conditions_leave_out_files_by_topic_and_by_bounds(lake: Path, warehouse: Path) -> None:
    table = str(warehouse / "records")
    files = {name: planned_by_pyiceberg(table, f"topic = '{name}'") for name in ("tx-a", "v2-lz4")}
    assert all(len(found) == 1 and f"topic={name}" in found[0] for name, found in files.items())
    rows = [row for row in read_table(lake, "records") if row["topic"] == "tx-a"]
    for column in ("partition", "offset", "timestamp", "timestamp_ms"):
        least, most = (extreme(row[column] for row in rows) for extreme in (min, max))
        if column == "timestamp":
            least, most = f"'{least.isoformat()}'", f"'{most.isoformat()}'"
        for condition, is_read in {
            f"{column} < {least}": False,
            f"{column} <= {least}": True,
            f"{column} >= {most}": True,
        }.items():
            found = planned_by_pyiceberg(table, f"topic = 'tx-a' and {condition}")
            assert (condition, bool(found)) == (condition, is_read)
        behind = (
            f"{column} > {most}"
            if column != "timestamp"
            else "timestamp > '2030-01-01T00:00:00+00:00'"
        )
        assert planned_by_pyiceberg(table, f"topic = 'tx-a' and {behind}") == []


def test_many_files_are_in_several_manifests(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "_FILES_PER_MANIFEST", 2)
    table = _registered(lake, tmp_path) / "records"
    assert len([*(table / "metadata").glob("*-[0-9].avro")]) == 4
    assert in_order(by_duckdb(str(table))) == in_order(read_table(lake, "records"))
    assert len(planned_by_pyiceberg(str(table), "topic = 'v2-zstd'")) == 1


@pytest.mark.own_spark
def test_spark_s_reader_gets_them_too(lake: Path, warehouse: Path, tmp_path: Path) -> None:
    count, of_topics, of_offsets, headers = by_spark(
        tmp_path,
        str(warehouse.parent),
        [
            "SELECT count(*) FROM lake.kafka.consumer_offsets",
            "SELECT topic, count(*) FROM lake.kafka.records GROUP BY topic",
            "SELECT count(*) FROM lake.kafka.records WHERE topic = 'tx-a' AND offset >= 100",
            "SELECT count(*) FROM lake.kafka.records WHERE headers[0].key IS NOT NULL",
        ],
    )
    rows = read_table(lake, "records")
    topics = {row["topic"] for row in rows}
    assert count == [[2]]
    assert sorted(of_topics) == sorted(
        [topic, sum(row["topic"] == topic for row in rows)] for topic in topics
    )
    assert of_offsets == [[sum(row["topic"] == "tx-a" and row["offset"] >= 100 for row in rows)]]
    assert headers == [[sum(bool(row["headers"]) for row in rows)]]


def test_calls_after_new_runs_and_maintenance_describe_the_newest_version(tmp_path: Path) -> None:
    lake = _small(tmp_path, 10, 20)
    place = _registered(lake, tmp_path / "iceberg")
    first = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    _small(tmp_path, 30)
    maintained(lake)
    done = seglake.register(lake, "kafka", iceberg=tmp_path / "iceberg")
    assert done.new == ()
    for table in ("records", "checkpoints"):
        assert in_order(by_duckdb(str(place / table))) == in_order(read_table(lake, table))
    untouched = place / "consumer_offsets" / "metadata"
    assert all(path.stat().st_mtime_ns == first[path] for path in untouched.iterdir())


def test_hint_that_a_slower_call_put_back_is_mended(tmp_path: Path) -> None:
    lake = _small(tmp_path, 10)
    place = _registered(lake, tmp_path / "iceberg")
    hint = place / "records" / "metadata" / "version-hint.text"
    (newest,) = [hint.read_text()]
    hint.write_text("0")
    _registered(lake, tmp_path / "iceberg")
    assert hint.read_text() == newest


def test_versions_are_deleted_a_week_after_they_were_replaced(tmp_path: Path) -> None:
    ends, folder = (10, 20, 30, 40), tmp_path / "iceberg"
    metadata = folder / "kafka" / "records" / "metadata"
    for number, end in enumerate(ends):
        place = _registered(_small(tmp_path, end), folder)
        written = [
            path
            for path in metadata.iterdir()
            if path.name.startswith((f"v{number + 1}.", f"{number + 1}-"))
        ]
        assert len(written) == 3
        for path in written:  # the first, a third of a month ago; the second, 8 days; the third, 6
            age = {0: 10, 1: 8, 2: 6, 3: 0}[number] * _DAY_S
            os.utime(path, (time.time() - age, time.time() - age))
    left = sorted(path.name.partition(".")[0].partition("-")[0] for path in metadata.iterdir())
    assert left == ["2", "2", "3", "3", "4", "4", "v2", "v3", "v4", "version"]
    assert len(by_duckdb(str(place / "records"))) == 40
    assert planned_by_pyiceberg(str(metadata / "v2.metadata.json"), "offset >= 0")


def _refused(reason: str, lake: Path, folder: Path) -> None:
    """A call is, and leaves the folder as it was."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(WrongCallError, match=re.escape(reason)):
        seglake.register(lake, "kafka", iceberg=folder)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_folders_in_a_lake_and_files_are_refused(tmp_path: Path) -> None:
    lake = _small(tmp_path, 10)
    _refused("is in the lake: choose another folder", lake, lake)
    _refused("is in the lake: choose another folder", lake, lake / "records" / "x")
    (tmp_path / "file").write_text("mine")
    _refused("is a file: --iceberg needs a folder", lake, tmp_path / "file")
    (tmp_path / "link").symlink_to(lake)
    _refused("is in the lake: choose another folder", lake, tmp_path / "link")
    shutil.copytree(lake, tmp_path / "lakes" / "kafka")
    _refused("records exists already", lake, tmp_path / "lakes")


def test_tables_of_other_lakes_are_never_replaced(tmp_path: Path) -> None:
    lake, folder = _small(tmp_path, 10), tmp_path / "iceberg"
    _registered(lake, folder)
    _refused(f"does not belong to this lake ({lake})", _small(tmp_path / "other", 10), folder)
    lake.rename(tmp_path / "away")
    ingested(tmp_path / "disk", lake, makes_lake=True)
    _refused(f"belongs to another one that was at {lake}", lake, folder)


def test_an_older_copy_of_the_lake_is_refused(tmp_path: Path) -> None:
    lake, folder = _small(tmp_path, 10), tmp_path / "iceberg"
    shutil.copytree(lake, tmp_path / "backup")
    _small(tmp_path, 20)
    _registered(lake, folder)
    shutil.rmtree(lake)
    (tmp_path / "backup").rename(lake)
    _refused("describes version 2 of the table, and", lake, folder)
    shutil.rmtree(folder / "kafka")
    _registered(lake, folder)


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("v9.metadata.json", {}, "another tool has written to it"),
        ("v1.metadata.json", {"format-version": "x"}, "its metadata cannot be read"),
        ("00001-x.metadata.json", {}, "00001-x.metadata.json was written by something else"),
    ],
)
def test_what_another_tool_wrote_is_never_replaced(
    tmp_path: Path, name: str, changes: dict[str, str], reason: str
) -> None:
    lake, folder = _small(tmp_path, 10), tmp_path / "iceberg"
    metadata = _registered(lake, folder) / "records" / "metadata"
    known = json.loads((metadata / "v1.metadata.json").read_text())
    (metadata / name).write_text(json.dumps(known | changes))
    _refused(reason, lake, folder)


def test_one_catalog_a_call(tmp_path: Path) -> None:
    with pytest.raises(WrongCallError, match="metastore or iceberg"):
        seglake.register(tmp_path, "kafka", metastore="thrift://h:1", iceberg=tmp_path / "x")
