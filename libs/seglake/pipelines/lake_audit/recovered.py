"""Counts from the tables' rows what each partition has and lacks, by cause. Pure.

The words are shared with ingest and report, the counting is not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import StoppedBy
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted, without
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.pipelines.lake_audit.left_logs import lost_ranges
from seglake.pipelines.lake_audit.partition_audit import PartitionAudit
from seglake.pipelines.recovery import (
    LOSS_ABOVE,
    LOSS_OF_GAP,
    NO_LOSS_OF_GAP,
    Loss,
    NoLoss,
    PartitionRecovery,
    Recovery,
)
from seglake.segment_codec.log_dir import parse_folder_name

_WHY_UNREAD = (StoppedBy.REFUSED, StoppedBy.UNREAD)


def recovery_of(
    partitions: Iterable[PartitionAudit],
    seen: Mapping[LakePartition, Row],
    unread: Sequence[Row],
) -> Recovery:
    """Sum up the recovery of all partitions that the tables know.

    Args:
        seen: each partition's newest row of `observations`.
        unread: unread places that name no partition.
    """
    audits = {audit.partition: audit for audit in partitions}
    found = [
        _recovered(partition, audits.get(partition), seen.get(partition))
        for partition in sorted({*audits, *seen}, key=str)
    ]
    found += _absent(unread, {each.name for each in found})
    return Recovery(tuple(found), tuple(row["detail"] for row in unread))


def _recovered(
    partition: LakePartition, audit: PartitionAudit | None, row: Row | None
) -> PartitionRecovery:
    lost: dict[Loss, GapRanges] = {}
    no_loss: dict[NoLoss, int] = {}
    covered: list[OffsetRange] = []
    if audit is not None:
        covered = merged([*audit.covered, *audit.superseded.ranges])
        for cause in GapCause:
            gaps = audit.gaps.get(cause)
            if gaps is not None and cause in LOSS_OF_GAP:
                lost[LOSS_OF_GAP[cause]] = gaps
            if gaps is not None and cause in NO_LOSS_OF_GAP:
                no_loss[NO_LOSS_OF_GAP[cause]] = gaps.offsets
        if audit.superseded.ranges:
            lost[Loss.SUPERSEDED] = _counted(audit.superseded.ranges)
        if without_record := audit.totals.other_span + audit.totals.lacking:
            no_loss[NoLoss.WITHOUT_RECORD] = without_record
    if row is not None:
        lost |= _left(row, covered)
    return PartitionRecovery(
        name=str(partition),
        records=0 if audit is None else audit.totals.records,
        open_records=sum(rows.records for rows in audit.open_transactions) if audit else 0,
        lost=lost,
        no_loss=no_loss,
        tails={} if audit is None else audit.quarantine.tails,
    )


def _left(row: Row, covered: Sequence[OffsetRange]) -> dict[Loss, GapRanges]:
    """Return the offsets that a run saw or proved and the ledger does not cover."""
    ranges: dict[Loss, list[OffsetRange]] = {}
    proved = [offsets for each in lost_ranges(row, covered).values() for offsets in each]
    if proved:
        ranges[Loss.NOT_ON_DISK] = merged(proved)
    start = row["log_start_offset"] or 0
    end = row["high_watermark"] if row["log_end_offset"] is None else row["log_end_offset"]
    highest = max([start, *(stop for _, stop in covered)])
    above = LOSS_ABOVE.get(StoppedBy(row["stopped_by"]))
    for offsets in [] if end is None else subtracted((start, end), covered):
        loss = above if offsets[0] >= highest else Loss.NEVER_INGESTED
        if loss is not None:
            ranges.setdefault(loss, []).extend(without([offsets], *merged(proved)))
    found = {loss: _counted(listed) for loss, listed in ranges.items() if listed}
    if above is not None and row["stopped_by"] in _WHY_UNREAD:
        found.setdefault(above, GapRanges(1, 0, ()))
    return found


def _absent(unread: Iterable[Row], known: set[str]) -> Iterator[PartitionRecovery]:
    """Yield the partitions that are known by an unread folder alone."""
    for row in unread:
        folder = parse_folder_name(row["listing"].rpartition("/")[2])
        name = None if folder is None else f"{folder.topic}-{folder.partition}"
        if name is None or name in known:
            continue
        known.add(name)
        left = row["not_ingested"] or ()
        ranges = [(each["from_offset"], each["log_end_offset"]) for each in left]
        loss = Loss.NOT_ON_DISK if ranges else Loss.LEFT_OUT
        gaps = _counted(ranges) if ranges else GapRanges(1, 0, ())
        yield PartitionRecovery(name=name, records=0, lost={loss: gaps})


def _counted(ranges: Sequence[OffsetRange]) -> GapRanges:
    offsets = sum(stop - start for start, stop in ranges)
    return GapRanges(len(ranges), offsets, tuple(ranges))
