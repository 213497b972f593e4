"""Finds the range of a partition's log to ingest, and the reason for its end."""

from collections.abc import Sequence
from typing import NamedTuple

from seglake.kafka_log.log_starts import UndeletedStart, undeleted_start
from seglake.kafka_log.read_policy import Isolation, ReadPolicy, UpperBound
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.segment_survey import SegmentSurvey
from seglake.kafka_log.transaction_markers import Marker, OpenTransaction
from seglake.kafka_log.transactions.hanging_transactions import is_hanging
from seglake.kafka_log.transactions.replica_evidence import ReplicaEvidence
from seglake.kafka_log.transactions.transaction_outcomes import UnknownOutcome, transactions_of


class LogBounds(NamedTuple):
    """Offsets that bound a log; upper bounds are exclusive, as in Kafka.

    Attributes:
        remote_offset: [remote_offset, log_start_offset) is only in the remote tier. Without such a
            range, it equals the log start.
        next_offset: upper bound of this run: high watermark or log end. In read_committed, a run
            stops at the first offset of a transaction that it waits for.
        high_watermark: high watermark in the checkpoint file; None if the file does not have it.
        last_stable_offset: Kafka's last stable offset, at most the high watermark. No transaction
            below it is open, not even a hanging one.
        open_transactions: transactions without a marker, the oldest first.
        markers: all markers below the high watermark or log end, sorted by offset.
        notes: sentences to show in the run's summary.
        passed: open transactions for which this run does not wait.
        newest_ms: newest timestamp of the surveyed batches, in ms since 1970; None if unknown.
        unknown_outcomes: transactions whose markers may be in damaged bytes.
        undeleted: offsets below the first segment without proof that Kafka deleted them; None if
            there are none.
    """

    log_start_offset: int
    remote_offset: int
    next_offset: int
    high_watermark: int | None
    last_stable_offset: int
    log_end_offset: int
    open_transactions: tuple[OpenTransaction, ...]
    markers: tuple[Marker, ...]
    notes: tuple[str, ...]
    passed: tuple[OpenTransaction, ...] = ()
    newest_ms: int | None = None
    unknown_outcomes: tuple[UnknownOutcome, ...] = ()
    undeleted: UndeletedStart | None = None


def bounds_of(
    replica: Replica,
    surveys: Sequence[SegmentSurvey],
    policy: ReadPolicy,
    evidence: Sequence[ReplicaEvidence] = (),
) -> LogBounds:
    """Return the bounds of one replica's log.

    Args:
        replica: the replica to read, with its checkpoints.
        surveys: surveys of its last segments, in order of offsets.
        policy: rules for the upper bound and for open transactions.
        evidence: markers and transactional data of other copies, for ranges damaged in this one.
    """
    notes: list[str] = []
    log_end = _log_end(replica, surveys)
    log_start = log_start_of(replica, log_end, notes)
    upper = _upper_bound(replica, log_start, log_end, policy.upper_bound)
    high_watermark = replica.checkpoints.high_watermark
    committed = upper if high_watermark is None else high_watermark
    transactions = transactions_of(replica, surveys, upper, evidence)
    newest_ms = max(
        (survey.newest_ms for survey in surveys if survey.newest_ms is not None), default=None
    )
    passed: list[OpenTransaction] = []
    waiting: list[OpenTransaction] = []
    if policy.isolation is Isolation.READ_COMMITTED:
        waits_for_none = policy.upper_bound is UpperBound.LOG_END
        for transaction in transactions.open:
            is_passed = waits_for_none or is_hanging(
                transaction, newest_ms, policy.hanging_after_ms
            )
            (passed if is_passed else waiting).append(transaction)
    return LogBounds(
        log_start_offset=log_start,
        remote_offset=remote_start_of(replica, log_start),
        next_offset=_stable_offset(waiting, log_start, upper),
        high_watermark=high_watermark,
        last_stable_offset=_stable_offset(transactions.open, log_start, min(upper, committed)),
        log_end_offset=log_end,
        open_transactions=transactions.open,
        markers=transactions.markers,
        notes=(*notes, *transactions.notes),
        passed=tuple(passed),
        newest_ms=newest_ms,
        unknown_outcomes=transactions.unknown_outcomes,
        undeleted=undeleted_start(_believed(replica, log_end)),
    )


def _stable_offset(open_transactions: Sequence[OpenTransaction], log_start: int, upper: int) -> int:
    """Return the lowest first offset of open transactions, limited to [log_start, upper]."""
    first = min((transaction.first_offset for transaction in open_transactions), default=upper)
    return min(max(first, log_start), upper)


def _log_end(replica: Replica, surveys: Sequence[SegmentSurvey]) -> int:
    """Return the end of the last valid batch in the last segment that has one.

    If an earlier batch has higher offsets, its end is used only if the high watermark proves it. If
    the log ends in damage, the end is the highest offset that a checkpoint file proves or that an
    incomplete batch names.
    """
    if not surveys:
        return 0
    high_watermark = replica.checkpoints.high_watermark or 0
    filled = [survey for survey in surveys if survey.first_offset is not None]
    last = filled[-1] if filled else surveys[-1]
    log_end = last.next_offset
    if last is not surveys[-1]:  # the name of an empty segment is the log's end
        begin = replica.segments[-1].base_offset
        closed = surveys[surveys.index(last) : -1]
        is_cut_open = any(survey.is_cut_open for survey in closed)
        log_end = begin if is_cut_open else min(log_end, begin)
    if log_end < last.highest_offset <= high_watermark:
        log_end = last.highest_offset
    damage = surveys[-1].end_damage
    if damage is None:
        return log_end
    return max(log_end, replica.durable_offset, damage.claimed_offset)


def log_start_of(replica: Replica, log_end: int, notes: list[str]) -> int:
    """Return the log start: the checkpoint or the first segment's base offset, if that is higher.

    Args:
        replica: the replica, with its checkpoints.
        log_end: exclusive end of the log; a checkpoint above it is ignored.
        notes: receives a sentence about an ignored checkpoint.
    """
    first = replica.segments[0].base_offset if replica.segments else 0
    claimed = replica.checkpoints.log_start_offset
    if claimed is not None and claimed > log_end:
        notes.append(
            f"{replica.key}: the log start offset {claimed} is above the log end {log_end} and "
            "is ignored as implausible"
        )
        return first
    return max(first, claimed or 0)


def _believed(replica: Replica, log_end: int) -> Replica:
    """Return the replica without its log start checkpoint, if that is above the log's end."""
    if (replica.checkpoints.log_start_offset or 0) <= log_end:
        return replica
    return replica._replace(checkpoints=replica.checkpoints._replace(log_start_offset=None))


def remote_start_of(replica: Replica, log_start: int) -> int:
    """Return the log's first offset in the remote tier; the log start if there is no tier.

    Without a remote tier, a log start entry below the first segment is out of date, because
    segments were deleted after it was written.
    """
    claimed = replica.checkpoints.log_start_offset
    if claimed is None or not replica.checkpoints.has_remote_tier:
        return log_start
    return min(claimed, log_start)


def _upper_bound(replica: Replica, log_start: int, log_end: int, requested: UpperBound) -> int:
    """Return the upper bound by the policy's `upper_bound`; open transactions may lower it."""
    if requested is UpperBound.LOG_END:
        return log_end
    checkpoints = replica.checkpoints
    if not checkpoints.has_high_watermarks:
        return log_end  # the log dir reports a missing file once
    if checkpoints.high_watermark is None:
        return log_start  # without a high watermark, no offset is known to be replicated
    return min(checkpoints.high_watermark, log_end)
