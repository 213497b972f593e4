"""Ranges that a run leaves unread, with reasons. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from seglake.kafka_log.observation import DAMAGED
from seglake.kafka_log.read_policy import Isolation, UpperBound
from seglake.kafka_log.replica_selection import sound_end
from seglake.kafka_log.transactions.hanging_transactions import age_ms
from seglake.pipelines.offset_places import shown_range
from seglake.pipelines.progress import show_count, show_duration
from seglake.pipelines.segment_ingest.planning.plan import RangePlan
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.pipelines.settings.settings import Settings
from seglake.segment_codec.errors import TailKind


class OpenTransactionAction(StrEnum):
    """Action of a run on an open transaction."""

    BLOCKS = "blocks"
    SKIPPED = "skipped"
    INCLUDED = "included"


class StillOpen(NamedTuple):
    """A transaction without an end, as the summary names it; an age of None is not known."""

    partition: str
    producer_id: int
    first_offset: int
    age_ms: int | None
    action: OpenTransactionAction

    def __str__(self) -> str:
        begin = f"producer {self.producer_id} has a transaction open since offset "
        if not self.age_ms:
            return begin + str(self.first_offset)
        age = show_duration(self.age_ms)
        return f"{begin}{self.first_offset}, {age} before the newest record"


_TAILS: dict[TailKind | None, str] = {  # zeros are no end: nothing of them is to be ingested
    TailKind.TORN: "a batch that the end of the file cuts off",
    TailKind.UNFLUSHED: "a batch with a wrong checksum, above the high watermark",
}


_NO_HIGH_WATERMARK = (
    "replication-offset-checkpoint has no usable entry for it, so nothing counts as replicated;"
    " --upper-bound log_end would ingest it"
)


@dataclass(frozen=True, slots=True)
class UnreadRange:
    """Reason why a partition was not ingested to the end of its log."""

    partition: str
    reason: str
    from_offset: int
    log_end_offset: int

    @property
    def is_damaged(self) -> bool:
        """Return whether damaged bytes hide the offsets."""
        return self.reason.startswith(DAMAGED)

    def __str__(self) -> str:
        return f"{self.partition}: {self.reason}"


def still_open(partition: SurveyedPartition, settings: Settings) -> list[StillOpen]:
    """Return the open transactions of a log, the oldest first."""
    bounds = partition.bounds
    is_committed = settings.read.isolation is Isolation.READ_COMMITTED
    passed = OpenTransactionAction.SKIPPED
    if settings.takes_undecided:
        passed = OpenTransactionAction.INCLUDED
    return [
        StillOpen(
            partition=str(partition.replica.key),
            producer_id=transaction.producer_id,
            first_offset=transaction.first_offset,
            age_ms=age_ms(transaction, bounds.newest_ms),
            action=passed
            if transaction in bounds.passed
            else (OpenTransactionAction.BLOCKS if is_committed else OpenTransactionAction.INCLUDED),
        )
        for transaction in bounds.open_transactions
    ]


def leaves_out(open_transactions: Iterable[StillOpen], plans: Sequence[RangePlan]) -> bool:
    """Return whether a transaction that begins in a planned range is left out of it."""
    return any(
        open_.action is OpenTransactionAction.SKIPPED
        and str(plan.key) == open_.partition
        and plan.start_offset <= open_.first_offset < plan.next_offset
        for open_ in open_transactions
        for plan in plans
    )


def unread_ranges(partition: SurveyedPartition, settings: Settings) -> list[UnreadRange]:
    """Return the ranges of a log that this run leaves unread, with reasons."""
    bounds = partition.bounds
    name = str(partition.replica.key)
    found: list[UnreadRange] = []
    upper = bounds.next_offset
    waiting = [
        open_
        for open_ in still_open(partition, settings)
        if open_.action is OpenTransactionAction.BLOCKS
    ]

    def add(reason: str, offset: int) -> None:
        found.append(UnreadRange(name, reason, offset, bounds.log_end_offset))

    left = bounds.log_end_offset - upper
    shown = show_count(left, "offset")
    if waiting and left > 0:
        others = f" ({len(waiting) - 1} more open)" if len(waiting) > 1 else ""
        add(f"{waiting[0]}; {shown} {'waits' if left == 1 else 'wait'} for its end{others}", upper)
    elif left > 0 and bounds.high_watermark is not None:
        add(f"{shown} {'lies' if left == 1 else 'lie'} above the high watermark {upper}", upper)
    elif left > 0:
        add(f"{shown} {'is' if left == 1 else 'are'} there; {_NO_HIGH_WATERMARK}", upper)
    last = partition.surveys[-1] if partition.surveys else None
    if last is not None and last.tail in _TAILS:
        add(f"the last segment ends in {last.tail} ({_TAILS[last.tail]})", bounds.log_end_offset)
    return found


def lost_tails(
    partition: SurveyedPartition, settings: Settings, *, has_lost: bool = False
) -> list[UnreadRange]:
    """Return the ranges of losing copies above all covered offsets.

    Nothing if the run quarantines them.

    Args:
        has_lost: the chosen copy lost an election to the log in the lake.
    """
    if settings.read.upper_bound is UpperBound.LOG_END and not settings.select.has_window:
        return []
    choice = partition.choice
    covered_offset = max((stop for _, stop in partition.covered), default=0)
    copies = [
        (other.replica, other.divergence_offset, other.log_end_offset)
        for other in partition.other_replicas
    ]
    if has_lost:
        end = sound_end(choice.surveys)
        lost_from = partition.ledger.same_log_until(choice.leader_epochs.without_end, end)
        copies.insert(0, (choice.chosen, lost_from, end))
    else:
        covered_offset = max(covered_offset, partition.bounds.next_offset)
    found: list[UnreadRange] = []
    for copy, divergence_offset, stop in copies:
        start = max(divergence_offset, covered_offset)
        if start < stop:
            reason = (
                f"offsets {shown_range(start, stop)} in {copy.folder}, which are not in "
                f"the log that won (up to {show_count(stop - start, 'record')}); quarantine lists "
                "them once that log reaches these offsets, or with --upper-bound log_end"
            )
            found.append(UnreadRange(str(partition.replica.key), reason, start, stop))
    return found
