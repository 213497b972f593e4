"""Findings on transactions with uncertain outcomes."""

from collections.abc import Iterable, Iterator

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.rounds import Round
from seglake.kafka_log.offset_ranges import subtracted
from seglake.kafka_log.read_policy import Isolation
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.kafka_log.transactions.transaction_outcomes import UnknownOutcome
from seglake.settings.settings import Settings


def doubts_of_logs(rounds: Iterable[Round], decided: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings on transactions whose end may be in damaged bytes.

    Transactions that may end in unread segments are omitted.

    Args:
        rounds: the rounds of the run.
        decided: findings on transactions whose outcome the run decided; these transactions are
            omitted, too.
    """
    known = {(found.place, found.ranges) for found in decided}
    for done in rounds:
        for partition in done.same:
            for doubt in partition.bounds.unknown_outcomes:
                offsets, name = (doubt.start_offset, doubt.next_offset), str(partition.key)
                is_known = (name, (offsets,)) in known
                if not is_known and subtracted(offsets, partition.waiting_ranges):
                    yield Finding(FindingKind.UNKNOWN_OUTCOME, doubt.text, name, (offsets,))


def doubts_of(
    ranges: Iterable[RangePlan], settings: Settings, *, is_dry_run: bool
) -> Iterator[Finding]:
    """Yield findings on transactions with uncertain outcomes in ingested or planned ranges."""
    for plan in ranges:
        for doubt in () if plan.bounds is None else plan.bounds.unknown_outcomes:
            stop = min(doubt.next_offset, plan.next_offset)
            if max(doubt.start_offset, plan.start_offset) < stop:
                if _is_left_out(doubt, settings):
                    clause = f"its records {'would not be' if is_dry_run else 'are not'} ingested"
                else:
                    clause = f"its records {'would be' if is_dry_run else 'were'} ingested"
                text = f"{doubt.text}, and {clause}: check them"
                ranges_of = ((doubt.start_offset, doubt.next_offset),)
                yield Finding(FindingKind.DOUBTFUL_OUTCOME, text, str(plan.key), ranges_of)


def _is_left_out(doubt: UnknownOutcome, settings: Settings) -> bool:
    """Return whether a transaction's records are not ingested."""
    if settings.read.isolation is Isolation.READ_UNCOMMITTED:
        return False
    is_open = doubt.state is TransactionState.OPEN and not settings.reads_undecided
    return is_open or doubt.state is TransactionState.ABORTED
