"""Four readers that share no code see the same rows in the tables; Spark also writes them itself.

DuckDB reads the Parquet files that Delta's log names: its Delta extension is not to be downloaded.
"""

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable

from seglake.lake.tables import TABLES
from seglake.task_engine.engine import SparkEngine
from support import broker_disks
from support.cases import cases, every
from support.corrupt_cases import corrupt_case
from support.lakes import Row, content, ingested, ingested_in_pieces, read_arrow, read_table
from support.made_logs import FIRST_MS, STEP_MS, make_log_dir, value_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMES = [table.name for table in TABLES]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of several clusters, commits, formats and kinds of damage."""
    lake = tmp_path_factory.mktemp("readers") / "lake"
    ingested(corrupt_case("flip_payload__v2-none").log_dir, lake, read={"salvage": True})
    for scenario in ("02_v1_codecs", "03_v2_codecs", "06_transactions", "07_delete_records"):
        disks = broker_disks.unpacked(scenario) / "disks"
        ingested(disks / broker_disks.copies(scenario)[-1], lake)
    ingested(corrupt_case("burst__v0-gzip").log_dir, lake)
    for scenario in ("11_kraft", "12_tiered"):
        disk = broker_disks.log_dir(scenario, broker_disks.copies(scenario)[-1])
        ingested(disk, lake, select={"internal_topics": True})
    return lake


def _fingerprint(rows: Iterable[Row]) -> tuple[int, str]:
    """How many rows there are, and a hash over all of them in any order."""
    lines = sorted(repr({name: _plain(row[name]) for name in sorted(row)}) for row in rows)
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.fixture(scope="module")
def expected(lake: Path) -> Callable[[str], tuple[int, str]]:
    """What deltalake reads of a table, which is looked at once."""
    return cache(lambda table: _fingerprint(read_table(lake, table)))


# Any: the values of a row have many types.
def _plain(value: Any) -> Any:
    """A value without what readers may choose: zones of times, kinds of byte strings."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return [(name, _plain(each)) for name, each in value.items()]
    return value


def _by_polars(lake: Path, table: str) -> list[Row]:
    return pl.read_delta(str(lake / table)).to_dicts()


def _by_duckdb(lake: Path, table: str) -> list[Row]:
    files = [unquote(uri.removeprefix("file://")) for uri in DeltaTable(lake / table).file_uris()]
    with duckdb.connect(":memory:") as connection:
        connection.execute("set timezone = 'UTC'")
        rows = connection.execute(
            "select * from read_parquet($1, hive_partitioning = $2, hive_types_autocast = false)",
            [files, "topic=" in files[0]],
        )
        found: list[Row] = rows.to_arrow_table().to_pylist()
        return found


@pytest.mark.parametrize("table", cases(_NAMES, telling=["records", "batches", "quarantine"]))
@pytest.mark.parametrize("read", [_by_polars, _by_duckdb])
def test_polars_and_duckdb_read_what_deltalake_reads(
    read: Callable[[Path, str], list[Row]],
    table: str,
    lake: Path,
    expected: Callable[[str], tuple[int, str]],
) -> None:
    assert expected(table)[0] > 0
    assert _fingerprint(read(lake, table)) == expected(table)


@pytest.mark.spark
@pytest.mark.parametrize("table", cases(_NAMES, telling=["records", "batches", "quarantine"]))
def test_spark_reads_what_deltalake_reads(
    table: str,
    lake: Path,
    expected: Callable[[str], tuple[int, str]],
    spark_session: "SparkSession",
) -> None:
    rows = spark_session.read.format("delta").load(str(lake / table)).toArrow().to_pylist()
    assert _fingerprint(rows) == expected(table)


# Of numbers, of times, of what is null, of the partitioning.
_CONDITIONS = [
    "`offset` = 17",
    "`offset` between 40 and 44 and topic like 'v2-%'",
    "timestamp >= timestamp '2024-06-01 00:00:00 UTC'",
    "timestamp < timestamp '2024-06-01 00:00:00 UTC'",
    "timestamp is null",
    "timestamp_ms is null",
    "`partition` = 0 and topic = 'tx-a'",
]
_SUMS = """
    select topic, `partition`, count(*) as n, sum(`offset`) as offsets, min(timestamp_ms) as least,
        max(timestamp_ms) as most, sum(octet_length(key)) as k, sum(octet_length(value)) as v
    from {} group by topic, `partition`
"""


