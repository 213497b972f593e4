"""The order of an ingest run, and nothing else. Effect."""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lake.delta_commit import recover, versions
from lake.delta_tables import LakeTables
from lake.engine import Engine
from lake.storage import Storage, open_storage
from pipelines.segment_ingest.bounds import bounds_of
from pipelines.segment_ingest.coverage import Coverage
from pipelines.segment_ingest.discover import Discovery, discover
from pipelines.segment_ingest.errors import IsolationConflictError, WrongSourceError
from pipelines.segment_ingest.execute import RunContext, run_wave
from pipelines.segment_ingest.partition_log import Replica
from pipelines.segment_ingest.plan import (
    RangePlan,
    SurveyedPartition,
    Wave,
    plan_ranges,
    plan_waves,
)
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.replicas import choose
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.summary import IngestSummary
from pipelines.segment_ingest.survey import survey_segments
from pipelines.segment_ingest.survey_plan import survey_groups, walked_bytes, with_surveys
from pipelines.segment_ingest.tasks import DecodeSettings

_MOST_ROUNDS = 5
_MOST_INLINE_GROUPS = 4


def ingest(
    sources: Sequence[str],
    lake: str,
    settings: Settings,
    engine: Engine,
    reporter: RunReporter,
    *,
    run_id: str | None = None,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
) -> IngestSummary:
    """Take what is new in the sources into the lake's tables, exactly once.

    Args:
        engine: runs the tasks; the caller opens and closes it.
        run_id: a label for the rows; made up when None.
        dry_run: plan only; nothing is written, not even the tables.
        after: called with the name of each step of a commit, for tests that stop there.

    Raises:
        WrongSourceError, IsolationConflictError: a wrong call; nothing was touched.
        LakeError: the lake or a worker failed; what was committed stays, run again.
    """
    started = time.monotonic()
    reporter.step("listing the sources")
    storage, lake_path = open_storage(lake)
    discovery = discover(sources, settings)
    _check_apart(discovery, storage, lake_path)
    tables = LakeTables(lake_path, storage)
    summary = IngestSummary(run_id or uuid.uuid4().hex, discovery.source_id, lake_path, dry_run)
    replicas: Sequence[Replica] = discovery.replicas
    summary.notes += discovery.notes
    summary.left_out |= discovery.unreadable
    if not replicas:
        summary.notes.append(_nothing_selected(settings))
    if replicas and not dry_run:
        tables.create_missing()  # first: a place that cannot be a lake is told before the work
        summary.recovered_topics += recover(tables, discovery.source_id)
    context = RunContext(
        tables, discovery.source_id, summary.run_id, settings, engine, reporter, after
    )
    for _ in range(_MOST_ROUNDS):
        lost = _round(replicas, context, summary)
        if not lost:
            break
        # Another run took these topics meanwhile: what it left is planned anew.
        replicas = [replica for replica in replicas if replica.key.topic in lost]
        recover(tables, discovery.source_id, sorted(lost))
    else:
        for topic in sorted(lost):
            summary.left_out[topic] = f"{topic}: other runs kept taking it; run again"
    reporter.clear()
    summary.check_limits(settings)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _nothing_selected(settings: Settings) -> str:
    globs = ", ".join(settings.select.topics)
    if globs:
        return f"no topic of the sources is selected by {globs} (each glob is an option of its own)"
    return "the sources hold no partition of a topic that is not internal"


def _round(replicas: Sequence[Replica], context: RunContext, summary: IngestSummary) -> set[str]:
    """Plan and execute once; the topics that another run took meanwhile."""
    topics = sorted({replica.key.topic for replica in replicas})
    generations, coverage = _progress(context, topics)
    _check_isolation(topics, coverage, context.settings)
    # With the ids that the ledger knows, for copies of one partition must be seen as such.
    chosen, notes = choose(_with_known_id(replica, coverage) for replica in replicas)
    partitions = _survey(chosen, coverage, context)
    summary.begin_round(chosen, partitions, notes, context.settings)
    ranges = _ranges(partitions, context.settings, summary)
    waves = _waves(ranges, context, summary)
    if summary.is_dry_run or not waves:
        return set()
    context.reporter.step(f"decoding {sum(len(wave.tasks) for wave in waves)} tasks")
    lost: set[str] = set()
    for wave in waves:
        result = run_wave(wave, generations, context)
        summary.add(result.committed)
        summary.left_out.update(result.left_out)
        summary.written_bytes += result.written_bytes
        taken = {each.plan.partition.replica.key.topic for each in result.committed}
        summary.topics = sorted({*summary.topics, *taken})
        lost |= set(result.lost)
    return lost


