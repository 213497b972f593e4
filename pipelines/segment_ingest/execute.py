"""Runs one wave: decode in tasks, balance, write the driver's files, commit. Effect."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from lake.delta_commit import TopicWave, commit_wave
from lake.delta_tables import LakeTables
from lake.engine import Engine
from lake.parquet_files import DataFile, ParquetFile
from lake.tables import CHECKPOINTS, GAPS, Table
from pipelines.segment_ingest.balance import failures_of
from pipelines.segment_ingest.decode import decode
from pipelines.segment_ingest.plan import RangePlan, Wave
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.quarantine_rows import gaps_table
from pipelines.segment_ingest.seams import (
    LedgerStamp,
    RangeResult,
    gap_rows,
    joined,
    ledger_rows,
)
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.tasks import StretchReport, TaskReport


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


@dataclass(frozen=True, slots=True)
class WaveResult:
    """What a wave brought: ranges committed, topics lost to another run, partitions left out."""

    committed: tuple[RangeResult, ...]
    lost: tuple[str, ...]
    left_out: dict[str, str]
    written_bytes: int


def run_wave(wave: Wave, generations: dict[str, int], context: RunContext) -> WaveResult:
    """Execute and commit one wave.

    Args:
        generations: of each topic as it was before the ledger was read; a topic committed here is
            counted up.
    """
    counting = context.reporter.counting("decoding", [task.size_bytes for task in wave.tasks])
    reports = context.engine.run(decode, wave.tasks, on_done=counting)
    failed = failures_of(wave, reports)
    results, left_out = _results(wave, reports, failed)
    files = [
        file for index, report in enumerate(reports) if index not in failed for file in report.files
    ]
    if not results:
        return WaveResult((), (), left_out, 0)
    context.reporter.step("committing")
    waves = _topic_waves(results, files, generations, context)
    attempt_id = str(waves.attempt_id)
    outcome = commit_wave(
        context.tables,
        context.source_id,
        attempt_id,
        context.run_id,
        waves.topics,
        time.time_ns() // 1_000_000,
        after=context.after,
    )
    for topic in outcome.committed:
        generations[topic] += 1
    committed = [r for r in results if r.plan.partition.replica.key.topic in outcome.committed]
    written = sum(
        file.size_bytes
        for each in waves.topics
        if each.topic in outcome.committed
        for file in each.files
    )
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


@dataclass(frozen=True, slots=True)
class _Attempt:
    attempt_id: uuid.UUID
    topics: tuple[TopicWave, ...]


def _topic_waves(
    results: list[RangeResult],
    files: list[DataFile],
    generations: dict[str, int],
    context: RunContext,
) -> _Attempt:
    attempt_id = uuid.uuid4()
    stamp = LedgerStamp(context.source_id, context.run_id, str(attempt_id), time.time_ns() // 1000)
    by_topic: dict[str, list[RangeResult]] = {}
    for result in results:
        by_topic.setdefault(result.plan.partition.replica.key.topic, []).append(result)
    files_by_topic: dict[str, list[DataFile]] = {}
    for file in files:
        files_by_topic.setdefault(file.topic, []).append(file)
    topics = []
    for topic, own in sorted(by_topic.items()):
        generation = generations[topic] + 1
        driver_files = []
        gaps = [row for each in own for row in gap_rows(each, context.source_id, context.run_id)]
        if gaps:
            driver_files += _write(context, GAPS, topic, gaps_table(gaps))
        ledger = ledger_rows(own, generation, stamp, context.settings)
        driver_files += _write(context, CHECKPOINTS, topic, ledger)
        own_files = files_by_topic.get(topic, [])
        topics.append(TopicWave(topic, generation, (*own_files, *driver_files)))
    return _Attempt(attempt_id, tuple(topics))


def _write(context: RunContext, table: Table, topic: str, rows: pa.RecordBatch) -> list[DataFile]:
    tables = context.tables
    with ParquetFile(tables.storage, tables.lake_path, table, topic) as file:
        file.write(rows)
        done = file.close()
    return [] if done is None else [done]
