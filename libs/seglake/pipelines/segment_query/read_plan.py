"""Plans the reads of a query, as an ingest into an empty lake would.

Lists folders and reads headers, in this process.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Self

from seglake.findings.shown_offsets import shown_ranges
from seglake.grouping import grouped
from seglake.ingest_steps.planning.partitions import (
    ListedPartition,
    SurveyedPartition,
    listed_partitions,
)
from seglake.ingest_steps.planning.plan import (
    RangePlan,
    plan_end,
    plan_ranges,
    plan_waves,
)
from seglake.ingest_steps.planning.replica_survey import survey_partitions
from seglake.ingest_steps.planning.unread_data import UnreadLog, unread_data
from seglake.ingest_steps.run_context import (
    ScanContext,
    list_selected,
)
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged, subtracted
from seglake.kafka_log.replica import PartitionKey, RemoteGap
from seglake.kafka_log.unread_segments import described
from seglake.log_dirs.discovery import Discovery
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.segment_query.errors import DataLossError
from seglake.pipelines.segment_query.record_stream import StreamDamage
from seglake.progress.run_reporter import RunReporter
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX, parse_folder_name
from seglake.segment_decoding.tasks import DecodeTask
from seglake.settings.settings import Settings
from seglake.storage.storage import Storage
from seglake.task_engine.engine import LocalEngine

_NO_TIER = "they are only in a remote tier: give the tier as one more source"


class Requested(NamedTuple):
    """Requested data of a query.

    Attributes:
        topics: names of topics; None for all.
        partitions: numbers of partitions; None for all.
        offsets: half-open range.
    """

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    offsets: OffsetRange = (0, OFFSET_MAX)

    def with_topics(self, topics: Iterable[str]) -> Self:
        """Return the request restricted to these topics."""
        requested = frozenset(topics)
        return self._replace(topics=requested if self.topics is None else self.topics & requested)

    def with_partitions(self, partitions: Iterable[int]) -> Self:
        """Return the request restricted to these partitions."""
        requested = frozenset(partitions)
        return self._replace(
            partitions=requested if self.partitions is None else self.partitions & requested
        )

    def with_offsets(self, start: int | None, stop: int | None) -> Self:
        """Return the request restricted to these offsets; None for no bound."""
        first, following = self.offsets
        first = max(first, 0 if start is None else start)
        following = min(following, OFFSET_MAX if stop is None else stop)
        return self._replace(offsets=(min(first, OFFSET_MAX), max(following, 0)))

    def includes(self, key: PartitionKey) -> bool:
        """Return whether data of a partition is requested."""
        return (self.topics is None or key.topic in self.topics) and (
            self.partitions is None or key.partition in self.partitions
        )


def plan_reads(
    sources: Sequence[str],
    storage: Storage,
    settings: Settings,
    requested: Requested,
    *,
    fails_on_loss: bool,
) -> list[DecodeTask]:
    """Return the tasks that read the requested data; each record is read by exactly one task.

    Of several replicas of a partition, only the one that a run would choose is read.

    Args:
        sources: log dirs, partition folders, or folders above log dirs: paths or URIs.
        storage: the storage of the sources.
        settings: settings that select topics, and limit the size of tasks.
        requested: the requested data.
        fails_on_loss: whether to raise an error for missing data.

    Raises:
        WrongSourceError, NothingSelectedError: a wrong call.
        DataLossError: a file or offsets between files are missing, a segment is compressed, or a
            broker has two logs of a partition; raised only with `fails_on_loss`.
    """
    with query_context(storage, settings) as scan:
        discovery = list_selected(sources, scan)
        replicas = [replica for replica in discovery.replicas if requested.includes(replica.key)]
        offsets = {replica.key: (requested.offsets,) for replica in replicas}
        listed = listed_partitions(replicas, SourceLedger(), storage)
        plan = plan_logs(listed, offsets, scan)
    if fails_on_loss:
        second = (duplicate.reason for log in listed for duplicate in log.duplicates)
        losses = (loss.text for loss in plan.losses)
        for reason in [*unreadable(discovery, requested), *second, *losses]:
            raise DataLossError(reason)
    decoding = scan.decoding(discovery.source_id)
    waves = plan_waves(plan.ranges, settings.write.wave_bytes, settings.read.split_bytes, decoding)
    return [task for wave in waves for task in wave.tasks]


@contextmanager
def query_context(storage: Storage, settings: Settings) -> Iterator[ScanContext]:
    """Yield a context that plans a query in this process, without output."""
    with LocalEngine(1) as engine:
        yield ScanContext(
            storage=storage,
            settings=settings,
            engine=engine,
            reporter=RunReporter(io.StringIO(), verbosity=-1),
        )


class QueryPlan(NamedTuple):
    """Plan of a query over some logs.

    Attributes:
        partitions: the surveyed logs.
        ranges: ranges to read, ordered by log and offset.
        losses: damage and missing offsets that the headers show.
    """

    partitions: Sequence[SurveyedPartition]
    ranges: Sequence[RangePlan]
    losses: Sequence[StreamDamage]


def plan_logs(
    logs: Iterable[ListedPartition],
    requested: Mapping[PartitionKey, Sequence[OffsetRange]],
    scan: ScanContext,
) -> QueryPlan:
    """Survey the replicas of some partitions, and plan the requested offsets of each.

    Args:
        logs: the partitions with their replicas.
        requested: ranges of offsets, at least one of each partition.
        scan: reads the headers.
    """
    listed = [log.lacking(requested[log.key]) for log in logs]
    partitions = survey_partitions(listed, scan)
    surveyed = {partition.key: partition for partition in partitions}
    unread = [log for each in listed for log in unread_data(each, surveyed.get(each.key)).unread]
    ranges: list[RangePlan] = []
    losses = [_unread(log) for log in unread if log.ranges]
    for partition in partitions:
        end = plan_end(partition, scan.settings)
        planned = [*plan_ranges(partition, scan.settings), *([] if end is None else [end])]
        ranges += map(_cut_to_fit, planned)
        losses += _losses(partition, requested[partition.replica.key])
    return QueryPlan(partitions, ranges, losses)


def unreadable(discovery: Discovery, requested: Requested) -> Iterator[str]:
    """Yield the reasons why requested folders and files cannot be read."""
    places = [(files.place, files.reason) for files in discovery.unaccounted]
    for name, reason in [*discovery.unreadable.items(), *places]:
        folder = parse_folder_name(name)
        if folder is None or requested.includes(PartitionKey(folder.topic, folder.partition, None)):
            yield reason


def _unread(log: UnreadLog) -> StreamDamage:
    text = f"{log.key}: {described(log.segments, f' in {log.folder}')}"
    return StreamDamage(text, after_offset=log.ranges[0][0] - 1)


def _cut_to_fit(plan: RangePlan) -> RangePlan:
    """Return the plan with batches cut at its ends.

    An ingest would leave such batches to a later run.
    """
    splits = tuple(split._replace(cuts_end=True) for split in plan.splits)
    return replace(plan, splits=splits)


def _in_tier(partition: SurveyedPartition, requested: OffsetRange) -> Iterator[StreamDamage]:
    """Yield the requested offsets that only a remote tier has, with the reason; each once."""
    bounds = partition.bounds
    gaps = [*partition.replica.remote_gaps]
    known = [(gap.start_offset, gap.next_offset) for gap in gaps]
    below = subtracted((bounds.remote_offset, bounds.log_start_offset), merged(known))
    gaps += [RemoteGap(start, stop, _NO_TIER) for start, stop in below]
    by_reason = grouped((gap.reason, (gap.start_offset, gap.next_offset)) for gap in gaps)
    for reason, ranges in by_reason.items():
        if found := common(merged(ranges), requested):
            text = f"{partition.key}: the offsets {shown_ranges(found)} are not read: {reason}"
            yield StreamDamage(text, after_offset=found[0][0] - 1, is_in_tier=True)


def _losses(
    partition: SurveyedPartition, requested: Sequence[OffsetRange]
) -> Iterator[StreamDamage]:
    """Yield the damage that no task finds: unreadable files, and offsets missing between files."""
    key = partition.replica.key
    offsets = min(start for start, _ in requested), max(stop for _, stop in requested)
    cleaner_offset = partition.replica.checkpoints.cleaner_offset or 0
    yield from _in_tier(partition, offsets)
    reached: int | None = None
    is_damaged = False  # the task that reads the damage reports the offsets that it hides
    for file, survey in zip(partition.surveyed_segments, partition.surveys, strict=True):
        if survey.missing is not None:
            yield StreamDamage(f"{key}: {survey.missing}", after_offset=file.base_offset - 1)
        # The previous segment must end at the offset in this segment's name.
        stop = min(file.base_offset, offsets[1], partition.bounds.next_offset)
        start = None if is_damaged else reached
        if start is not None and max(start, cleaner_offset, offsets[0]) < stop:
            text = f"{key}: no segment has the offsets [{start}, {file.base_offset})"
            yield StreamDamage(text, after_offset=start - 1)
        reached = max(reached or 0, survey.next_offset)
        is_damaged = survey.is_cut_open
