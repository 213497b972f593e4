"""Runs waves: decodes in tasks, checks that all offsets are accounted for, and commits."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import pyarrow as pa

from seglake.grouping import grouped
from seglake.ingest_steps.committing.balance import failures_of
from seglake.ingest_steps.committing.range_result import (
    RangeResult,
    combine_reports,
    ledger_rows,
)
from seglake.ingest_steps.planning.plan import RangePlan, Wave, plan_waves
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.commit_protocol import Outcome
from seglake.lake.delta_commit import commit_wave
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.tables import CHECKPOINTS, GAPS, Table
from seglake.lake.waves import TopicWave
from seglake.log_tables.ledger_layers import RangeKind
from seglake.log_tables.quarantine_rows import RowStamp, gap_row
from seglake.segment_decoding.task_functions import decode
from seglake.segment_decoding.tasks import SplitReport, TaskReport
from seglake.storage.many_requests import each

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WaveResult:
    """Result of committed waves; a wave is the segment data of one commit.

    Attributes:
        committed: committed ranges.
        lost: topics that are not committed because another run committed to them first.
        left_out: partitions that are not committed, each with the reason.
        written_bytes: size of the committed files.
    """

    committed: tuple[RangeResult, ...] = ()
    lost: frozenset[str] = frozenset()
    left_out: Mapping[str, str] = field(default_factory=dict)
    written_bytes: int = 0


class WaveFiles(Protocol):
    """Source of additional files to commit together with the ranges of each wave."""

    def files(self, results: Sequence[RangeResult], /) -> Mapping[str, Sequence[DataFile]]:
        """Return the files to commit with these decoded ranges, by topic."""

    def settle(self, done: WaveResult, /) -> None:
        """Record which ranges of a wave were committed."""


def planned_waves(ranges: Sequence[RangePlan], context: RunContext) -> list[Wave]:
    """Return the ranges as waves, which are at most as large as the settings allow."""
    if not ranges:
        return []
    write, read = context.settings.write, context.settings.read
    return plan_waves(ranges, write.wave_bytes, read.split_bytes, context.lake_decoding)


def run_waves(
    waves: Sequence[Wave], generations: dict[str, int], context: RunContext, extra: WaveFiles
) -> WaveResult:
    """Run and commit wave by wave, and return the sum of the results.

    Args:
        waves: the waves, in order.
        generations: commit counter of each topic, read before the ledger; each commit increments
            the counter.
        context: the run.
        extra: provides further files for each commit.
    """
    if waves:
        context.require_writable()
    done: list[WaveResult] = []
    with context.reporter.measuring(sum(wave.size_bytes for wave in waves)):
        for wave in waves:
            done.append(_run(wave, generations, context, extra))
            extra.settle(done[-1])
    return WaveResult(
        committed=tuple(result for each in done for result in each.committed),
        lost=frozenset(topic for each in done for topic in each.lost),
        left_out={name: reason for each in done for name, reason in each.left_out.items()},
        written_bytes=sum(each.written_bytes for each in done),
    )


def _run(
    wave: Wave, generations: dict[str, int], context: RunContext, extra: WaveFiles
) -> WaveResult:
    attempt_id = str(uuid.uuid4())
    following = {topic: generation + 1 for topic, generation in generations.items()}
    tasks = [task.of_attempt(attempt_id, following) for task in wave.tasks]
    sizes = [task.size_bytes for task in tasks]
    reports = context.reporter.run_tasks(
        context.engine, decode, tasks, sizes=sizes, text="decoding"
    )
    failed = failures_of(wave, reports)
    results, left_out = _results(wave, reports, failed)
    _log_decoded(wave, results, left_out, attempt_id)
    files = [
        file for index, report in enumerate(reports) if index not in failed for file in report.files
    ]
    if not results:
        return WaveResult(left_out=left_out)
    context.reporter.step("committing")
    files += [file for of_topic in extra.files(results).values() for file in of_topic]
    topics = _topic_waves(results, files, generations, attempt_id, context)
    outcome = _commit(topics, attempt_id, generations, context)
    won = frozenset(outcome.committed)
    committed = [r for r in results if r.key.topic in won]
    written = sum(file.size_bytes for topic in topics if topic.topic in won for file in topic.files)
    return WaveResult(tuple(committed), frozenset(outcome.lost), left_out, written)


def commit_files(
    files: Mapping[str, Sequence[DataFile]],
    attempt_id: str,
    generations: dict[str, int],
    context: RunContext,
) -> tuple[str, ...]:
    """Commit the driver's files; return the topics that another run committed to first.

    Args:
        files: files by topic.
        attempt_id: id of the commit.
        generations: commit counter of each topic; each commit raises it.
        context: the run.
    """
    waves = [
        TopicWave(topic, generations[topic] + 1, tuple(of_topic))
        for topic, of_topic in sorted(files.items())
        if of_topic
    ]
    if not waves:
        return ()
    context.require_writable()
    return _commit(waves, attempt_id, generations, context).lost


def _commit(
    waves: Sequence[TopicWave], attempt_id: str, generations: dict[str, int], context: RunContext
) -> Outcome:
    """Commit to all tables, and raise the generations of the committed topics."""
    attempt = context.attempt(attempt_id)
    outcome = commit_wave(context.tables, attempt, waves, after=context.after)
    for topic in outcome.committed:
        generations[topic] += 1
        _LOG.debug("attempt %s: committed %s generation=%d", attempt_id, topic, generations[topic])
    for topic in outcome.lost:
        _LOG.debug("attempt %s: another run committed %s first", attempt_id, topic)
    return outcome


def _log_decoded(
    wave: Wave, results: Sequence[RangeResult], left_out: Mapping[str, str], attempt_id: str
) -> None:
    counts = [result.totals for result in results]
    _LOG.debug(
        "attempt %s: decoded ranges=%d/%d records=%d batches=%d quarantined=%d gaps=%d",
        *(attempt_id, len(results), len(wave.ranges)),
        *(sum(each.records for each in counts), sum(each.batches for each in counts)),
        *(sum(each.quarantined_batches for each in counts), sum(each.gaps for each in counts)),
    )
    for reason in left_out.values():
        _LOG.debug("attempt %s: left out %s", attempt_id, reason)


def _results(
    wave: Wave, reports: list[TaskReport], failed: dict[int, str]
) -> tuple[list[RangeResult], dict[str, str]]:
    """Return the complete ranges, and why the others are incomplete, by partition."""
    by_split: dict[int, SplitReport | str] = {}
    for index, (task, report) in enumerate(zip(wave.tasks, reports, strict=True)):
        reasons = dict(report.failures)
        for number, (split, done) in enumerate(zip(task.splits, report.reports, strict=True)):
            found = failed.get(index, done)
            by_split[id(split)] = f"{split.key}: {reasons[number]}" if found is None else found
    results: list[RangeResult] = []
    left_out: dict[str, str] = {}
    for plan in wave.ranges:
        pieces = [by_split[id(split)] for split in plan.splits]
        reason = next((piece for piece in pieces if isinstance(piece, str)), None)
        if reason is not None:
            left_out[str(plan.key)] = reason
            continue
        result = combine_reports(plan, [piece for piece in pieces if not isinstance(piece, str)])
        # A range has no rows if its upper bound is inside its first batch.
        is_empty = result.next_offset == plan.start_offset
        if plan.kind is RangeKind.REFILL:
            # A refill without rows is no error: the copy has no record that the lake lacks.
            is_empty = not (result.totals.batches or result.totals.quarantined_batches)
        if not is_empty or (plan.is_end and result.totals.quarantined_batches):
            results.append(result)
    return results, left_out


def _topic_waves(
    results: list[RangeResult],
    files: list[DataFile],
    generations: dict[str, int],
    attempt_id: str,
    context: RunContext,
) -> list[TopicWave]:
    stamp = RowStamp(context.source_id, context.run_id, attempt_id)
    now = datetime.now(UTC)
    by_topic = grouped((result.key.topic, result) for result in results)
    files_by_topic = grouped((file.topic, file) for file in files)

    def wave_of(topic: str) -> TopicWave:
        generation = generations[topic] + 1
        ranges = by_topic[topic]
        of_topic = files_by_topic.get(topic, [])
        gaps = [gap_row(*gap, stamp) for done in ranges for gap in done.gaps]
        if gaps:
            of_topic += write_rows(context, GAPS, topic, GAPS.to_arrow(gaps))
        ledger = [
            {**ledger_columns(done.key, generation, attempt_id, now, context), **row}
            for done in ranges
            for row in ledger_rows(done, generation)
        ]
        of_topic += write_ledger(context, topic, ledger)
        return TopicWave(topic, generation, tuple(of_topic))

    tables = context.tables
    return each(wave_of, sorted(by_topic), storage=tables.storage, path=tables.lake_path)


# Any: a row's columns have many types.
def ledger_columns(
    key: PartitionKey, generation: int, attempt_id: str, now: datetime, context: RunContext
) -> dict[str, Any]:
    """Return the columns of a ledger row that identify its commit."""
    return {
        "source_id": context.source_id,
        **key._asdict(),
        "isolation": str(context.settings.read.isolation),
        "upper_bound": str(context.settings.read.upper_bound),
        "run_id": context.run_id,
        "attempt_id": attempt_id,
        "committed_at": now,
        "generation": generation,
    }


def write_ledger(context: RunContext, topic: str, rows: Sequence[dict[str, Any]]) -> list[DataFile]:
    """Write rows of `checkpoints`, and return the files."""
    table = pa.RecordBatch.from_pylist(rows, schema=CHECKPOINTS.schema)
    return write_rows(context, CHECKPOINTS, topic, table)


def write_rows(
    context: RunContext, table: Table, topic: str, rows: pa.RecordBatch
) -> list[DataFile]:
    """Write rows of a table, and return the files. Without rows, write nothing."""
    tables = context.tables
    with ParquetFile(tables.storage, tables.lake_path, table, topic) as file:
        file.write(rows)
        done = file.close()
    return [] if done is None else [done]
