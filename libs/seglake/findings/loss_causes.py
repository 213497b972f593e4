"""Causes why the tables lack offsets of a log, or correctly have no record of them.

This is the only catalogue of causes. Ingest and report count offsets above the ingested ones with
`losses_of_log`. The audit uses only the causes and their texts; it counts offsets itself.
"""

from collections.abc import Mapping, Sequence

from seglake.findings.kinds import FindingKind
from seglake.findings.worded_kinds import WordedKind
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation, StoppedBy
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted, without


class Loss(WordedKind):
    """Reasons why the tables lack offsets of a log, the worst first."""

    MISSING = ("missing", "missing without a known cause")
    QUARANTINED = ("quarantined", "hidden by damaged bytes (quarantined)")
    SUPERSEDED = ("superseded", "of rows that lost an election (run seglake retake)")
    REFUSED = ("refused", "refused")
    LEFT_OUT = ("left_out", "left out")
    NOT_ON_DISK = ("not_on_disk", "not on disk")
    NAMED_ONLY = ("named_only", "of partitions that only the metadata log names")
    UNDECIDED = ("undecided", "of transactions that have not ended")
    REMOTE = (
        "remote",
        "in the remote tier only (run seglake replay --source TIER, with --tiered-key if it is"
        " encrypted)",
    )
    DELETED_OR_LOST = (
        "deleted_or_lost",
        "below the first segment (deleted by retention or lost: no file on the disks says which)",
    )
    NO_HIGH_WATERMARK = ("no_high_watermark", "without a high watermark")
    NEVER_INGESTED = ("never_ingested", "outside the chosen times")
    OPEN_TRANSACTION = ("open_transaction", "waiting for an open transaction")
    HIGH_WATERMARK = ("high_watermark", "above the high watermark")

    @property
    def kind(self) -> FindingKind:
        """Return the kind of finding for offsets with this cause."""
        return FindingKind["WAITING" if self is Loss.HIGH_WATERMARK else self.name]

    @property
    def is_there(self) -> bool:
        """Return whether the offsets are on a disk although no run has ingested them."""
        return self in (
            *(Loss.REFUSED, Loss.LEFT_OUT, Loss.NO_HIGH_WATERMARK, Loss.NEVER_INGESTED),
            *(Loss.OPEN_TRANSACTION, Loss.HIGH_WATERMARK),
        )

    @property
    def waits(self) -> bool:
        """Return whether the next run will ingest the offsets, if the cluster is running."""
        return self in (Loss.OPEN_TRANSACTION, Loss.HIGH_WATERMARK)

    @property
    def verdict(self) -> str:
        """Return a verdict in words: perhaps lost, not recovered yet, or NOT recovered."""
        if self is Loss.DELETED_OR_LOST:
            return "perhaps lost"
        return "not recovered yet" if self.waits else "NOT recovered"


class NoLoss(WordedKind):
    """Cause why it is correct that offsets have no record.

    Offsets that were lost before they expired count, too: retention would have removed their
    records by now, so no copy needs to be searched for them.
    """

    COMPACTED = ("compacted", "compacted")
    ERASED = ("erased", "erased from the lake (seglake erase)")
    EXPIRED = ("expired", "expired (retention of the lake)")
    EXPIRED_LOSS = ("expired_loss", "that had been lost before they expired")
    DELETED = ("deleted", "below the log start (deleted, by the broker's files)")
    MARKER = ("marker", "of damaged transaction markers, which have no record")
    WITHOUT_RECORD = (
        "without_record",
        "in batches that have no record for them (transaction markers, aborted, compacted)",
    )


