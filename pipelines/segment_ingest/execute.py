"""Runs one wave: decode in tasks, balance, write the driver's files, commit. Effect."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from lake.delta_commit import TopicWave, commit_wave, versions
from lake.delta_tables import LakeTables
from lake.engine import Engine
from lake.parquet_files import DataFile, ParquetFile
from lake.storage import Storage
from lake.tables import CHECKPOINTS, GAPS, Table
from pipelines.segment_ingest.decoding.decode import decode
from pipelines.segment_ingest.decoding.quarantine_rows import RowStamp, gaps_table
from pipelines.segment_ingest.decoding.tasks import DecodeSettings, StretchReport, TaskReport
from pipelines.segment_ingest.planning.balance import failures_of
from pipelines.segment_ingest.planning.coverage import Coverage
from pipelines.segment_ingest.planning.plan import RangePlan, Wave
from pipelines.segment_ingest.planning.seams import (
    LedgerStamp,
    RangeResult,
    gap_rows,
    joined,
    ledger_rows,
)
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.settings import Isolation, Settings

_WRITTEN_AT_A_TIME = 16


@dataclass(frozen=True, slots=True)
class RunContext:
    """What every wave of a run needs; the clock is read here and in `run` only."""

    tables: LakeTables
    source_id: str
    run_id: str
    settings: Settings
    engine: Engine
    reporter: RunReporter
    after: Callable[[str], None]
    started_at_us: int

    @property
    def storage(self) -> Storage:
        """Serves the sources and the lake."""
        return self.tables.storage


def no_more_rows(results: Sequence[RangeResult]) -> Mapping[str, Sequence[DataFile]]:
    """Nothing is committed but what the tasks wrote."""
    return {}


@dataclass(frozen=True, slots=True)
class WaveResult:
    """What a wave brought: ranges committed, topics lost to another run, partitions left out."""

    committed: tuple[RangeResult, ...]
    lost: tuple[str, ...]
    left_out: dict[str, str]
    written_bytes: int


def published(context: RunContext, topics: Sequence[str]) -> tuple[dict[str, int], Coverage]:
    """The published generation of each topic, and then what is covered: in this order, so that a
    commit in between makes ours fail. One that is decided and not in the ledger yet does so too."""
    tables = context.tables
    if not tables.exists():
        return dict.fromkeys(topics, 0), Coverage([])
    found = versions(tables, context.source_id, topics)
    generations = {topic: version.checkpoints for topic, version in found.items()}
    return generations, Coverage(tables.ledger(context.source_id).to_pylist())


def decode_settings(context: RunContext) -> DecodeSettings:
    """What the tasks of a run need to know of it; each attempt to commit adds its own id."""
    settings = context.settings
    return DecodeSettings(
        context.storage,
        context.tables.lake_path,
        context.source_id,
        context.run_id,
        "",
        context.started_at_us,
        settings.read.isolation is Isolation.READ_UNCOMMITTED,
        settings.read.window_bytes,
        settings.read.decoded_bytes,
        settings.limits.max_decompressed_batch_bytes,
        settings.quarantine.max_raw_bytes,
        settings.write.target_file_bytes,
        settings.write.compression_level,
    )


def run_wave(
    wave: Wave,
    generations: dict[str, int],
    context: RunContext,
    *,
    more_rows: Callable[[Sequence[RangeResult]], Mapping[str, Sequence[DataFile]]] = no_more_rows,
) -> WaveResult:
    """Execute and commit one wave.

    Args:
        generations: of each topic as it was before the ledger was read; a topic committed here is
            counted up.
        more_rows: asked for files to commit along, by topic, when it is known what was decoded.
    """
    attempt_id = str(uuid.uuid4())
    counting = context.reporter.counting("decoding", [task.size_bytes for task in wave.tasks])
    tasks = [task.of_attempt(attempt_id) for task in wave.tasks]
    reports = context.engine.run(decode, tasks, on_done=counting)
    failed = failures_of(wave, reports)
    results, left_out = _results(wave, reports, failed)
    files = [
        file for index, report in enumerate(reports) if index not in failed for file in report.files
    ]
    if not results:
        return WaveResult((), (), left_out, 0)
    context.reporter.step("committing")
    files += [file for own in more_rows(results).values() for file in own]
    topics = _topic_waves(results, files, generations, attempt_id, context)
    outcome = commit_wave(
        context.tables,
        context.source_id,
        attempt_id,
        context.run_id,
        topics,
        time.time_ns() // 1_000_000,
        after=context.after,
    )
    won = frozenset(outcome.committed)
    for topic in won:
        generations[topic] += 1
    committed = [r for r in results if r.plan.partition.replica.key.topic in won]
    written = sum(file.size_bytes for each in topics if each.topic in won for file in each.files)
    return WaveResult(tuple(committed), outcome.lost, left_out, written)


def _results(
    wave: Wave, reports: list[TaskReport], failed: dict[int, str]
) -> tuple[list[RangeResult], dict[str, str]]:
    """The ranges whose every piece is there, and why the others are left out."""
    by_stretch: dict[int, StretchReport | str] = {}
    for index, (task, report) in enumerate(zip(wave.tasks, reports, strict=True)):
        reasons = dict(report.failures)
        for stretch_index, stretch in enumerate(task.stretches):
            done = report.reports[stretch_index]
            if index in failed:
                by_stretch[id(stretch)] = failed[index]
            elif done is None:
                by_stretch[id(stretch)] = f"{stretch.key}: {reasons[stretch_index]}"
            else:
                by_stretch[id(stretch)] = done
    results: list[RangeResult] = []
    left_out: dict[str, str] = {}
    for each in wave.ranges:
        found = [by_stretch[id(stretch)] for stretch in each.stretches]
        reason = next((report for report in found if isinstance(report, str)), None)
        if reason is not None:
            left_out[_name(each)] = reason
            continue
        result = joined(each, [r for r in found if not isinstance(r, str)])
        if result.next_offset > each.start_offset:  # else its bound lies in its first batch
            results.append(result)
    return results, left_out


def _name(plan: RangePlan) -> str:
    return str(plan.partition.replica.key)


def _topic_waves(
    results: list[RangeResult],
    files: list[DataFile],
    generations: dict[str, int],
    attempt_id: str,
    context: RunContext,
) -> list[TopicWave]:
    stamp = RowStamp(context.source_id, context.run_id, attempt_id)
    ledger_stamp = LedgerStamp(stamp, time.time_ns() // 1000)
    by_topic: dict[str, list[RangeResult]] = {}
    for result in results:
        by_topic.setdefault(result.plan.partition.replica.key.topic, []).append(result)
    files_by_topic: dict[str, list[DataFile]] = {}
    for file in files:
        files_by_topic.setdefault(file.topic, []).append(file)

    def wave_of(topic: str) -> TopicWave:
        generation = generations[topic] + 1
        own = by_topic[topic]
        driver_files = []
        gaps = [row for each in own for row in gap_rows(each, stamp)]
        if gaps:
            driver_files += write_rows(context, GAPS, topic, gaps_table(gaps))
        ledger = ledger_rows(own, generation, ledger_stamp, context.settings)
        driver_files += write_rows(context, CHECKPOINTS, topic, ledger)
        own_files = files_by_topic.get(topic, [])
        return TopicWave(topic, generation, (*own_files, *driver_files))

    with ThreadPoolExecutor(_WRITTEN_AT_A_TIME) as pool:  # far away each takes a while
        return list(pool.map(wave_of, sorted(by_topic)))


def write_rows(
    context: RunContext, table: Table, topic: str, rows: pa.RecordBatch
) -> list[DataFile]:
    tables = context.tables
    with ParquetFile(tables.storage, tables.lake_path, table, topic) as file:
        file.write(rows)
        done = file.close()
    return [] if done is None else [done]