def _check_apart(discovery: Discovery, storage: Storage, lake_path: str) -> None:
    """The sources are never written to, so the lake may not lie in a log dir."""
    place = storage.without_links(lake_path)
    for log_dir in discovery.log_dirs:
        if f"{place}/".startswith(f"{storage.without_links(log_dir)}/"):
            raise WrongSourceError(
                f"the lake {lake_path} lies inside the log dir {log_dir}: give another folder, "
                "sources are never written to"
            )


def _progress(context: RunContext, topics: Sequence[str]) -> tuple[dict[str, int], Coverage]:
    """The published generation of each topic, and then what is covered: in this order, so that a
    commit in between makes ours fail. One that is decided and not in the ledger yet does so too."""
    tables = context.tables
    if not tables.exists():
        return dict.fromkeys(topics, 0), Coverage([])
    found = versions(tables, context.source_id, topics)
    generations = {topic: version.checkpoints for topic, version in found.items()}
    return generations, Coverage(tables.ledger(context.source_id).to_pylist())


def _check_isolation(topics: Iterable[str], coverage: Coverage, settings: Settings) -> None:
    asked = str(settings.read.isolation)
    for topic in topics:
        known = coverage.isolation(topic)
        if known is not None and known != asked:
            raise IsolationConflictError(topic=topic, known=known, asked=asked)


def _survey(
    replicas: Sequence[Replica], coverage: Coverage, context: RunContext
) -> list[SurveyedPartition]:
    groups = survey_groups(replicas, coverage, context.settings, _source_storage(replicas))
    sizes = [sum(walked_bytes(request) for request in group) for group in groups]
    context.reporter.step("surveying headers")
    counting = context.reporter.counting("surveying", sizes)
    if sum(sizes) <= context.settings.read.split_bytes and len(groups) <= _MOST_INLINE_GROUPS:
        found = [survey_segments(group) for group in groups]  # sooner done than an engine starts
    else:
        context.engine.start()  # for decoding too: let it happen during the survey
        found = context.engine.run(survey_segments, groups, on_done=counting)
    surveyed = with_surveys(replicas, coverage, context.settings, found)
    return [
        SurveyedPartition(
            replica,
            surveys,
            bounds_of(replica, surveys, context.settings),
            tuple(coverage.ranges(replica.key)),
        )
        for replica, surveys in surveyed
    ]


def _with_known_id(replica: Replica, coverage: Coverage) -> Replica:
    if replica.key.topic_id is not None:
        return replica
    known = coverage.latest_topic_id(replica.key.topic, replica.key.partition)
    return replace(replica, key=replica.key._replace(topic_id=known))


def _source_storage(replicas: Sequence[Replica]) -> Storage:
    folder = replicas[0].folder if replicas else "/"
    return open_storage(folder)[0]


def _ranges(
    partitions: Sequence[SurveyedPartition], settings: Settings, summary: IngestSummary
) -> list[RangePlan]:
    ranges: list[RangePlan] = []
    for partition in partitions:
        name = str(partition.replica.key)
        gone = [survey.missing for survey in partition.surveys if survey.missing is not None]
        if gone:
            summary.left_out[name] = f"{name}: {gone[0]}"
            continue
        own = plan_ranges(partition, settings)
        summary.partitions_with_news += bool(own)
        ranges += own
    return ranges


def _waves(ranges: Sequence[RangePlan], context: RunContext, summary: IngestSummary) -> list[Wave]:
    settings = context.settings
    decode_settings = DecodeSettings(
        _source_storage([ranges[0].partition.replica] if ranges else []),
        context.tables.storage,
        context.tables.lake_path,
        context.source_id,
        context.run_id,
        time.time_ns() // 1000,
        settings.read.isolation == "read_uncommitted",
        settings.read.window_bytes,
        settings.read.decoded_bytes,
        settings.limits.max_decompressed_batch_bytes,
        settings.quarantine.max_raw_bytes,
        settings.write.target_file_bytes,
        settings.write.compression_level,
    )
    waves = plan_waves(
        ranges, settings.write.wave_bytes, settings.read.split_bytes, decode_settings
    )
    summary.planned_bytes += sum(wave.size_bytes for wave in waves)
    summary.planned_offsets += sum(each.next_offset - each.start_offset for each in ranges)
    summary.tasks += sum(len(wave.tasks) for wave in waves)
    return waves
