"""Plans the rows that expire from one partition, and makes ledger rows for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from seglake.findings.loss_causes import LOSS_OF_GAP
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.removed_rows import RowChoice
from seglake.lake.removed_sums import RemovedSums
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.ledger_layers import (
    FILLS,
    INGESTED,
    REMOVALS,
    RangeKind,
    commit_name,
    empty_row,
    removed_generation,
)
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.pipelines.lake_maintenance.expiry_borders import Young

Row = Mapping[str, Any]  # Any: the ledger's columns have many types

_OF_THE_LOG = (
    *("log_start_offset", "high_watermark", "last_stable_offset", "log_end_offset"),
    *("isolation", "upper_bound"),
)
_SUMS = ("records", "offset_sum", "key_bytes", "value_bytes")


class Block(NamedTuple):
    """Overlapping ranges of one commit; the ledger states only their common sums."""

    generation: int
    offsets: OffsetRange
    rows: tuple[Row, ...]


class BatchSums(NamedTuple):
    """Number and bytes of batches, and of damaged spans."""

    batches: int = 0
    bytes: int = 0
    spans: int = 0


class Part(NamedTuple):
    """Expiring rows of one commit: a part of a block, on one side of each election.

    Attributes:
        choice: the rows in `records`.
        sums: sums of the rows according to the ledger; None if only a part of the block expires,
            whose sums the ledger does not state.
    """

    offsets: OffsetRange
    choice: RowChoice
    sums: RemovedSums | None


class PartitionExpiry(NamedTuple):
    """Planned expiry of one partition.

    Attributes:
        offsets: the range that expires.
        held_by: the record or the range at which the expiry stops; None for the log's end.
        parts: the rows that expire, by commit.
        holes: offsets that no run has ingested, and that later runs must not ingest.
        lost: gaps in the range whose offsets were lost before they expired.
    """

    log: PartitionLedger
    offsets: OffsetRange
    held_by: Young | None
    parts: tuple[Part, ...]
    holes: tuple[OffsetRange, ...]
    lost: tuple[CurrentGap, ...]

    @property
    def key(self) -> PartitionKey:
        """Return the key of the partition."""
        return self.log.key

    @property
    def gaps(self) -> Iterator[tuple[OffsetRange, str | None]]:
        """Yield gaps of the expired range with the cause of an earlier loss; None without one."""
        yield from ((gap.offsets, str(gap.cause)) for gap in self.lost)
        rest = subtracted(self.offsets, merged(gap.offsets for gap in self.lost))
        yield from ((offsets, None) for offsets in rest)

    @property
    def oldest_ms(self) -> int | None:
        """Return the smallest time of the touched ranges, in ms since 1970; None if unknown."""
        times = [
            row["min_timestamp_ms"]
            for block in blocks_of(self.log)
            for row in block.rows
            if block.offsets[0] < self.offsets[1] and self.offsets[0] < block.offsets[1]
        ]
        return min((time for time in times if time is not None), default=None)


def topic_ids_of(log: PartitionLedger) -> tuple[str | None, ...]:
    """Return the topic ids that rows of a partition may have."""
    return (log.key.topic_id, None) if log.owns_unnamed else (log.key.topic_id,)


def planned(
    log: PartitionLedger,
    source_id: str,
    border: int,
    held_by: Young | None,
    gaps: Iterable[CurrentGap],
) -> PartitionExpiry:
    """Return the plan to remove all rows of a partition below an offset.

    Args:
        log: the partition.
        source_id: the cluster.
        border: the offset; no batch and no gap crosses it.
        held_by: the record at which the expiry stops; None for the log's end.
        gaps: current gaps of the partition that another copy could fill.
    """
    start = log.expired_to
    offsets = start, border
    parts = [
        part
        for block in blocks_of(log)
        if block.offsets[0] < border and start < block.offsets[1]
        for part in _parts(block, log, source_id, offsets)
    ]
    holes = subtracted(offsets, log.covered)
    lost = [gap for gap in gaps if gap.cause in LOSS_OF_GAP and start <= gap.start_offset < border]
    return PartitionExpiry(log, offsets, held_by, tuple(parts), tuple(holes), tuple(lost))


def blocks_of(log: PartitionLedger) -> list[Block]:
    """Return the blocks of a partition: ranges of one commit are joined if they overlap."""
    adding = [
        row
        for row in log.rows
        if row["kind"] in (*INGESTED, *FILLS) and row["start_offset"] < row["next_offset"]
    ]
    blocks: list[Block] = []
    for row in sorted(adding, key=lambda row: (row["generation"], *_range(row))):
        last = blocks[-1] if blocks else None
        if (
            last is not None
            and last.generation == row["generation"]
            and row["start_offset"] < last.offsets[1]
        ):
            joined = last.offsets[0], max(last.offsets[1], row["next_offset"])
            blocks[-1] = Block(last.generation, joined, (*last.rows, row))
        else:
            blocks.append(Block(row["generation"], _range(row), (row,)))
    return blocks


def _parts(
    block: Block, log: PartitionLedger, source_id: str, expiring: OffsetRange
) -> Iterator[Part]:
    """Yield the parts of a block that expire."""
    first, last = max(block.offsets[0], expiring[0]), min(block.offsets[1], expiring[1])
    edges = {
        edge
        for row in log.rows
        if row["kind"] == RangeKind.SUPERSEDED and row["generation"] > block.generation
        for edge in _range(row)
        if block.offsets[0] < edge < block.offsets[1]
    }
    is_whole = not edges and block.offsets[1] <= expiring[1]
    inside = sorted(edge for edge in edges if first < edge < last)
    for offsets in zip([first, *inside], [*inside, last], strict=True):
        choice = RowChoice(
            source_id=source_id,
            topic=log.key.topic,
            topic_ids=topic_ids_of(log),
            partition=log.key.partition,
            ranges=(offsets,),
            generation=block.generation,
        )
        yield Part(offsets, choice, _left(block, log) if is_whole else None)


def _left(block: Block, log: PartitionLedger) -> RemovedSums:
    """Return the sums over a block's rows that have not expired yet, by the ledger."""
    removed = [
        row
        for row in log.rows
        if row["kind"] in REMOVALS
        and removed_generation(row) == block.generation
        and block.offsets[0] <= row["start_offset"] < block.offsets[1]
    ]
    return RemovedSums(*(int(_total(block.rows, name) - _total(removed, name)) for name in _SUMS))


