"""Findings on ranges that a run leaves unread."""

from collections.abc import Iterator, Sequence

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import shown_range
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.kafka_log.observation import LeftRange
from seglake.kafka_log.read_policy import Isolation
from seglake.kafka_log.transaction_markers import OpenTransaction
from seglake.kafka_log.transactions.hanging_transactions import age_ms
from seglake.printable import show_count, show_duration
from seglake.segment_codec.formats.errors import TailKind
from seglake.settings.settings import Settings

_TAILS: dict[TailKind | None, str] = {  # zeros at the end are padding, not data
    TailKind.TORN: "a batch that is incomplete at the end of the file",
    TailKind.UNFLUSHED: "a batch with a wrong checksum, above the high watermark",
}


_LEFT_OUT = (
    "its records are not ingested; --set read.undecided_transactions=rows ingests them, marked open"
)
_NO_HIGH_WATERMARK = (
    "replication-offset-checkpoint has no usable entry for the partition, so no offset counts as"
    " replicated; --upper-bound log_end would ingest them"
)


def open_transactions(
    partition: SurveyedPartition, plans: Sequence[RangePlan], settings: Settings
) -> Iterator[Finding]:
    """Yield findings on the open transactions of a log, the oldest first.

    Args:
        partition: the surveyed log.
        plans: ranges that a dry run would ingest; if a transaction begins in such a range and is
            left out, a person should check it.
        settings: whether open transactions wait, are ingested as rows marked open, or are left out.
    """
    bounds, name = partition.bounds, str(partition.replica.key)
    for transaction in bounds.open_transactions:
        is_passed = transaction in bounds.passed
        if not is_passed and _waits(settings):
            kind, consequence = FindingKind.BLOCKING_TRANSACTION, ""
        elif is_passed and not settings.reads_undecided:
            kind, consequence = FindingKind.UNDECIDED_TRANSACTION, f"; {_LEFT_OUT}"
        else:
            kind, consequence = FindingKind.OPEN_ROWS, "; its rows are marked open"
        text = f"{name}: {_shown(transaction, bounds.newest_ms)}"
        first = transaction.first_offset
        facts = {
            "producer_id": transaction.producer_id,
            "first_offset": first,
            "age_ms": age_ms(transaction, bounds.newest_ms),
        }
        yield Finding(kind, text + consequence, name, facts=facts)
        is_planned = any(
            str(plan.key) == name and plan.start_offset <= first < plan.next_offset
            for plan in plans
        )
        if is_planned and kind is FindingKind.UNDECIDED_TRANSACTION:
            yield Finding(FindingKind.UNDECIDED, text, name, facts=facts)


def _waits(settings: Settings) -> bool:
    return settings.read.isolation is Isolation.READ_COMMITTED


def _shown(transaction: OpenTransaction, newest_ms: int | None) -> str:
    begin = f"producer {transaction.producer_id} has a transaction open since offset "
    age = age_ms(transaction, newest_ms)
    if not age:
        return begin + str(transaction.first_offset)
    return f"{begin}{transaction.first_offset}, {show_duration(age)} before the newest record"


def unread_ranges(partition: SurveyedPartition, settings: Settings) -> list[LeftRange]:
    """Return the ranges of a log that this run leaves unread, with reasons."""
    bounds = partition.bounds
    found: list[LeftRange] = []
    upper = bounds.next_offset
    waiting = [open_ for open_ in bounds.open_transactions if open_ not in bounds.passed]
    if not _waits(settings):
        waiting = []

    def add(reason: str, offset: int) -> None:
        found.append(LeftRange(reason, offset, bounds.log_end_offset))

    left = bounds.log_end_offset - upper
    shown = show_count(left, "offset")
    if waiting and left > 0:
        others = f" ({len(waiting) - 1} more open)" if len(waiting) > 1 else ""
        oldest, wait = _shown(waiting[0], bounds.newest_ms), "waits" if left == 1 else "wait"
        add(f"{oldest}; {shown} {wait} for its end{others}", upper)
    elif left > 0 and bounds.high_watermark is not None:
        add(f"{shown} {'lies' if left == 1 else 'lie'} above the high watermark {upper}", upper)
    elif left > 0:
        add(f"{shown} {'is' if left == 1 else 'are'} on the disk; {_NO_HIGH_WATERMARK}", upper)
    last = partition.surveys[-1] if partition.surveys else None
    if last is not None and last.tail in _TAILS:
        add(f"the last segment ends in {last.tail} ({_TAILS[last.tail]})", bounds.log_end_offset)
    return found


def lost_tails(
    partition: SurveyedPartition, settings: Settings, *, has_lost: bool = False
) -> Iterator[Finding]:
    """Yield findings on ranges that only losing copies have, above all covered offsets.

    If the run quarantines these batches, there are no findings.

    Args:
        partition: the surveyed partition.
        settings: the run's settings.
        has_lost: whether the chosen copy lost an election to the log in the lake.
    """
    if settings.reads_dead_logs:
        return
    name = str(partition.replica.key)
    covered_offset = max((stop for _, stop in partition.covered), default=0)
    if not has_lost:
        covered_offset = max(covered_offset, partition.bounds.next_offset)
    for copy, divergence_offset, stop in partition.losing_copies(has_lost=has_lost):
        start = max(divergence_offset, covered_offset)
        if start < stop:
            count = show_count(stop - start, "record")
            text = (
                f"{name}: {copy.folder} has offsets {shown_range(start, stop)} (up to {count}), "
                "which are not in the log that won; quarantine gets them once that log reaches "
                "these offsets, or with --upper-bound log_end"
            )
            facts = {"folder": copy.folder}
            yield Finding(FindingKind.UNLISTED_TAIL, text, name, ((start, stop),), facts)
