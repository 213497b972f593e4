"""The order of a replay: gaps are filled from kept bytes and from other copies. Effect."""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lake.delta_commit import recover
from lake.delta_tables import LakeTables
from lake.engine import Engine
from lake.lake_folder import opening
from lake.storage import Storage
from pipelines.segment_ingest.execute import RunContext, published
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.repairing.repair import (
    expected_repairs,
    repair,
    repair_from_kept_bytes,
)
from pipelines.segment_ingest.repairing.repair_state import repair_state
from pipelines.segment_ingest.replay_summary import ReplaySummary
from pipelines.segment_ingest.settings import Isolation, Settings
from pipelines.segment_ingest.sources.discover import discover
from pipelines.segment_ingest.sources.partition_log import Replica
from pipelines.segment_ingest.summary import IngestSummary


def replay(
    lake: str,
    sources: Sequence[str],
    storage: Storage,
    settings: Settings,
    engine: Engine,
    reporter: RunReporter,
    *,
    run_id: str | None = None,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
) -> ReplaySummary:
    """Decode again what lies in quarantine, and take what other copies have of it, exactly once.

    Args:
        sources: log dirs with other copies; none: only the bytes kept in the lake.
        dry_run: only say what would be filled; nothing is committed. Bytes that are decoded again
            lie in the lake's work folder meanwhile.
        after: called with the name of each step of a commit, for tests that stop there.

    Raises:
        LakeFolderError, WrongSourceError, UnsafeStoreError: a wrong call; nothing was touched.
        LakeError: the lake or a worker failed; what was committed stays, run again.
    """
    started = time.monotonic()
    lake_path = storage.locate(lake)
    tables = LakeTables(lake_path, storage)
    with opening(lake_path):
        tables.require()
        source_ids = tables.source_ids()
    if not (dry_run or settings.write.single_writer):
        tables.require_safe_commits()
    summary = ReplaySummary(run_id or uuid.uuid4().hex, lake_path, dry_run)
    replicas: dict[str, tuple[Replica, ...]] = {}
    if sources:
        reporter.step("listing the sources")
        discovery = discover(sources, storage, settings)
        replicas[discovery.source_id] = discovery.replicas
        summary.notes += discovery.notes
        summary.left_out |= discovery.unreadable
    summary.notes += [
        f"the lake has nothing of cluster {source_id}, so its disks fill no gap"
        for source_id in replicas
        if source_id not in source_ids
    ]
    for source_id in source_ids:
        if not dry_run:
            recover(tables, source_id)
        context = RunContext(
            tables,
            source_id,
            summary.run_id,
            settings,
            engine,
            reporter,
            after,
            time.time_ns() // 1000,
        )
        _replay_source(replicas.get(source_id, ()), context, summary)
    reporter.clear()
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _replay_source(
    replicas: Iterable[Replica], context: RunContext, summary: ReplaySummary
) -> None:
    """Fill the gaps of one source, its topics by the isolation that they were taken with."""
    _, coverage = published(context, [])
    topics = [topic for topic in coverage.topics() if context.settings.select.takes_topic(topic)]
    for isolation in Isolation:
        own = [topic for topic in topics if coverage.isolation(topic) == isolation]
        if own:
            read = replace(context.settings.read, isolation=isolation)
            settings = replace(context.settings, read=read)
            copies = [replica for replica in replicas if replica.key.topic in own]
            _replay_topics(own, copies, replace(context, settings=settings), summary)


def _replay_topics(
    topics: Sequence[str],
    replicas: Sequence[Replica],
    context: RunContext,
    summary: ReplaySummary,
) -> None:
    done = IngestSummary(context.run_id, context.source_id, context.tables.lake_path)
    if summary.is_dry_run:
        expected = expected_repairs(topics, replicas, context, done, is_replay=True)
        summary.planned_gaps += expected.gaps
        summary.planned_offsets += expected.offsets
    else:
        repair(replicas, context, done)
        repair_from_kept_bytes(topics, context, done)
    summary.repaired_gaps += done.repaired_gaps
    summary.repaired_records += done.repaired_records
    summary.left_out |= done.left_out
    summary.contradicted += done.contradicted
    summary.notes += done.notes
    left = repair_state(context, topics)
    summary.add_left(left.left_spans, left.left_offsets)
