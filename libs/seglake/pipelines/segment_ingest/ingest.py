"""Steps of an ingest."""

import time
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from seglake.ingest_steps.committing.concurrent_ranges import concurrent_ranges
from seglake.ingest_steps.planning.damage_above import damage_above_bounds
from seglake.ingest_steps.planning.second_listing import (
    absent_logs,
    changed_replicas,
    confirmed,
    retryable_replicas,
)
from seglake.ingest_steps.repair.repair import repair
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.repair.salvage import salvage
from seglake.ingest_steps.replica_conflicts.conflicts import quarantined_tails
from seglake.ingest_steps.replica_conflicts.source_check import (
    check_source,
    joined_source,
)
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.report.left_out import left_out_of
from seglake.ingest_steps.report.observed import observed
from seglake.ingest_steps.report.run_facts import RunFacts
from seglake.ingest_steps.report.run_report import summarize
from seglake.ingest_steps.report.standing_places import (
    StandingPlaces,
    standing_places,
)
from seglake.ingest_steps.rounds import Round, ingest_round, short_logs, unmoved
from seglake.ingest_steps.run_context import (
    RunContext,
    ScanContext,
    check_apart,
    list_selected,
    list_sources,
    published,
)
from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.short_logs import ShortLog
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_creation import create_missing, upgrade_notes
from seglake.lake.tables import OBSERVATIONS
from seglake.log_dirs.discovery import Discovery
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_tables.known_sources import LakeSources
from seglake.log_tables.observation_rows import NewestPlaces, append_observations
from seglake.settings.settings import Settings
from seglake.storage.errors import StorageError

_MOST_ROUNDS = 5


def ingest(sources: Sequence[str], lake: str, scan: ScanContext) -> IngestSummary:
    """Ingest new data of the sources into the lake's tables, exactly once.

    Args:
        sources: log dirs, partition folders, or folders above log dirs: paths or URIs.
        lake: the lake's path or URI; a missing lake is created.
        scan: context with the storage of sources and lake; the caller opens and closes its engine.
            A dry run only plans, and writes nothing, not even the tables.

    Raises:
        WrongSourceError, NothingSelectedError, LakeFolderError, IsolationConflictError,
            UnsafeStoreError: the call is wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed. Earlier commits are kept; run it again.
    """
    started = time.monotonic()
    tables, known, discovery = _listed(sources, lake, scan)
    context = RunContext.begun(scan, tables, discovery.source_id)
    recovered, notes = _opened(discovery, known, context)
    facts = replace(
        _recorded(_worked(discovery, context)), recovered_topics=recovered, notes=tuple(notes)
    )
    return summarize(replace(facts, seconds=round(time.monotonic() - started, 3)))


def _listed(
    sources: Sequence[str], lake: str, scan: ScanContext
) -> tuple[LakeTables, LakeSources, Discovery]:
    """List the selected logs, and check that the lake is inside none of the sources."""
    tables = LakeTables(scan.storage.locate(lake), scan.storage)
    known = _sources_of(tables, scan.settings)
    scan.reporter.step("listing the sources")
    discovery = list_selected(sources, scan, known=known)
    check_apart(discovery, scan.storage, tables.lake_path)
    return tables, known, discovery


def _sources_of(tables: LakeTables, settings: Settings) -> LakeSources:
    """Return the lake's known sources, in the form that discovery needs."""
    rereads = settings.select.has_window or settings.read.older_copies
    return LakeSources(tables, reads_news_only=not rereads)


def _opened(
    discovery: Discovery, known: LakeSources, context: RunContext
) -> tuple[tuple[str, ...], list[str]]:
    """Open or create the lake, and complete interrupted commits.

    Returns the topics whose interrupted commit is now complete, and notes.

    This runs before the work, so that a wrong lake path fails at once, and a source of another
    cluster is refused before any write.
    """
    context.reporter.step("opening the lake")
    check_source(discovery, known, context)
    if context.is_dry_run or not discovery.replicas:
        return (), joined_source(discovery, known, context)
    is_single_writer = context.settings.write.single_writer
    added = create_missing(context.tables, is_single_writer=is_single_writer)
    recovered = recover(context.tables, context.source_id, after=context.after)
    return recovered, [*upgrade_notes(added), *joined_source(discovery, known, context)]


def _worked(discovery: Discovery, context: RunContext) -> RunFacts:
    """Ingest, fill gaps and salvage; return the facts of the run."""
    rounds, unread, short = _ingested(discovery, context)
    copies = (*discovery.replicas, *discovery.tier_copies)
    repairs = _repaired(copies, rounds, unread, context)
    left = left_out_of(discovery, rounds, {**unread, **repairs.unread}, short, context)
    return RunFacts(
        context=context,
        discovery=discovery,
        rounds=rounds,
        repairs=repairs,
        salvaged=salvage(context),
        left=left,
        short_logs=short,
        now=datetime.now(UTC),  # after the last commit
    )


