"""Rows of `batches` beside what Kafka's own tool dumps."""

from pathlib import Path

from support.dumps import Dump, DumpBatch
from support.lakes import Row

TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime", -1: "NoTimestampType"}


def as_dumped(row: Row) -> DumpBatch:
    """A row of `batches` as the dump has it: -1 for what there is not, null for old formats."""
    is_v2 = row["magic"] == 2

    def known(name: str) -> int | None:
        return (-1 if row[name] is None else row[name]) if is_v2 else None

    base_sequence = known("base_sequence")
    span = row["last_offset"] - row["base_offset"]
    last_sequence = base_sequence
    if base_sequence is not None and base_sequence >= 0:
        last_sequence = (base_sequence + span) % 2**31
    return DumpBatch(
        file_name=Path(row["segment"]).name,
        position=row["position"],
        size_bytes=row["size_bytes"],
        magic=row["magic"],
        codec=row["codec"],
        crc=row["crc"],
        is_valid=True,
        last_offset=row["last_offset"],
        timestamp_type=TIMESTAMP_TYPES[row["timestamp_type"]],
        max_timestamp_ms=-1 if row["max_timestamp_ms"] is None else row["max_timestamp_ms"],
        base_offset=row["base_offset"] if is_v2 else None,
        record_count=row["record_count"] if is_v2 else None,
        base_sequence=base_sequence,
        last_sequence=last_sequence,
        producer_id=known("producer_id"),
        producer_epoch=known("producer_epoch"),
        leader_epoch=known("leader_epoch"),
        is_transactional=row["is_transactional"] if is_v2 else None,
        is_control=row["is_control"] if is_v2 else None,
        delete_horizon_ms=row["delete_horizon_ms"],
    )


def messages_of(run: Row, expected: list[DumpBatch]) -> list[DumpBatch]:
    """The old messages that one row stands for."""
    stop = run["position"] + run["size_bytes"]
    name = Path(run["segment"]).name
    return [b for b in expected if b.file_name == name and run["position"] <= b.position < stop]


def compare_run(run: Row, messages: list[DumpBatch]) -> None:
    """A row of old messages has what they have together."""
    assert {(message.magic, message.codec, message.timestamp_type) for message in messages} == {
        (run["magic"], "none", TIMESTAMP_TYPES[run["timestamp_type"]])
    }
    assert run["position"] == messages[0].position
    assert run["size_bytes"] == sum(message.size_bytes for message in messages)
    assert run["base_offset"] == messages[0].last_offset
    assert run["last_offset"] == messages[-1].last_offset
    assert run["record_count"] == len(messages)
    newest_ms = max(message.max_timestamp_ms for message in messages)
    assert run["max_timestamp_ms"] == (None if run["magic"] == 0 else newest_ms)


def compare_first_offset(row: Row, dump: Dump) -> None:
    """An old wrapper's header does not tell where it begins; the records in it do."""
    name = Path(row["segment"]).name
    inside = [
        record.offset
        for record in dump.records
        if record.file_name == name and row["base_offset"] <= record.offset <= row["last_offset"]
    ]
    assert row["record_count"] == len(inside)
    if row["magic"] < 2:
        assert row["base_offset"] == inside[0]
