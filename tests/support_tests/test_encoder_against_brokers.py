"""Given what the oracles know of a batch, the encoder gives the very bytes of the broker."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support import broker_disks, oracle
from support.dumps import Dump, DumpBatch
from support.encoder import (
    Aborted,
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    OffsetEntry,
    Producer,
    ProducerEntry,
    Record,
    TimeEntry,
    compressed,
    end_marker,
    index_entries,
    message,
    offset_index,
    producer_snapshot,
    record_batch,
    time_index,
    transaction_index,
    wrapper,
)
from support.oracle import OracleRecord

MAGIC_2_HEADER_BYTES = 61
WRAPPER_VALUE_POSITIONS = {0: 26, 1: 34}


class Found(NamedTuple):
    """A batch on disk, with what Kafka said about it."""

    batch: DumpBatch
    data: bytes
    records: list[Record]


def _found(scenario: str, copy: str) -> Iterator[Found]:
    """All batches of a copy whose records the oracles know whole."""
    for facts in broker_disks.partitions(scenario, copy):
        place = (scenario, copy, facts.topic, facts.partition)
        known = {record.offset: record for record in oracle.expected_records(*place)}
        dump = oracle.partition_dump(*place)
        folder = broker_disks.log_dir(scenario, copy) / f"{facts.topic}-{facts.partition}"
        for batch in dump.batches:
            offsets = _offsets(dump, batch)
            if all(offset in known and _is_whole(known[offset]) for offset in offsets):
                content = (folder / batch.file_name).read_bytes()
                data = content[batch.position : batch.position + batch.size_bytes]
                yield Found(batch, data, [_record(known[offset]) for offset in offsets])


def _offsets(dump: Dump, batch: DumpBatch) -> list[int]:
    """Offsets of the records of a batch: the dump lists them between this batch and the next."""
    following = [b.last_offset for b in dump.batches_of(batch.file_name)]
    before = max((last for last in following if last < batch.last_offset), default=-1)
    return [
        record.offset
        for record in dump.records
        if record.file_name == batch.file_name and before < record.offset <= batch.last_offset
    ]


def _is_whole(record: OracleRecord) -> bool:
    return not isinstance(record.value, oracle.LargeValue)


def _record(record: OracleRecord) -> Record:
    assert not isinstance(record.value, oracle.LargeValue)
    return Record(record.key, record.value, record.timestamp_ms, record.headers, record.offset)


def _encoded(found: Found) -> EncodedBatch:
    batch = found.batch
    assert batch.base_offset is not None
    assert batch.producer_id is not None
    assert batch.producer_epoch is not None
    assert batch.base_sequence is not None
    header = Header(
        leader_epoch=batch.leader_epoch or 0,
        producer=Producer(batch.producer_id, batch.producer_epoch, batch.base_sequence),
        is_transactional=bool(batch.is_transactional),
        is_control=bool(batch.is_control),
        delete_horizon_ms=batch.delete_horizon_ms,
        last_offset_delta=batch.last_offset - batch.base_offset,
        max_timestamp_ms=batch.max_timestamp_ms,
    )
    return record_batch(batch.base_offset, found.records, header)


@pytest.mark.parametrize(
    ("scenario", "copy", "at_least"),
    [
        ("00_worked_examples", "stopped", 5),
        ("03_v2_codecs", "stopped", 80),
        ("05_compacted", "after", 50),
        ("06_transactions", "live", 50),
    ],
)
def test_plain_record_batches_are_the_brokers(scenario: str, copy: str, at_least: int) -> None:
    compared = 0
    for found in _found(scenario, copy):
        batch = found.batch
        is_create_time = batch.timestamp_type == "CreateTime"
        if batch.magic == 2 and batch.codec == "none" and is_create_time and not batch.is_control:
            assert _encoded(found).data == found.data, batch
            compared += 1
    assert compared >= at_least


@pytest.mark.parametrize("scenario", ["01_v0_codecs", "02_v1_codecs"])
def test_plain_messages_are_the_brokers(scenario: str) -> None:
    compared = 0
    for found in _found(scenario, "stopped"):
        batch = found.batch
        if batch.codec == "none":
            is_append_time = batch.timestamp_type == "LogAppendTime"
            append_time_ms = batch.max_timestamp_ms if is_append_time else None
            made = message(
                batch.last_offset, found.records[0], batch.magic, log_append_time_ms=append_time_ms
            )
            assert made.data == found.data, batch
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("scenario", ["01_v0_codecs", "02_v1_codecs"])
def test_wrappers_hold_the_messages_of_the_brokers(scenario: str) -> None:
    compared = 0
    for found in _found(scenario, "stopped"):
        batch = found.batch
        if batch.codec == "gzip" and batch.timestamp_type != "LogAppendTime":
            first = found.records[0].offset
            assert first is not None
            made = wrapper(first, found.records, batch.magic, Codec.GZIP)
            value = WRAPPER_VALUE_POSITIONS[batch.magic]
            assert zlib.decompress(made.data[value:], wbits=31) == zlib.decompress(
                found.data[value:], wbits=31
            )
            assert made.data[:8] == found.data[:8]
            assert made.data[16 : value - 4] == found.data[16 : value - 4]
            assert made.max_timestamp_ms == batch.max_timestamp_ms
            compared += 1
    assert compared > 10


def test_gzip_batches_hold_the_records_of_the_brokers() -> None:
    compared = 0
    for found in _found("03_v2_codecs", "stopped"):
        batch = found.batch
        if batch.codec == "gzip" and batch.timestamp_type == "CreateTime":
            plain = _encoded(found).data[MAGIC_2_HEADER_BYTES:]
            assert zlib.decompress(found.data[MAGIC_2_HEADER_BYTES:], wbits=31) == plain
            compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("scenario", "topic", "magic", "codec", "framing_bytes"),
    [
        ("01_v0_codecs", "v0-lz4", 0, Codec.LZ4, 7),
        ("02_v1_codecs", "v1-lz4-ct", 1, Codec.LZ4, 7),
        ("02_v1_codecs", "v1-snappy-ct", 1, Codec.SNAPPY, 16),
    ],
)
def test_framing_is_the_brokers(
    scenario: str, topic: str, magic: int, codec: Codec, framing_bytes: int
) -> None:
    folder = broker_disks.log_dir(scenario, "stopped") / f"{topic}-0"
    start = WRAPPER_VALUE_POSITIONS[magic]
    content = next(iter(sorted(folder.glob("*.log")))).read_bytes()
    made = compressed(b"any", codec, lz4_header_is_broken=magic == 0)
    assert made[:framing_bytes] == content[start : start + framing_bytes]


def test_markers_are_the_brokers() -> None:
    folder = broker_disks.log_dir("06_transactions", "live") / "tx-a-0"
    dump = oracle.partition_dump("06_transactions", "live", "tx-a", 0)
    markers = {record.offset: record for record in dump.records if record.marker}
    for batch in [batch for batch in dump.batches if batch.is_control]:
        record = markers[batch.last_offset]
        assert batch.producer_id is not None
        assert batch.producer_epoch is not None
        made = end_marker(
            batch.last_offset,
            ControlType[record.marker or ""],
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            coordinator_epoch=record.coordinator_epoch or 0,
            timestamp_ms=record.timestamp_ms,
        )
        content = (folder / batch.file_name).read_bytes()
        assert made.data == content[batch.position : batch.position + batch.size_bytes]


def _index_files(folder: Path, extension: str) -> list[Path]:
    return sorted(folder.glob(f"*.{extension}"))


def test_side_files_are_the_brokers() -> None:
    folder = broker_disks.log_dir("06_transactions", "stopped") / "tx-a-0"
    dump = oracle.partition_dump("06_transactions", "stopped", "tx-a", 0)
    for path in _index_files(folder, "index"):
        offsets = [
            OffsetEntry(*entry[1:]) for entry in dump.offset_entries if entry[0] == path.name
        ]
        assert offset_index(int(path.stem), offsets) == path.read_bytes()
    for path in _index_files(folder, "timeindex"):
        times = [TimeEntry(*entry[1:]) for entry in dump.time_entries if entry[0] == path.name]
        assert time_index(int(path.stem), times) == path.read_bytes()
    for path in _index_files(folder, "txnindex"):
        aborted = [Aborted(*e[2:]) for e in dump.aborted_transactions if e[0] == path.name]
        assert transaction_index(aborted) == path.read_bytes()
    snapshots = _index_files(folder, "snapshot")
    assert snapshots
    for path in snapshots:
        states = [
            ProducerEntry(
                producer_id=state.producer_id,
                epoch=state.producer_epoch,
                last_sequence=-1 if state.last_sequence is None else state.last_sequence,
                last_offset=-1 if state.last_offset is None else state.last_offset,
                offset_delta=state.offset_delta or 0,
                timestamp_ms=state.last_timestamp_ms,
                coordinator_epoch=state.coordinator_epoch,
                open_transaction_first_offset=-1
                if state.current_transaction_first_offset is None
                else state.current_transaction_first_offset,
            )
            for state in dump.producers
            if state.file_name == path.name
        ]
        assert producer_snapshot(states) == path.read_bytes()


@pytest.mark.parametrize(
    ("scenario", "topic", "interval_bytes"),
    [
        ("02_v1_codecs", "v1-none-ct", 648),
        ("02_v1_codecs", "v1-gzip-ct", 548),
        ("03_v2_codecs", "v2-none", 892),
        ("03_v2_codecs", "v2-gzip", 876),
        ("06_transactions", "tx-a", 500),
    ],
)
def test_indexes_are_built_as_the_broker_builds_them(
    scenario: str, topic: str, interval_bytes: int
) -> None:
    folder = broker_disks.log_dir(scenario, "stopped") / f"{topic}-0"
    dump = oracle.partition_dump(scenario, "stopped", topic, 0)
    for path in sorted(folder.glob("*.log")):
        batches = [
            EncodedBatch(bytes(b.size_bytes), b.base_offset or 0, b.last_offset, b.max_timestamp_ms)
            for b in dump.batches_of(path.name)
        ]
        base_offset = int(path.stem)
        offsets, times = index_entries(base_offset, batches, interval_bytes)
        assert offset_index(base_offset, offsets) == path.with_suffix(".index").read_bytes()
        assert time_index(base_offset, times) == path.with_suffix(".timeindex").read_bytes()
