"""The order of a replay: gaps are filled from kept bytes and from other copies. Effect."""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace

from lake.delta_commit import recover
from lake.delta_tables import LakeTables
from lake.engine import Engine
from lake.errors import LakeFolderError
from lake.storage import Storage
from pipelines.segment_ingest.execute import RunContext, published
from pipelines.segment_ingest.progress import RunReporter, show_count
from pipelines.segment_ingest.repairing.kept_bytes import kept_copies
from pipelines.segment_ingest.repairing.repair import fill, repair, repair_state
from pipelines.segment_ingest.settings import Isolation, Settings
from pipelines.segment_ingest.sources.discover import discover
from pipelines.segment_ingest.sources.partition_log import Replica
from pipelines.segment_ingest.summary import IngestSummary

_DONE, _LOOK = 0, 3


@dataclass(slots=True)
class ReplaySummary:
    """What a replay brought, and what is left.

    Attributes:
        left_spans: quarantined spans that nothing resolves yet, by defect code.
        left_offsets: offsets of gaps that still stand, by cause; not those the cleaner took.
    """

    run_id: str
    lake: str
    repaired_gaps: int = 0
    repaired_records: int = 0
    left_spans: dict[str, int] = field(default_factory=dict)
    left_offsets: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        return _LOOK if self.left_out else _DONE

    def to_json(self) -> str:
        """One line."""
        return json.dumps({**asdict(self), "exit_code": self.exit_code}, sort_keys=True)

    def to_text(self) -> str:
        """A few lines, the most important first."""
        lines = [
            f"{show_count(self.repaired_records, 'record')} came into "
            f"{show_count(self.repaired_gaps, 'gap')} "
            f"({self.seconds:.1f} s)"
            if self.repaired_gaps
            else f"nothing could be filled in ({self.seconds:.1f} s)"
        ]
        spans = ", ".join(f"{count} {code}" for code, count in sorted(self.left_spans.items()))
        if spans:
            lines.append(f"still quarantined: {spans}")
        offsets = ", ".join(f"{count} {why}" for why, count in sorted(self.left_offsets.items()))
        if offsets:
            lines.append(f"offsets that are still not there: {offsets}")
        lines += [f"left out: {reason}" for reason in self.left_out.values()]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


def replay(
    lake: str,
    sources: Sequence[str],
    storage: Storage,
    settings: Settings,
    engine: Engine,
    reporter: RunReporter,
    *,
    run_id: str | None = None,
    after: Callable[[str], None] = lambda step: None,
) -> ReplaySummary:
    """Decode again what lies in quarantine, and take what other copies have of it, exactly once.

    Args:
        sources: log dirs with other copies; none: only the bytes kept in the lake.
        after: called with the name of each step of a commit, for tests that stop there.

    Raises:
        LakeFolderError, WrongSourceError: a wrong call; nothing was touched.
        LakeError: the lake or a worker failed; what was committed stays, run again.
    """
    started = time.monotonic()
    lake_path = storage.locate(lake)
    tables = LakeTables(lake_path, storage)
    if not tables.exists():
        reason = "it has no tables; `seglake ingest` makes them"
        raise LakeFolderError(path=lake_path, reason=reason)
    summary = ReplaySummary(run_id or uuid.uuid4().hex, lake_path)
    replicas: dict[str, tuple[Replica, ...]] = {}
    if sources:
        reporter.step("listing the sources")
        discovery = discover(sources, storage, settings)
        replicas[discovery.source_id] = discovery.replicas
        summary.notes += discovery.notes
        summary.left_out |= discovery.unreadable
    source_ids = tables.source_ids()
    summary.notes += [
        f"the lake has nothing of cluster {source_id}, so its disks fill no gap"
        for source_id in replicas
        if source_id not in source_ids
    ]
    for source_id in source_ids:
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
    repair(replicas, context, done)
    state = repair_state(context, topics)
    with kept_copies(context.tables, context.source_id, state) as copies:
        fill(copies, state, context, done, is_replay=True)
    summary.repaired_gaps += done.repaired_gaps
    summary.repaired_records += done.repaired_records
    summary.left_out |= done.left_out
    summary.notes += done.notes
    left = repair_state(context, topics)
    for row in (row for rows in left.damage.values() for row in rows):
        code = row["defect_code"]
        summary.left_spans[code] = summary.left_spans.get(code, 0) + 1
    for gap in (gap for gaps in left.gaps.values() for gap in gaps):
        offsets = gap.next_offset - gap.start_offset
        summary.left_offsets[gap.cause] = summary.left_offsets.get(gap.cause, 0) + offsets