@pytest.mark.spark
def test_spark_and_duckdb_count_and_sum_alike(lake: Path, spark_session: "SparkSession") -> None:
    by_spark = spark_session.sql(_SUMS.format(f"delta.`{lake}/records`")).toArrow().to_pylist()
    with duckdb.connect(":memory:") as connection:
        connection.register("records", read_arrow(lake, "records"))
        result = connection.execute(_SUMS.format("records").replace("`", '"'))
        by_duckdb = result.to_arrow_table().to_pylist()
    for row in by_duckdb:
        for name in ("offsets", "k", "v"):  # wider integers than Spark's
            row[name] = None if row[name] is None else int(row[name])
    assert len(by_spark) > 50
    assert _fingerprint(by_spark) == _fingerprint(by_duckdb)


@pytest.mark.spark
@pytest.mark.parametrize("condition", cases(_CONDITIONS, telling=every(2, _CONDITIONS)))
def test_sparks_filters_skip_no_file_that_has_rows(
    condition: str, lake: Path, spark_session: "SparkSession"
) -> None:
    filtered = spark_session.sql(f"select * from delta.`{lake}/records` where {condition}")
    with duckdb.connect(":memory:") as connection:
        connection.execute("set timezone = 'UTC'")
        connection.register("records", read_arrow(lake, "records"))
        words = condition.replace("`", '"').replace("timestamp '", "timestamptz '")
        expected = connection.execute(f"select * from records where {words}").to_arrow_table()
    rows = filtered.toArrow().to_pylist()
    assert _fingerprint(rows) == _fingerprint(expected.to_pylist())


@pytest.mark.spark
def test_rows_written_by_spark_itself_are_the_same(
    tmp_path: Path, spark_session: "SparkSession"
) -> None:
    from pyspark.sql.types import StructType

    edges = {("orders", 0): [0, 40, 80], ("orders", 1): [0, 25], ("payments", 0): [0, 30]}
    lake, twin = tmp_path / "lake", str(tmp_path / "twin")
    ingested(make_log_dir(tmp_path / "data", edges), lake)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    rows = [
        (
            f"k{offset}".encode(),
            value_of(topic, partition, offset),
            topic,
            partition,
            offset,
            epoch + timedelta(milliseconds=FIRST_MS + offset * STEP_MS),
            0,
            [("h", str(offset).encode())],
        )
        for (topic, partition), stops in edges.items()
        for offset in range(stops[-1])
    ]
    ours = spark_session.read.format("delta").load(str(lake / "records"))
    kafka_columns = ours.select(ours.columns[:8])
    schema: StructType = kafka_columns.schema
    frame = spark_session.createDataFrame(rows, schema)
    frame.write.format("delta").partitionBy("topic").save(twin)
    theirs = spark_session.read.format("delta").load(twin).select(kafka_columns.columns)
    assert theirs.schema == schema
    assert theirs.count() == kafka_columns.count() == len(rows)
    assert theirs.exceptAll(kafka_columns).count() == 0
    assert kafka_columns.exceptAll(theirs).count() == 0


@pytest.mark.spark
@pytest.mark.parametrize(
    ("scenario", "copy", "isolation"),
    [
        ("06_transactions", "stopped", "read_committed"),
        ("05_compacted", "after", "read_uncommitted"),
    ],
)
def test_spark_as_the_engine_gives_the_tables_of_the_local_one(
    scenario: str, copy: str, isolation: str, tmp_path: Path, spark_session: "SparkSession"
) -> None:
    disks = broker_disks.unpacked(scenario) / "disks" / copy
    local, spark = tmp_path / "local", tmp_path / "spark"
    ingested(disks, local, isolation=isolation, select={"internal_topics": True})
    engine = SparkEngine(spark_session.sparkContext)
    done = ingested_in_pieces(
        disks, spark, isolation, split_bytes=16_000, wave_bytes=200_000, engine=engine
    )
    assert done.exit_code == 0
    assert done.planned.tasks > 3
    for table in _NAMES[:-1]:  # the ledger's ranges are as long as the waves
        assert content(spark, table) == content(local, table), table
