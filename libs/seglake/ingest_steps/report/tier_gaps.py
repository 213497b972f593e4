"""Offsets that a given remote tier should have and cannot provide, with the reasons."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import named_gaps
from seglake.grouping import grouped
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.report.gap_report import GapsByPlace
from seglake.ingest_steps.report.run_facts import RunFacts
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import common, merged
from seglake.kafka_log.replica import PartitionKey, RemoteGap, Replica
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.source_ledger import SourceLedger

TierGaps = Iterable[tuple[str, RemoteGap]]
"""Partitions by name, each with offsets that the tier cannot provide."""


def tier_gaps(facts: RunFacts, plans: Iterable[RangePlan], gaps: GapsByPlace) -> Iterator[Finding]:
    """Yield a finding for each reason why offsets of a given remote tier are gaps.

    Gaps of earlier runs are named, too; they cross no limit.

    Args:
        facts: facts of the run.
        plans: ranges that the run has ingested; in a dry run, the planned ones.
        gaps: recorded gaps, or expected gaps in a dry run.
    """
    repairs = facts.repairs
    known = standing_tier_gaps(
        facts.discovery.replicas, [repairs.absent], repairs.standing, facts.ledger
    )
    by_reason = grouped(
        (gap.reason, (name, (gap.start_offset, gap.next_offset)))
        for name, gap in chain(_of_plans(plans, gaps), known)
    )
    for reason, places in by_reason.items():
        ranges = {name: GapRanges.of(merged(own)) for name, own in grouped(places).items()}
        facts_of = {"offsets": sum(found.offsets for found in ranges.values())}
        text = f"{named_gaps(ranges)}: {reason}"
        yield Finding(FindingKind.TIER_GAP, text, facts=facts_of)


def standing_tier_gaps(
    replicas: Iterable[Replica],
    searched: Iterable[Mapping[PartitionKey, Sequence[RemoteGap]]],
    standing: Mapping[PartitionKey, Sequence[CurrentGap]],
    ledger: SourceLedger,
) -> Iterator[tuple[str, RemoteGap]]:
    """Yield the offsets of the lake's gaps that the given tier cannot provide.

    Args:
        replicas: replicas of the sources, with the offsets that their listing lacks in the tier.
        searched: offsets of gaps that searches of the tier could not read.
        standing: gaps of the lake that another copy could fill, whatever their cause.
        ledger: the lake's ledger.
    """
    listed = ((ledger.of_copy(copy).key, copy.remote_gaps) for copy in replicas if copy.remote_gaps)
    for key, absent in chain(listed, *(found.items() for found in searched)):
        gaps = merged(gap.offsets for gap in standing.get(key, ()))
        for start, stop, reason in absent:
            for part in common(gaps, (start, stop)):
                yield str(key), RemoteGap(*part, reason)


def tier_gap_reasons(gaps: TierGaps) -> dict[str, str]:
    """Return why a remote tier cannot provide offsets, by partition."""
    return {name: "; ".join(_reasons(name, own)) for name, own in grouped(gaps).items()}


def _of_plans(plans: Iterable[RangePlan], gaps: GapsByPlace) -> TierGaps:
    """Yield the offsets of a run's gaps that the tier cannot provide."""
    left = gaps.get(GapCause.REMOTE, {})
    for plan in plans:
        name = str(plan.key)
        ranges = left[name].ranges if name in left else ()
        for start, stop, reason in plan.remote_gaps:
            for part in common(ranges, (start, stop)):
                yield name, RemoteGap(*part, reason)


def _reasons(name: str, gaps: Iterable[RemoteGap]) -> Iterator[str]:
    for reason, ranges in grouped((gap.reason, gap[:2]) for gap in gaps).items():
        yield f"{named_gaps({name: GapRanges.of(merged(ranges))})}: {reason}"
