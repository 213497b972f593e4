"""Batches whose header contradicts their records, though the checksum holds.

The rows that Kafka's consumer gives were taken from its own classes: the bytes of each log as one
fetch to `CompletedFetch.fetchRecords` of kafka-clients 3.9.0 and 4.1.0, which agree, and after each
error another fetch from its `nextFetchOffset`, or from one offset above that if nothing came.

A first batch whose last offset delta is negative is left out by the broker when a fetch begins at
it (`LogSegment.translateOffset`), and given by the consumer in any other fetch. Here it is given.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seglake.task_engine.engine import Engine
from support.audits import audited, checked, kinds
from support.cases import cases
from support.contradictions import CONTRADICTIONS, LOGS, PLACES, shown, write_contradictions
from support.encoder import Codec
from support.lakes import Row, ingested, read_table, replayed
from support.printed import cat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Offset and value of each record, with the odd batch as the first, the second and the third.
GIVEN: dict[str, tuple[str, str, str]] = {
    "last-delta-zero": (
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
    ),
    "last-delta-too-small": (
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
    ),
    "last-delta-negative": (
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
    ),
    "last-delta-lowest": (
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
    ),
    "count-too-high": (
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
    ),
    "count-highest": (
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
    ),
    "count-too-low": (
        "0a0 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0",
    ),
    "count-one": (
        "3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2",
    ),
    "count-zero": (
        "3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2",
    ),
    "count-negative": (
        "3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2",
    ),
    "deltas-repeat": (
        "0a0 1a1 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1",
    ),
    "deltas-all-zero": (
        "0a0 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0",
    ),
    "deltas-go-back": (
        "2a0 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 5b0 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 8c0",
    ),
    "deltas-negative": (
        "0a1 1a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b1 4b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c1 7c2",
    ),
    "deltas-far-negative": (
        "3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2",
    ),
    "deltas-exceed-last": (
        "0a0 1a1 4a2 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 7b2 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 10c2",
    ),
    "deltas-exceed-next-batch": (
        "0a0 1a1 7a2 8c2",
        "0a0 1a1 2a2 3b0 4b1 10b2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 13c2",
    ),
    "deltas-exceed-and-go-back": (
        "4a0 5a2 6c0 7c1 8c2",
        "0a0 1a1 2a2 7b0 8b2",
        "0a0 1a1 2a2 3b0 4b1 5b2 10c0 11c2",
    ),
    "times-of-others": (
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
        "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2",
    ),
}

# A record above the log's end would hide what is written there later, so it has no row.
NOT_INGESTED: dict[str, str] = {
    "deltas-exceed-last-third": "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1",
    "deltas-exceed-next-batch-second": "0a0 1a1 2a2 3b0 4b1 6c0 7c1 8c2",
    "deltas-exceed-next-batch-third": "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1",
    "deltas-exceed-and-go-back-third": "0a0 1a1 2a2 3b0 4b1 5b2 8c1",
}

EXPECTED = {
    f"{name}-{place}": given
    for name in CONTRADICTIONS
    for place, given in zip(PLACES, GIVEN[name], strict=True)
} | NOT_INGESTED


def by_log(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(LOGS[row["partition"]], []).append(row)
    return found


def all_shown(rows: Iterable[Row]) -> dict[str, str]:
    return {log: shown(own) for log, own in by_log(rows).items()}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_rows_are_those_of_kafka_s_consumer(tmp_path: Path, engine: Engine, codec: Codec) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_contradictions(disk, codec)
    ingested(disk, lake, engine=engine)
    assert all_shown(read_table(lake, "records")) == EXPECTED


def test_what_gives_no_row_is_quarantined_and_every_byte_and_offset_counts(
    tmp_path: Path, engine: Engine
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_contradictions(disk)
    ingested(disk, lake, engine=engine)
    assert not kinds(audited(lake))
    for check in checked(disk, lake):
        assert not check.has_problem, check
    damaged = by_log(read_table(lake, "quarantine"))
    for log, rows in by_log(read_table(lake, "records")).items():
        is_whole = len(rows) == 9 and not log.startswith("count")
        assert (log in damaged) != is_whole, log
    assert not ingested(disk, lake, engine=engine).records


# Once decompressed, the records are the same bytes: GZIP above and ZSTD tell that.
@pytest.mark.parametrize(
    "codec", cases([Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], telling={Codec.ZSTD})
)
def test_rows_are_the_same_with_each_codec(tmp_path: Path, codec: Codec) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_contradictions(disk, codec)
    ingested(disk, lake)
    assert all_shown(read_table(lake, "records")) == EXPECTED
    assert not kinds(audited(lake))


def test_a_replay_brings_no_record_that_kafka_s_consumer_skips(tmp_path: Path) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_contradictions(disk)
    ingested(disk, lake)
    before = read_table(lake, "records")
    for sources in ([], [shutil.copytree(disk, tmp_path / "copy")]):
        assert replayed(lake, *sources).repaired_records == 0
    assert read_table(lake, "records") == before
    assert not kinds(audited(lake))


def test_cat_prints_the_rows_that_an_ingest_brings(tmp_path: Path) -> None:
    write_contradictions(tmp_path)
    printed = cat("--source", tmp_path, "-q")
    rows = (
        {"partition": partition, "offset": each.offset, "value": each.value}
        for (_, partition), records in printed.records.items()
        for each in records
    )
    assert (printed.code, all_shown(rows)) == (3, EXPECTED)


@pytest.mark.spark
def test_the_data_source_gives_the_rows_that_an_ingest_brings(
    tmp_path: Path, spark_session: "SparkSession"
) -> None:
    write_contradictions(tmp_path)
    reader = spark_session.read.format("kafka_segments").option("failOnDataLoss", "false")
    rows = reader.load(str(tmp_path)).select("partition", "offset", "value").collect()
    assert all_shown(row.asDict() for row in rows) == EXPECTED
