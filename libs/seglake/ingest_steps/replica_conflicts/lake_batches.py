"""Reads the lake's batches as values to compare with a copy's batches. Reads tables."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.lake.parquet_rows import Within
from seglake.lake.tables import BATCHES, RECORDS
from seglake.log_dirs.batch_walk import BatchHead
from seglake.log_tables.current_rows import current_rows
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.segment_codec.formats.message_set import message_checksum
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX

# most uncompressed old messages of a partition; each needs 200 bytes of memory
MOST_MESSAGES = 1 << 20
_BATCH_COLUMNS = (
    *("base_offset", "last_offset", "crc"),
    *("leader_epoch", "record_count", "delete_horizon_ms", "magic"),
)
_RECORD_COLUMNS = ("offset", "key", "value", "timestamp_ms", "timestampType")
_NO_CODEC = "none"
_NO_TIME_MS = -1
_LOG_APPEND_TIME = 1

Rows = list[dict[str, Any]]  # Any: a row's columns have many types


def batches_of(
    ledger: PartitionLedger,
    columns: Sequence[str],
    context: RunContext,
    only: Sequence[Within] = (),
) -> Rows:
    """Return a partition's rows of `batches` that lost no election.

    Args:
        ledger: the partition's ledger.
        columns: columns to read.
        context: the run.
        only: conditions that a row must meet.
    """
    found = current_rows(ledger, context.tables, context.source_id, BATCHES, columns, only)
    return [row for rows in found for row in rows.to_pylist()]


def lake_batches(
    ledger: PartitionLedger, offsets: OffsetRange, context: RunContext
) -> tuple[BatchHead, ...]:
    """Return the lake's batches of magic 2 in a range.

    Batches of older formats are omitted because they have no leader epoch.
    """
    start, stop = offsets
    inside = [Within("base_offset", at_most=stop - 1), Within("last_offset", at_least=start)]
    rows = batches_of(ledger, _BATCH_COLUMNS, context, inside)
    return tuple(sorted(_head(row) for row in rows if row["magic"] == 2))


def _head(row: dict[str, Any]) -> BatchHead:
    """Convert a `batches` row to a batch to compare: of magic 2, or a compressed message."""
    is_full = row["record_count"] == row["last_offset"] - row["base_offset"] + 1
    return BatchHead(
        first_offset=row["base_offset"],
        last_offset=row["last_offset"],
        crc=row["crc"],
        leader_epoch=row["leader_epoch"],
        is_dense=is_full and row["delete_horizon_ms"] is None,
        magic=row["magic"],
        codec_id=0 if row["magic"] == 2 else 1,
        record_count=row["record_count"],
        position=0,
        size_bytes=0,
    )


def every_lake_batch(ledger: PartitionLedger, context: RunContext) -> tuple[BatchHead, ...] | None:
    """Return the lake's batches of all formats, with one entry for each uncompressed old message.

    The result is None if there are more than MOST_MESSAGES uncompressed old messages.
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
    heads = [_head(row) for row in old if row["codec"] != _NO_CODEC]
    heads += _messages(plain, ledger, context) if plain else ()
    return tuple(sorted([*heads, *lake_batches(ledger, (0, OFFSET_MAX), context)]))


def _messages(
    plain: Sequence[tuple[int, int, int]], ledger: PartitionLedger, context: RunContext
) -> Iterator[BatchHead]:
    """Yield the uncompressed old messages in the rows of `records`, in no order.

    Args:
        plain: (first offset, last offset, magic) of the rows of `batches`, in order.
        ledger: the partition's ledger.
        context: the run.
    """
    found = current_rows(ledger, context.tables, context.source_id, RECORDS, _RECORD_COLUMNS)
    for row in (row for rows in found for row in rows.to_pylist()):
        index = bisect_right(plain, (row["offset"], OFFSET_MAX, 2)) - 1
        if index >= 0 and row["offset"] <= plain[index][1]:
            yield _message(row, plain[index][2])


def _message(row: dict[str, Any], magic: int) -> BatchHead:
    is_append_time = row["timestampType"] == _LOG_APPEND_TIME
    time_ms = _NO_TIME_MS if row["timestamp_ms"] is None else row["timestamp_ms"]
    crc = message_checksum(magic, row["key"], row["value"], time_ms, is_append_time=is_append_time)
    offset = row["offset"]
    return BatchHead(offset, offset, crc, None, True, magic, 0, 1, 0, 0)
