"""Collects the findings of an ingest from its rounds, repairs and observations."""

from collections.abc import Iterable, Iterator, Sequence

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import KIND_OF_STOP
from seglake.findings.shown_offsets import shown_range
from seglake.ingest_steps.committing.concurrent_ranges import concurrent_findings
from seglake.ingest_steps.report.doubts import doubts_of, doubts_of_logs
from seglake.ingest_steps.report.gap_report import GapsByPlace
from seglake.ingest_steps.report.run_facts import RunFacts
from seglake.ingest_steps.report.run_notes import notes_of
from seglake.ingest_steps.report.stuck import stuck_partitions
from seglake.ingest_steps.report.tier_gaps import tier_gaps
from seglake.ingest_steps.report.unread import lost_tails, open_transactions
from seglake.ingest_steps.rounds import Round, last_states
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import subtracted
from seglake.kafka_log.short_logs import ShortLog
from seglake.printable import show_count
from seglake.segment_decoding.conflict_counts import ConflictKind, counted

_BOUNDS = (FindingKind.NO_HIGH_WATERMARK, FindingKind.OPEN_TRANSACTION, FindingKind.TAIL)
_CONFLICTS = {
    ConflictKind.LOST: FindingKind.LOST_TAIL,
    ConflictKind.CONTRADICTS: FindingKind.ELECTION_WON,
    ConflictKind.DIFFERS: FindingKind.REPLICAS_DIFFER,
    ConflictKind.SAME_BROKER: FindingKind.TWO_LOGS,
    ConflictKind.UNDECIDED: FindingKind.REPLICAS_DIFFER,
}


def findings_of(facts: RunFacts, gaps: GapsByPlace) -> Findings:
    """Return the findings of a run, except those on exceeded limits and too large batches.

    Args:
        facts: facts of the run.
        gaps: recorded gaps, or expected gaps in a dry run.
    """
    settings, rounds, repairs = facts.context.settings, facts.rounds, facts.repairs
    is_dry_run = facts.context.is_dry_run
    planned = facts.planned if is_dry_run else []
    decided = planned if is_dry_run else [result.ingested for result in facts.committed]
    found = Findings(_left_ranges(facts))
    found.add(stuck_partitions(facts.observations, facts.now, settings.limits.stuck_after))
    for each in last_states(rounds):
        if each.same is not None:
            found.add(lost_tails(each.same, settings, has_lost=each.has_lost))
            found.add(open_transactions(each.same, planned, settings))
    found.add(undecided_offsets(gaps))
    found.add(tier_gaps(facts, decided, gaps))
    found.add(doubts_of(decided, settings, is_dry_run=is_dry_run))
    found.add(doubts_of_logs(rounds, found.of(FindingKind.DOUBTFUL_OUTCOME)))
    found.add(repairs.contradicted)
    concurrent = [*(range_ for done in rounds for range_ in done.concurrent), *repairs.concurrent]
    found.add(concurrent_findings(concurrent))
    short_logs = sorted(facts.short_logs, key=lambda short: (-short.offsets, str(short.key)))
    found.add(map(short_log_finding, short_logs))
    found.add(facts.left.files)
    for place in facts.places.new_names:
        found.add([Finding(FindingKind.NAMED_ONLY, place.reason, str(place.key))])
    found.add_reasons(FindingKind.LEFT_OUT, facts.left.reasons)
    found.add_reasons(FindingKind.UNPROVED_TIER, facts.discovery.unproved_tiers)
    found.add_reasons(FindingKind.REFUSED, facts.left.refused)
    found.add(_conflicts(rounds))
    found.add([*_superseded(rounds), *_waiting(rounds)])
    found.add_texts(FindingKind.NOTE, notes_of(facts, gaps))
    return found


def _left_ranges(facts: RunFacts) -> Iterator[Finding]:
    """Yield findings on ranges that a later run will ingest, or on which a person must decide."""
    for seen in facts.observations:
        covered, name = facts.ledger.of(seen.key).covered, str(seen.key)
        kind = KIND_OF_STOP.get(seen.stopped_by, FindingKind.WAITING)
        kind = kind if kind in _BOUNDS else FindingKind.WAITING
        for left in seen.waiting:
            offsets = left.from_offset, left.log_end_offset
            if offsets[0] < offsets[1] and not subtracted(offsets, covered):
                continue  # earlier runs have ingested the log to its end
            is_damage = left.is_damaged and not kind.needs_a_look
            own = FindingKind.DAMAGED_ABOVE if is_damage else kind
            yield Finding(own, f"{name}: {left.reason}", name, (offsets,))


def short_log_finding(short: ShortLog) -> Finding:
    """Return the finding on a log of which broker files prove more offsets than the disk has."""
    facts = {
        "folder": short.folder,
        "offsets": short.offsets,
        "found": short.found,
        "stated_by": short.claim.stated_by,
        "stated_offset": short.claim.offset,
    }
    return Finding(FindingKind.NOT_ON_DISK, short.reason, str(short.key), short.ranges, facts)


def undecided_offsets(gaps: GapsByPlace) -> Iterator[Finding]:
    """Yield a finding for each partition with omitted transactions that have no end marker."""
    for name, found in gaps.get(GapCause.UNDECIDED, {}).items():
        count = show_count(found.offsets, "offset")
        text = f"{name}: {count} of transactions that have not ended"
        facts = {"offsets": found.offsets}
        yield Finding(FindingKind.UNDECIDED, text, name, found.ranges, facts)


def _conflicts(rounds: Iterable[Round]) -> Iterator[Finding]:
    """Yield findings on replicas whose batches differ from the tables', by partition."""
    found = ((str(each.key), each.conflicts) for done in rounds for each in done.partitions)
    for name, count in counted(found).items():
        for kind, finding in _CONFLICTS.items():
            if batches := count[kind]:
                text = f"{name}: {kind.shown(batches)}"
                yield Finding(finding, text, name, facts={"batches": batches})


def _superseded(rounds: Iterable[Round]) -> Iterator[Finding]:
    for of in (of for done in rounds for each in done.partitions for of in each.superseded):
        text = (
            f"{of}: {show_count(of.records, 'record')} lost an election; `seglake retake` "
            "ingests the winning log's records"
        )
        facts = {"records": of.records}
        yield Finding(FindingKind.SUPERSEDED, text, str(of.key), (of.offsets,), facts)


def _waiting(rounds: Sequence[Round]) -> Iterator[Finding]:
    """Yield findings on ranges that lost an election in earlier runs and need a retake."""
    for listed in (each.listed for each in rounds[0].partitions):
        for offsets in listed.ledger.superseded:
            text = (
                f"{listed.key} {shown_range(*offsets)}: lost an election, as an earlier run found; "
                "`seglake retake` ingests the winning log's records"
            )
            yield Finding(FindingKind.SUPERSEDED, text, str(listed.key), (offsets,))
