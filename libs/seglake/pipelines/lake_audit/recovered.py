"""Counts each partition's recovered and lost offsets from the tables' rows, by cause.

Ingest and report use the same texts for the causes, but count offsets separately.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from seglake.findings.loss_causes import (
    LOSS_ABOVE,
    LOSS_OF_GAP,
    UNKNOWN,
    Loss,
    NoLoss,
    no_loss_of_gaps,
)
from seglake.findings.recovery import PartitionRecovery, Recovery
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import StoppedBy
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted, without
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.pipelines.lake_audit.left_logs import (
    NAMED_ONLY,
    is_on_disk,
    lost_by_reason,
    partition_of,
)
from seglake.pipelines.lake_audit.partition_audit import PartitionAudit

_WHY_UNREAD = (StoppedBy.REFUSED, StoppedBy.UNREAD)


def recovery_of(
    partitions: Iterable[PartitionAudit],
    seen: Mapping[LakePartition, Row],
    unread: Sequence[Row],
) -> Recovery:
    """Return the recovery of all partitions in the tables.

    Args:
        partitions: audits of the ingested partitions.
        seen: each partition's newest row of `observations`.
        unread: unread folders and files outside of surveyed logs, with the ranges that the lake
            lacks.
    """
    audits = {audit.partition: audit for audit in partitions}
    files: dict[tuple[str, str | None], list[OffsetRange]] = {}
    for each in filter(is_on_disk, unread):
        files.setdefault((each["source_id"], partition_of(each)), []).extend(each["ranges"])
    found = [
        _recovered(
            partition,
            audits.get(partition),
            seen.get(partition),
            merged(files.get((partition.source_id, str(partition)), ())),
        )
        for partition in sorted({*audits, *seen}, key=str)
    ]
    found += _absent(unread, {each.name for each in found})
    places = (row["detail"] for row in unread if not row["detail"].startswith(NAMED_ONLY))
    return Recovery(tuple(found), tuple(places))


def _recovered(
    partition: LakePartition,
    audit: PartitionAudit | None,
    row: Row | None,
    files: Sequence[OffsetRange],
) -> PartitionRecovery:
    lost: dict[Loss, GapRanges] = {}
    no_loss: dict[NoLoss, int] = {}
    covered: list[OffsetRange] = []
    if audit is not None:
        covered = merged([*audit.covered, *audit.superseded.ranges])
        gaps = {cause: audit.gaps[cause] for cause in GapCause if cause in audit.gaps}
        lost |= {LOSS_OF_GAP[cause]: own for cause, own in gaps.items() if cause in LOSS_OF_GAP}
        offsets = {cause: own.offsets for cause, own in gaps.items()}
        no_loss = no_loss_of_gaps(offsets, audit.expired_loss)
        if audit.superseded.ranges:
            lost[Loss.SUPERSEDED] = GapRanges.of(audit.superseded.ranges)
        if without_record := audit.totals.other_span + audit.totals.lacking:
            no_loss[NoLoss.WITHOUT_RECORD] = without_record
    if row is not None:
        lost |= _left(row, covered, files)
    elif files:
        lost[Loss.LEFT_OUT] = GapRanges.of(files)
    return PartitionRecovery(
        name=str(partition),
        records=0 if audit is None else audit.totals.records,
        open_records=sum(rows.records for rows in audit.open_transactions) if audit else 0,
        lost=lost,
        no_loss=no_loss,
        tails={} if audit is None else audit.quarantine.tails,
    )


def _left(
    row: Row, covered: Sequence[OffsetRange], files: Sequence[OffsetRange]
) -> dict[Loss, GapRanges]:
    """Return offsets that a run found, or that are proved, and that the lake lacks, by cause.

    Args:
        row: the partition's newest row of `observations`.
        covered: its merged ranges in the ledger.
        files: merged offsets in unread files.
    """
    ranges: dict[Loss, list[OffsetRange]] = {}
    proved = [offsets for each in lost_by_reason(row, covered).values() for offsets in each]
    if proved:
        ranges[Loss.NOT_ON_DISK] = merged(proved)
    start = row["log_start_offset"] or 0
    end = row["high_watermark"] if row["log_end_offset"] is None else row["log_end_offset"]
    highest = max([start, *(stop for _, stop in covered)])
    above = LOSS_ABOVE.get(StoppedBy(row["stopped_by"]))
    for offsets in [] if end is None else subtracted((start, end), covered):
        loss = above if offsets[0] >= highest else Loss.NEVER_INGESTED
        if loss is not None:
            ranges.setdefault(loss, []).extend(without([offsets], *merged([*proved, *files])))
    if files:
        ranges[Loss.LEFT_OUT] = merged([*ranges.get(Loss.LEFT_OUT, ()), *files])
    found = {loss: GapRanges.of(listed) for loss, listed in ranges.items() if listed}
    if above is not None and row["stopped_by"] in _WHY_UNREAD:
        found.setdefault(above, UNKNOWN)
    return found


def _absent(unread: Iterable[Row], known: set[str]) -> Iterator[PartitionRecovery]:
    """Yield the partitions that only an unread folder or the metadata log names."""
    for row in unread:
        name, is_named_only = partition_of(row), row["detail"].startswith(NAMED_ONLY)
        is_folder = name is not None and row["listing"].endswith(f"/{name}")
        if name is None or not is_folder or (name in known and not is_named_only):
            continue
        known.add(name)
        gaps = GapRanges.of(row["ranges"]) if row["ranges"] else UNKNOWN
        loss = Loss.LEFT_OUT if is_on_disk(row) else Loss.NOT_ON_DISK
        loss = Loss.NAMED_ONLY if is_named_only else loss
        yield PartitionRecovery(name=name, records=0, lost={loss: gaps})
