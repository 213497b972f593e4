"""Transactions of uncertain outcome on which a run decided. Pure."""

from collections.abc import Iterable

from seglake.kafka_log.offset_ranges import subtracted
from seglake.kafka_log.read_policy import Isolation
from seglake.kafka_log.transactions.transaction_outcomes import UnknownOutcome
from seglake.pipelines.segment_ingest.planning.plan import RangePlan
from seglake.pipelines.segment_ingest.report.round_result import RoundResult
from seglake.pipelines.settings.settings import Settings
from seglake.segment_codec.transactions import TransactionState


def doubts_of_logs(rounds: Iterable[RoundResult]) -> list[str]:
    """Return the transactions whose end damage hides, unless it may be in an unread segment."""
    return [
        doubt.text
        for done in rounds
        for partition in done.look.same
        for doubt in partition.bounds.unknown_outcomes
        if subtracted((doubt.start_offset, doubt.next_offset), partition.waiting_ranges)
    ]


def taken_doubts(rounds: Iterable[RoundResult], *, is_dry_run: bool) -> list[UnknownOutcome]:
    """Return the transactions of uncertain outcome on which a run decided, or would decide."""
    planned = [(plan, plan.next_offset) for done in rounds for plan in done.ranges]
    taken = [(result.plan, result.next_offset) for done in rounds for result in done.committed]
    return doubts_of(planned if is_dry_run else taken)


def doubts_of(taken: Iterable[tuple[RangePlan, int]]) -> list[UnknownOutcome]:
    """Return the transactions of uncertain outcome in ranges ingested, or to be ingested."""
    return [
        doubt
        for plan, next_offset in taken
        for doubt in (() if plan.bounds is None else plan.bounds.unknown_outcomes)
        if max(doubt.start_offset, plan.start_offset) < min(doubt.next_offset, next_offset)
    ]


def left_out_doubts(doubts: Iterable[UnknownOutcome], settings: Settings) -> list[str]:
    """Return the transactions of uncertain outcome whose records are not ingested."""
    if settings.read.isolation is Isolation.READ_UNCOMMITTED:
        return []
    left_out = {TransactionState.ABORTED}
    if not settings.takes_undecided:
        left_out.add(TransactionState.OPEN)
    return [doubt.text for doubt in doubts if doubt.state in left_out]
