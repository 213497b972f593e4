"""Steps of a replay: fills gaps from quarantined bytes and from other replicas."""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.planning.unread_data import unread_log
from seglake.ingest_steps.repair.repair import repair, repair_from
from seglake.ingest_steps.repair.repair_state import repair_state
from seglake.ingest_steps.repair.salvage import salvage
from seglake.ingest_steps.report.salvage_lines import shown_nothing_salvaged
from seglake.ingest_steps.report.tier_gaps import standing_tier_gaps, tier_gap_reasons
from seglake.ingest_steps.report.too_large import too_large
from seglake.ingest_steps.report.unread_file_findings import unread_file_findings
from seglake.ingest_steps.run_context import (
    RunContext,
    ScanContext,
    list_of_lake,
    opened_lake,
    published,
)
from seglake.kafka_log.read_policy import Isolation
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.unread_segments import unread_offsets
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.lake_folder import opening
from seglake.lake.table_creation import create_missing, upgrade_notes
from seglake.lake.tables import REQUIRED_TABLES
from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.lake_replay.quarantined_bytes import quarantined_sources
from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
from seglake.settings.settings import (
    MOST_DECOMPRESSED_BATCH_BYTES,
    SelectSettings,
)
from seglake.settings.topic_selection import Unmatched, check_selection


def replay(lake: str, sources: Sequence[str], scan: ScanContext) -> ReplaySummary:
    """Decode quarantined bytes again, and fill gaps from other replicas, exactly once.

    Args:
        lake: the lake's path or URI.
        sources: log dirs with other replicas; if empty, only the bytes in the lake are read.
        scan: context with the storage of sources and lake; the caller closes its engine. A dry run
            reports the gaps that would be filled, and commits nothing. Even a dry run writes the
            bytes to decode to the lake's work folder.

    Raises:
        LakeFolderError, NothingSelectedError, WrongSourceError, UnsafeStoreError: the call is
            wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed. Earlier commits are kept; run it again.
    """
    started = time.monotonic()
    tables = opened_lake(lake, scan)
    source_ids, (missing, notes) = _clusters(tables, scan.settings.select)
    summary = ReplaySummary(scan.run_id, tables.lake_path, scan.is_dry_run)
    findings = summary.findings
    findings.add_texts(FindingKind.NOTE, notes)
    findings.add_reasons(FindingKind.LEFT_OUT, missing)
    replicas = _replicas(sources, tables, scan, summary)
    _refuse_other_clusters(replicas, source_ids, tables.lake_path)
    if scan.settings.salvages and not scan.is_dry_run:
        added = create_missing(tables, is_single_writer=scan.settings.write.single_writer)
        findings.add_texts(FindingKind.NOTE, upgrade_notes(added))
    for source_id in source_ids:
        if not scan.is_dry_run:
            refuse_foreign_changes(tables, REQUIRED_TABLES)
            recover(tables, source_id, after=scan.after)
        context = RunContext.begun(scan, tables, source_id)
        _replay_source(replicas.get(source_id, ()), context, summary)
        summary.salvaged = summary.salvaged.and_of(salvage(context))
    summary.nothing_salvaged = shown_nothing_salvaged(summary.salvaged, scan.settings)
    _add_too_large(summary, sources, scan.settings.limits.max_decompressed_batch_bytes)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _clusters(tables: LakeTables, select: SelectSettings) -> tuple[list[str], Unmatched]:
    """Return the lake's clusters, and the globs that select no topic of the lake."""
    with opening(tables.lake_path):
        topics = tables.topics() if select.topics else []
        return tables.source_ids(), check_selection(topics, select, place="lake")


def _replicas(
    sources: Sequence[str], tables: LakeTables, scan: ScanContext, summary: ReplaySummary
) -> dict[str, tuple[Replica, ...]]:
    """Return the replicas on the disks, by cluster, and add the listing's findings."""
    if not sources:
        return {}
    scan.reporter.step("listing the sources")
    discovery = list_of_lake(sources, scan, tables)
    summary.findings.add_texts(FindingKind.NOTE, discovery.notes)
    summary.findings.add_reasons(FindingKind.LEFT_OUT, discovery.unreadable)
    summary.findings.add_reasons(FindingKind.UNPROVED_TIER, discovery.unproved_tiers)
    logs = (unread_log(replica, unread_offsets(replica), ()) for replica in discovery.replicas)
    known = [log for log in logs if log is not None]
    summary.findings.add(unread_file_findings(discovery.unread_files, known, discovery.partitions))
    return {discovery.source_id: (*discovery.replicas, *discovery.tier_copies)}


def _refuse_other_clusters(
    replicas: Mapping[str, Sequence[Replica]], source_ids: Sequence[str], lake_path: str
) -> None:
    """Raise `WrongSourceError` for replicas of a cluster that the lake does not have."""
    for strange in replicas.keys() - source_ids:
        raise WrongSourceError(
            f"the lake {lake_path} has no rows of the sources' cluster {strange}"
        )


def _add_too_large(summary: ReplaySummary, sources: Sequence[str], limit_bytes: int) -> None:
    """Add a finding on batches above the decompression limit, if a higher limit is possible."""
    if limit_bytes < MOST_DECOMPRESSED_BATCH_BYTES:
        found = too_large(summary.left_spans, limit_bytes, summary.lake, sources)
        summary.findings.add(found)


def _replay_source(
    replicas: Iterable[Replica], context: RunContext, summary: ReplaySummary
) -> None:
    """Fill the gaps of one cluster, with the isolation level of each topic's ingests."""
    _, ledger = published(context, [])
    topics = [topic for topic in ledger.topics if context.settings.select.selects_topic(topic)]
    for isolation in Isolation:
        of_isolation = [topic for topic in topics if ledger.isolations.get(topic) == isolation]
        if of_isolation:
            chosen = [replica for replica in replicas if replica.key.topic in of_isolation]
            _replay_topics(of_isolation, chosen, context.with_isolation(isolation), summary)


def _replay_topics(
    topics: Sequence[str],
    replicas: Sequence[Replica],
    context: RunContext,
    summary: ReplaySummary,
) -> None:
    kept = partial(quarantined_sources, context.tables, context.source_id)
    if summary.is_dry_run:
        found = [repair(replicas, context, topics=topics, kept=kept)]
    else:
        filled = repair(replicas, context, kept=kept)
        found = [filled, repair_from(kept, topics, context)]
    summary.add(*found)
    fills = [fill for search in found for fill in search.planned_fills]
    left = repair_state(context, topics)
    summary.add_left(left, fills)
    searched = [search.absent for search in found]
    absent = standing_tier_gaps(replicas, searched, left.gaps, left.ledger)
    summary.findings.add_reasons(FindingKind.LEFT_OUT, tier_gap_reasons(absent))