LOSS_OF_GAP: Mapping[GapCause, Loss] = {
    GapCause.MISSING: Loss.MISSING,
    GapCause.QUARANTINED: Loss.QUARANTINED,
    GapCause.UNDECIDED: Loss.UNDECIDED,
    GapCause.REMOTE: Loss.REMOTE,
    GapCause.DELETED_OR_LOST: Loss.DELETED_OR_LOST,
}
NO_LOSS_OF_GAP: Mapping[GapCause, NoLoss] = {
    GapCause.COMPACTED: NoLoss.COMPACTED,
    GapCause.ERASED: NoLoss.ERASED,
    GapCause.EXPIRED: NoLoss.EXPIRED,
    GapCause.DELETED: NoLoss.DELETED,
    GapCause.MARKER: NoLoss.MARKER,
}
LOSS_ABOVE: Mapping[StoppedBy, Loss] = {
    StoppedBy.LOG_END: Loss.NEVER_INGESTED,
    StoppedBy.TAIL: Loss.NEVER_INGESTED,
    StoppedBy.HIGH_WATERMARK: Loss.HIGH_WATERMARK,
    StoppedBy.NO_HIGH_WATERMARK: Loss.NO_HIGH_WATERMARK,
    StoppedBy.OPEN_TRANSACTION: Loss.OPEN_TRANSACTION,
    StoppedBy.NO_SEGMENT: Loss.NOT_ON_DISK,
    StoppedBy.REFUSED: Loss.REFUSED,
    StoppedBy.UNREAD: Loss.LEFT_OUT,
}
"""Causes of offsets above the ingested ones, by the reason why a run stopped in the log.

A log that lost an election has no such offsets.
"""


KIND_OF_STOP: Mapping[StoppedBy, FindingKind] = {
    StoppedBy.HIGH_WATERMARK: FindingKind.WAITING,
    StoppedBy.NO_HIGH_WATERMARK: FindingKind.NO_HIGH_WATERMARK,
    StoppedBy.OPEN_TRANSACTION: FindingKind.OPEN_TRANSACTION,
    StoppedBy.TAIL: FindingKind.TAIL,
    StoppedBy.LOST_ELECTION: FindingKind.LOST_ELECTION,
    StoppedBy.REFUSED: FindingKind.REFUSED,
    StoppedBy.UNREAD: FindingKind.LEFT_OUT,
}
"""Kinds of findings on a log, by the reason why a run stopped in it."""


UNKNOWN = GapRanges(1, 0, ())
"""Stand-in for lost offsets whose number is unknown."""


def no_loss_of_gaps(offsets: Mapping[GapCause, int], expired_loss: int) -> dict[NoLoss, int]:
    """Return the offsets in gaps that are no loss, by cause; some expired ones had been lost."""
    counts = {kept: offsets[cause] for cause, kept in NO_LOSS_OF_GAP.items() if cause in offsets}
    if expired_loss:
        counts[NoLoss.EXPIRED] -= expired_loss
        counts[NoLoss.EXPIRED_LOSS] = expired_loss
    return {cause: count for cause, count in counts.items() if count}


def losses_of_log(seen: Observation, covered: Sequence[OffsetRange]) -> dict[Loss, GapRanges]:
    """Return the offsets of a log that the lake lacks, by cause.

    Args:
        seen: a run's observation of the log: offsets that the run found, or that files prove.
        covered: the log's merged ranges in the lake.
    """
    proved = [(left.from_offset, left.log_end_offset) for left in seen.not_on_disk]
    found = {Loss.NOT_ON_DISK: without(proved, *covered)}
    start = seen.log_start_offset or 0
    end = seen.log_end_offset if seen.log_end_offset is not None else seen.high_watermark
    frontier = max(start, covered[-1][1] if covered else 0)
    found[Loss.NEVER_INGESTED] = subtracted((start, min(frontier, end or 0)), covered)
    above = LOSS_ABOVE.get(seen.stopped_by)
    if above is not None and end is not None:
        rest = subtracted((frontier, end), merged([*covered, *proved]))
        found[above] = [*found.get(above, ()), *rest]
    result = {loss: GapRanges.of(ranges) for loss, ranges in found.items() if ranges}
    if seen.has_unread_reason and above is not None:
        result.setdefault(above, UNKNOWN)
    return result
