"""Batches whose header contradicts their records, though the checksum holds.

The rows that Kafka's consumer gives were taken from its own classes: the bytes of each log as one
fetch to `CompletedFetch.fetchRecords` of kafka-clients 3.9.0 and 4.1.0, which agree, and after each
error another fetch from its `nextFetchOffset`, or from one offset above that if nothing came.

A first batch whose last offset delta is negative is left out by the broker when a fetch begins at
it (`LogSegment.translateOffset`), and given by the consumer in any other fetch. Here it is given.
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import crc32c
import pytest

from seglake.task_engine.engine import Engine
from support.audits import audited, checked, kinds
from support.contradictions import (
    CONTRADICTIONS,
    PLACES,
    Contradiction,
    log_of,
    write_contradictions,
)
from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    payload_batch,
    record_batch,
    record_bytes,
)
from support.lakes import Row, ingested, read_table, replayed
from support.made_logs import write_over
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


def shown(rows: list[Row]) -> str:
    """Offsets and values, as they stand in `GIVEN`."""
    rows = sorted(rows, key=lambda row: row["offset"])
    return " ".join(f"{row['offset']}{row['value'].decode()}" for row in rows)


def by_topic(lake: Path, table: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in read_table(lake, table):
        found.setdefault(row["topic"], []).append(row)
    return found


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_rows_are_those_of_kafka_s_consumer(tmp_path: Path, engine: Engine, codec: Codec) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_contradictions(disk, codec)
    ingested(disk, lake, engine=engine)
    rows = by_topic(lake, "records")
    assert {topic: shown(rows[topic]) for topic in EXPECTED} == EXPECTED


def test_what_gives_no_row_is_quarantined_and_every_byte_and_offset_counts(
    tmp_path: Path, engine: Engine
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_contradictions(disk)
    ingested(disk, lake, engine=engine)
    assert not kinds(audited(lake))
    for check in checked(disk, lake):
        assert not check.has_problem, check
    damaged = set(by_topic(lake, "quarantine"))
    rows = by_topic(lake, "records")
    for name in CONTRADICTIONS:
        for place in PLACES:
            topic = f"{name}-{place}"
            is_whole = len(rows[topic]) == 9 and not name.startswith("count")
            assert (topic in damaged) != is_whole, topic
    assert not ingested(disk, lake, engine=engine).records


def last_delta_zero(
    base: int, values: str, *, producer_id: int = -1, key: bytes | None = None
) -> EncodedBatch:
    """A batch of several records that claims to end with its first, as some clients wrote it."""
    payload = b"".join(
        record_bytes(Record(key, value.encode()), delta, 0) for delta, value in enumerate(values)
    )
    header = Header(
        last_offset_delta=0,
        record_count=len(values),
        producer=Producer(producer_id, 0, 0),
        is_transactional=producer_id >= 0,
    )
    return payload_batch(base, payload, header)


def written(folder: Path, batches: list[EncodedBatch], high_watermark: int) -> Path:
    segment = Segment(0, batches, has_indexes=False)
    return write_over(folder, [Partition("t", 0, [segment], high_watermark=high_watermark)])


SIZES = ((1, "ab"), (4, "cde"), (5, "f"), (6, "g"), (8, "hi"), (9, "j"))
LEAST_BYTES = 64 << 10


def test_batches_with_a_last_delta_of_zero_give_each_offset_once(
    tmp_path: Path, engine: Engine
) -> None:
    disk = written(tmp_path / "disk", [last_delta_zero(*size) for size in SIZES], 10)
    lake = tmp_path / "lake"
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "1a 2b 4c 5d 6e 8h 9i"
    assert sorted(row["base_offset"] for row in read_table(lake, "quarantine")) == [5, 6, 9]
    assert [row["cause"] for row in read_table(lake, "gaps")] == ["missing"] * 3
    assert kinds(audited(lake)) == {"missing"}


def test_tasks_part_no_batch_from_those_whose_offsets_it_takes(
    tmp_path: Path, engine: Engine
) -> None:
    batches = [last_delta_zero(*size, key=bytes(LEAST_BYTES)) for size in SIZES]
    disk, lake = written(tmp_path / "disk", batches, 10), tmp_path / "lake"
    read = {"split_bytes": LEAST_BYTES, "window_bytes": LEAST_BYTES}
    ingested(disk, lake, engine=engine, read=read)
    assert shown(read_table(lake, "records")) == "1a 2b 4c 5d 6e 8h 9i"
    assert kinds(audited(lake)) == {"missing"}


def test_records_above_the_log_end_are_given_once(tmp_path: Path, engine: Engine) -> None:
    begun = [last_delta_zero(0, "abc")]
    disk, lake = written(tmp_path / "disk", begun, 1), tmp_path / "lake"
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "0a 1b 2c"
    grown = [
        *begun,
        last_delta_zero(1, "de"),
        record_batch(2, [Record(None, b"x"), Record(None, b"y")]),
    ]
    written(disk, grown, 4)
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "0a 1b 2c 3y"
    assert not kinds(audited(lake))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_transactions_give_what_their_markers_say(
    tmp_path: Path, engine: Engine, isolation: str
) -> None:
    batches = [
        last_delta_zero(0, "ab", producer_id=7),
        last_delta_zero(2, "cd", producer_id=8),
        end_marker(4, ControlType.COMMIT, producer_id=7),
        end_marker(5, ControlType.ABORT, producer_id=8),
        record_batch(6, [Record(None, b"e")]),
    ]
    disk, lake = written(tmp_path / "disk", batches, 7), tmp_path / "lake"
    ingested(disk, lake, engine=engine, isolation=isolation)
    aborted = "2c 3d " if isolation == "read_uncommitted" else ""
    assert shown(read_table(lake, "records")) == f"0a 1b {aborted}6e"
    assert kinds(audited(lake)) <= {"missing"}


def test_records_below_their_batch_fill_a_hole_but_no_offset_of_another_batch(
    tmp_path: Path, engine: Engine
) -> None:
    def below(base: int, values: str) -> EncodedBatch:
        """A batch whose base offset is that of its last record."""
        payload = b"".join(
            record_bytes(Record(None, value.encode()), delta, 0)
            for delta, value in enumerate(values, start=1 - len(values))
        )
        return payload_batch(base, payload, Header(last_offset_delta=0, record_count=len(values)))

    markers = [end_marker(5, ControlType.COMMIT, producer_id=7), *plain_batches(6, "ijkl")]
    disk = written(
        tmp_path / "disk", [below(2, "abc"), below(4, "def"), *markers, below(10, "mn")], 11
    )
    lake = tmp_path / "lake"
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "0a 1b 2c 3e 4f 6i 7j 8k 9l 10n"
    assert not kinds(audited(lake))


def plain_batches(base: int, values: str) -> list[EncodedBatch]:
    return [
        record_batch(offset, [Record(None, value.encode())])
        for offset, value in enumerate(values, start=base)
    ]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("last_delta", [3, 5, 900, 2**31 - 1])
def test_batch_that_claims_offsets_of_the_next_one_has_those_of_its_records(
    tmp_path: Path, engine: Engine, place: int, last_delta: int
) -> None:
    batches = log_of(Contradiction(last_offset_delta=last_delta), place)
    disk, lake = written(tmp_path / "disk", batches, 9), tmp_path / "lake"
    ingested(disk, lake, engine=engine)
    assert shown(read_table(lake, "records")) == "0a0 1a1 2a2 3b0 4b1 5b2 6c0 7c1 8c2"
    assert not read_table(lake, "quarantine")
    assert not kinds(audited(lake))
    assert not [check for check in checked(disk, lake) if check.has_problem]


def test_offsets_that_only_a_header_leaves_out_are_not_said_to_be_missing(tmp_path: Path) -> None:
    batches = [last_delta_zero(0, "abc"), last_delta_zero(3, "def"), last_delta_zero(6, "ghi")]
    write_over(tmp_path / "disk", [Partition("orders", 0, [Segment(0, batches)])])
    summary = ingested(tmp_path / "disk", tmp_path / "lake")
    assert (summary.records, summary.gaps, summary.notes) == (9, {}, [])


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_rows_are_the_same_with_each_codec(tmp_path: Path, codec: Codec) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_contradictions(disk, codec)
    ingested(disk, lake)
    rows = by_topic(lake, "records")
    assert {topic: shown(rows[topic]) for topic in EXPECTED} == EXPECTED
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
    found: dict[str, list[Row]] = {}
    for (topic, _), records in printed.records.items():
        found[topic] = [{"offset": each.offset, "value": each.value} for each in records]
    assert (printed.code, {topic: shown(found[topic]) for topic in EXPECTED}) == (3, EXPECTED)


@pytest.mark.spark
def test_the_data_source_gives_the_rows_that_an_ingest_brings(
    tmp_path: Path, spark_session: "SparkSession"
) -> None:
    write_contradictions(tmp_path)
    reader = spark_session.read.format("kafka_segments").option("failOnDataLoss", "false")
    rows = reader.load(str(tmp_path)).select("topic", "offset", "value").collect()
    found: dict[str, list[Row]] = {}
    for topic, offset, value in rows:
        found.setdefault(topic, []).append({"offset": offset, "value": bytes(value)})
    assert {topic: shown(found[topic]) for topic in EXPECTED} == EXPECTED


@pytest.mark.parametrize("last_delta", [1, 5, -1])
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_marker_that_claims_more_offsets_than_it_has_ends_its_transaction(
    last_delta: int, isolation: str, tmp_path: Path
) -> None:
    marker = end_marker(1, ControlType.ABORT, producer_id=7)
    batches = [
        last_delta_zero(0, "a", producer_id=7),
        with_last_delta(marker, last_delta),
        *plain_batches(2, "bcdefgh"),
    ]
    disk, lake = written(tmp_path / "disk", batches, 9), tmp_path / "lake"
    ingested(disk, lake, isolation=isolation)
    aborted = "0a " if isolation == "read_uncommitted" else ""
    assert shown(read_table(lake, "records")) == f"{aborted}2b 3c 4d 5e 6f 7g 8h"
    (control,) = (row for row in read_table(lake, "batches") if row["control_type"] is not None)
    assert (control["base_offset"], control["control_type"]) == (1, "abort")
    assert not kinds(audited(lake))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_an_aborted_batch_that_claims_offsets_of_the_next_hides_none_of_them(
    isolation: str, tmp_path: Path
) -> None:
    aborted = with_last_delta(last_delta_zero(0, "ab", producer_id=7), 4)
    batches = [
        aborted,
        *plain_batches(2, "cde"),
        end_marker(5, ControlType.ABORT, producer_id=7),
        *plain_batches(6, "f"),
    ]
    disk, lake = written(tmp_path / "disk", batches, 7), tmp_path / "lake"
    ingested(disk, lake, isolation=isolation)
    rows = "0a 1b " if isolation == "read_uncommitted" else ""
    assert shown(read_table(lake, "records")) == f"{rows}2c 3d 4e 6f"
    assert not kinds(audited(lake))
    assert not [check for check in checked(disk, lake) if check.has_problem]


def with_last_delta(batch: EncodedBatch, last_delta: int) -> EncodedBatch:
    """The batch with another last offset delta, and the checksum that belongs to it."""
    data = bytearray(batch.data)
    data[23:27] = last_delta.to_bytes(4, "big", signed=True)
    data[17:21] = crc32c.crc32c(bytes(data[21:])).to_bytes(4, "big")
    return batch._replace(data=bytes(data))


@pytest.mark.parametrize("last_delta", [0, 1, -7])
def test_records_above_the_header_of_the_last_batch_are_not_missing_from_the_disk(
    last_delta: int, tmp_path: Path
) -> None:
    disk = written(tmp_path / "disk", log_of(Contradiction(last_offset_delta=last_delta), 2), 9)
    for records in (9, 0):
        summary = ingested(disk, tmp_path / "lake")
        assert (summary.records, summary.findings.not_on_disk, summary.exit_code) == (
            records,
            [],
            0,
        )
