"""Batches of the lake, as heads to compare a copy with. Effect: reads tables."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.lake.parquet_rows import Within, read_rows
from seglake.lake.snapshots import read_snapshots
from seglake.lake.tables import BATCHES, RECORDS
from seglake.log_dirs.batch_walk import BatchHead
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.segment_codec.formats.message_set import message_checksum
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX

MOST_MESSAGES = 1 << 20  # plain messages of one partition that are held in memory, 200 bytes each
_BATCH_COLUMNS = (
    *("topic_id", "partition", "base_offset", "last_offset", "crc"),
    *("leader_epoch", "record_count", "delete_horizon_ms", "magic", "generation"),
)
_RECORD_COLUMNS = (
    *("source_id", "topic_id", "partition", "offset", "key", "value"),
    *("timestamp_ms", "timestampType", "generation"),
)
_NO_CODEC = "none"
_NO_TIME_MS = -1
_LOG_APPEND_TIME = 1

Rows = list[dict[str, Any]]  # Any: the columns of a row have many types


def batches_of(
    ledger: PartitionLedger,
    columns: Sequence[str],
    context: RunContext,
    *,
    pruned_by: Sequence[tuple[str, str, int]] = (),
) -> Rows:
    """Return the rows of `batches` of a partition that no election went against.

    Args:
        pruned_by: as of `LakeTables.rows`.
    """
    rows = context.tables.rows(
        BATCHES,
        context.source_id,
        columns,
        topic=ledger.key.topic,
        pruned_by=[("partition", "=", ledger.key.partition), *pruned_by],
    ).to_pylist()
    return [
        row
        for row in rows
        if ledger.owns(row) and ledger.is_current(row["base_offset"], row["generation"])
    ]


def lake_batches(
    ledger: PartitionLedger, offsets: OffsetRange, context: RunContext
) -> tuple[BatchHead, ...]:
    """Return the lake's batches of magic 2 in a range; older formats have no leader epoch."""
    start, stop = offsets
    inside = [("base_offset", "<", stop), ("last_offset", ">=", start)]
    rows = batches_of(ledger, _BATCH_COLUMNS, context, pruned_by=inside)
    heads = [
        BatchHead(
            first_offset=row["base_offset"],
            last_offset=row["last_offset"],
            crc=row["crc"],
            leader_epoch=row["leader_epoch"],
            is_dense=row["record_count"] == row["last_offset"] - row["base_offset"] + 1
            and row["delete_horizon_ms"] is None,
            magic=2,
            codec_id=0,
            record_count=row["record_count"],
            position=0,
            size_bytes=0,
        )
        for row in rows
        if row["magic"] == 2 and row["base_offset"] < stop and row["last_offset"] >= start
    ]
    return tuple(sorted(heads))


def every_lake_batch(ledger: PartitionLedger, context: RunContext) -> tuple[BatchHead, ...] | None:
    """Return the lake's batches of all formats, plain messages of old ones each.

    None if there are more than MOST_MESSAGES of these.
    """
    rows = batches_of(ledger, (*_BATCH_COLUMNS, "codec"), context)
    old = [row for row in rows if row["magic"] < 2]
    plain = sorted(
        (row["base_offset"], row["last_offset"], row["magic"])
        for row in old
        if row["codec"] == _NO_CODEC
    )
    if sum(last - base + 1 for base, last, _ in plain) > MOST_MESSAGES:
        return None
    heads = [_wrapper(row) for row in old if row["codec"] != _NO_CODEC]
    heads += _messages(plain, ledger, context) if plain else ()
    return tuple(sorted([*heads, *lake_batches(ledger, (0, OFFSET_MAX), context)]))


def _wrapper(row: dict[str, Any]) -> BatchHead:
    return BatchHead(
        first_offset=row["base_offset"],
        last_offset=row["last_offset"],
        crc=row["crc"],
        leader_epoch=None,
        is_dense=row["record_count"] == row["last_offset"] - row["base_offset"] + 1,
        magic=row["magic"],
        codec_id=1,
        record_count=row["record_count"],
        position=0,
        size_bytes=0,
    )


def _messages(
    plain: Sequence[tuple[int, int, int]], ledger: PartitionLedger, context: RunContext
) -> Iterator[BatchHead]:
    """Yield the plain messages in the rows of `records`, unordered.

    Args:
        plain: first offset, last offset and magic of the rows of `batches`, in order.
    """
    tables, key = context.tables, ledger.key
    only = (Within("partition", key.partition, key.partition),)
    files = read_snapshots(tables, [RECORDS])[RECORDS.name].files
    for path in [file.path for file in files if file.topic == key.topic and file.may_hold(only)]:
        for rows in read_rows(tables.storage, path, _RECORD_COLUMNS, only):
            for row in rows.to_pylist():
                offset = row["offset"]
                index = bisect_right(plain, (offset, OFFSET_MAX, 2)) - 1
                is_plain = index >= 0 and offset <= plain[index][1]
                is_own = row["source_id"] == context.source_id and ledger.owns(row)
                if is_plain and is_own and ledger.is_current(offset, row["generation"]):
                    yield _message(row, plain[index][2])


def _message(row: dict[str, Any], magic: int) -> BatchHead:
    is_append_time = row["timestampType"] == _LOG_APPEND_TIME
    time_ms = _NO_TIME_MS if row["timestamp_ms"] is None else row["timestamp_ms"]
    crc = message_checksum(magic, row["key"], row["value"], time_ms, is_append_time=is_append_time)
    offset = row["offset"]
    return BatchHead(offset, offset, crc, None, True, magic, 0, 1, 0, 0)