# Any: a row's columns have many types.
def ledger_rows(
    plan: PartitionExpiry, removed: Mapping[RowChoice, RemovedSums], batches: Sequence[BatchSums]
) -> Iterator[dict[str, Any]]:
    """Yield the ledger's rows of an expiry; the columns of its commit are added later."""
    yield empty_row(RangeKind.EXPIRED, plan.offsets) | {"upper_bound": None}
    for part, own in zip(plan.parts, batches, strict=True):
        sums = removed.get(part.choice, RemovedSums()) if part.sums is None else part.sums
        yield empty_row(RangeKind.EXPIRED, part.offsets) | {
            "records": sums.records,
            "offset_sum": Decimal(sums.offset_sum),
            "key_bytes": sums.key_bytes,
            "value_bytes": sums.value_bytes,
            "batches": own.batches,
            "bytes": own.bytes,
            "quarantined_batches": own.spans,
            "upper_bound": commit_name(part.choice.generation or 0),
        }
    ingested = [row for row in plan.log.rows if row["kind"] in INGESTED]
    for hole in plan.holes:
        yield empty_row(RangeKind.INGEST, hole) | {name: ingested[-1][name] for name in _OF_THE_LOG}


def _range(row: Row) -> OffsetRange:
    return row["start_offset"], row["next_offset"]


def _total(rows: Iterable[Row], name: str) -> Decimal:
    return sum((Decimal(row[name] or 0) for row in rows), Decimal(0))