def _recorded(facts: RunFacts) -> RunFacts:
    """Write the run's changed observations and its unread files to the lake; return all results."""
    context, rounds, left = facts.context, facts.rounds, facts.left
    ledger = published(context, [])[1]
    context.reporter.step("recording what was observed")
    every = [each for done in rounds for each in done.partitions]
    damage = damage_above_bounds(filter(None, (each.seen for each in every)), context.storage)
    seen = observed(rounds, facts.short_logs, damage, left.reasons, context, facts.now)
    facts = replace(facts, ledger=ledger, observations=seen.every)
    if context.is_dry_run:
        return replace(facts, places=StandingPlaces(of_run=left.places))
    earlier = rounds[0].earlier.places
    has_news = any(done.committed for done in rounds)
    places = standing_places(left, earlier, seen.every, ledger, context, has_news=has_news)
    is_changed = places.every != earlier and context.tables.has(OBSERVATIONS)
    # Newer rows on unread files replace earlier ones: write one even if no file is unread now.
    to_record = seen.to_record or (seen.renewed(context.run_id) if is_changed else ())
    if to_record or is_changed:
        append_observations(
            context.tables,
            to_record,
            NewestPlaces(seen.recorded_at, places.every),
            source_id=context.source_id,
            run_id=context.run_id,
        )
    context.ledger.store(if_due=True)
    return replace(facts, places=places, tails=quarantined_tails(ledger, context))


def _ingested(
    discovery: Discovery, context: RunContext
) -> tuple[list[Round], dict[str, str], list[ShortLog]]:
    """Run all rounds of an ingest.

    Returns:
        The rounds, the reasons for unread partitions or topics, and logs that once had more offsets
        than the disks have now.
    """
    unread = dict(discovery.unreadable)
    rounds = _rounds(discovery.replicas, context, unread)
    short = short_logs(rounds, unread)
    if not (unread or short or discovery.absent):
        return rounds, unread, []
    now: Discovery | None = None
    # If the sources cannot be listed again, the next run tries the unread files.
    with suppress(WrongSourceError, StorageError):
        known = _sources_of(context.tables, context.settings)
        now = list_sources(discovery.sources, context, known=known)
    replicas = () if now is None else now.replicas
    retried = retryable_replicas(discovery.replicas, replicas, unread)
    for replica in retried:
        unread.pop(str(replica.key), None)
    changed = changed_replicas({str(key) for key in short}, discovery.replicas, replicas)
    if not context.is_dry_run:  # a dry run has counted these records above
        retried += changed
    rounds += _rounds(retried, context, unread) if retried else []
    still = list(short.values())
    if now is not None:
        later = {} if context.is_dry_run else short_logs(rounds, unread)
        read_again = {str(copy.key) for copy in changed}
        again = {key: later.get(key) for key in short if str(key) in read_again}
        still = confirmed(still, replicas, again)
    if discovery.absent:
        _, ledger = published(context, [])
        still += absent_logs(discovery, now, ledger)
    return rounds, unread, still


def _rounds(
    replicas: Sequence[Replica], context: RunContext, unread: dict[str, str]
) -> list[Round]:
    """Plan and execute rounds until no other run commits first to the same topics."""
    rounds: list[Round] = []
    for _ in range(_MOST_ROUNDS):
        done = ingest_round(replicas, context)
        rounds.append(done)
        unread |= done.unread
        if not done.lost_topics:
            return rounds
        replicas = [replica for replica in replicas if replica.key.topic in done.lost_topics]
        topics = sorted(done.lost_topics)
        recover(context.tables, context.source_id, topics, after=context.after)
        concurrent = concurrent_ranges(done.lost_topics, context)
        rounds[-1] = replace(done, concurrent=tuple(concurrent))
    for topic in sorted(rounds[-1].lost_topics):
        unread[topic] = f"{topic}: concurrent runs kept committing first; run again"
    return rounds


def _repaired(
    replicas: Sequence[Replica],
    rounds: Sequence[Round],
    unread: Container[str],
    context: RunContext,
) -> RepairResult:
    """Fill gaps (in a dry run, plan it) from logs that were neither refused nor unreadable."""
    if not context.tables.exists():
        return RepairResult()
    every = [each for done in rounds for each in done.partitions]
    refused = {str(each.key) for each in every if each.refusal}
    duplicates = [found for each in every for found in each.listed.duplicates]
    second = {found.other.folder for found in duplicates if not found.is_same_log}
    ingestible = filter(None, (each.ingestible for each in every))
    failed = {of.replica.folder for of in ingestible if str(of.key) in unread}
    readable = [
        replica
        for replica in replicas
        if str(replica.key) not in refused and replica.folder not in second | failed
    ]
    topics = {replica.key.topic for replica in replicas}
    return repair(readable, context, topics=topics, own=_own(rounds), unmoved=unmoved(rounds))


def _own(rounds: Iterable[Round]) -> dict[str, list[OffsetRange]]:
    """Return the merged ranges that this run ingested from each replica, by folder."""
    found: dict[str, list[OffsetRange]] = {}
    for each in (each for done in rounds for each in done.partitions):
        if each.readable is not None and each.committed:
            folder = each.readable.replica.folder
            found.setdefault(folder, []).extend(result.offsets for result in each.committed)
    return {folder: merged(ranges) for folder, ranges in found.items()}
