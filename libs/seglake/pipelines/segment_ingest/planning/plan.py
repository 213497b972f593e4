"""Wanted minus covered, cut into balanced tasks and waves. Pure.

The plan depends on listings, headers and settings, never on the engine or the number of cores: the
same call gives the same files everywhere.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from seglake.kafka_log.compressed_segments import compressed_ranges
from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.kafka_log.replica_selection import OtherReplica, PartitionChoice
from seglake.kafka_log.segment_survey import SegmentSurvey, SplitPoint
from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.segment_ingest.decoding.tasks import (
    DecodeSettings,
    DecodeTask,
    PartitionSplit,
    SegmentSplit,
)
from seglake.pipelines.settings.settings import Settings
from seglake.segment_codec.transactions import Marker
from seglake.task_engine.packing import packed


@dataclass(frozen=True, slots=True)
class SurveyedPartition:
    """One partition, ready to be planned: the replica that is read, and what bounds its log."""

    choice: PartitionChoice
    bounds: LogBounds
    covered: tuple[OffsetRange, ...]

    @property
    def key(self) -> PartitionKey:
        return self.choice.chosen.key

    @property
    def replica(self) -> Replica:
        return self.choice.chosen

    @property
    def surveys(self) -> tuple[SegmentSurvey, ...]:
        """Of the replica's last segments, in order."""
        return self.choice.surveys

    @property
    def surveyed_segments(self) -> tuple[SegmentFile, ...]:
        return self.replica.segments[len(self.replica.segments) - len(self.surveys) :]

    @property
    def other_replicas(self) -> tuple[OtherReplica, ...]:
        return self.choice.other_replicas

    @property
    def waiting_ranges(self) -> tuple[OffsetRange, ...]:
        """What waits for somebody to decompress segments: their offsets, and those of transactions
        that may have ended there, which nobody has to guess. Merged."""
        compressed = compressed_ranges(self.replica, self.other_replicas)
        doubts = ((found.start_offset, found.next_offset) for found in self.bounds.unknown_outcomes)
        unsettled = [doubt for doubt in doubts if subtracted(doubt, compressed) != [doubt]]
        return tuple(merged([*compressed, *unsettled]))


class RemainingGap(NamedTuple):
    """What a repair says of offsets that the replica lacks as well.

    Attributes:
        cause: the gap's, as it was before.
        explained_range: offsets in the replica's log: there the replica tells the cause.
    """

    cause: GapCause
    explained_range: OffsetRange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePlan:
    """A contiguous range of offsets of one partition: one row of the ledger when it is done.

    Attributes:
        log_start_offset, remote_offset, cleaner_offset: of the log that is read.
        first_log_start_offset: where that log began when this run listed it for the first time.
        bounds: the log's, as this run saw them; None for a repair, which says nothing new of them.
        remaining_gap: of a repair.
    """

    key: PartitionKey
    start_offset: int
    next_offset: int
    splits: tuple[PartitionSplit, ...]
    log_start_offset: int
    remote_offset: int
    first_log_start_offset: int
    cleaner_offset: int
    bounds: LogBounds | None = None
    remaining_gap: RemainingGap | None = None
    kind: RangeKind = RangeKind.INGEST

    @property
    def size_bytes(self) -> int:
        return sum(split.size_bytes for split in self.splits)


@dataclass(frozen=True, slots=True)
class Wave:
    """Ranges that are committed together, and the tasks that decode them, the largest first."""

    ranges: tuple[RangePlan, ...]
    tasks: tuple[DecodeTask, ...]

    @property
    def size_bytes(self) -> int:
        return sum(task.size_bytes for task in self.tasks)


def wanted_ranges(partition: SurveyedPartition, settings: Settings) -> list[OffsetRange]:
    """What the settings want of a partition, the ledger does not cover, and can be read."""
    upper = partition.bounds.next_offset
    start, stop = 0, upper
    if settings.select.from_timestamp_ms is not None:
        start = _first_known((survey.from_offset for survey in partition.surveys), upper)
    if settings.select.to_timestamp_ms is not None:
        stop = min(_first_known((survey.to_offset for survey in partition.surveys), upper), upper)
    taken = merged([*partition.covered, *partition.waiting_ranges])
    return subtracted((start, stop), taken) if start < stop else []


def plan_ranges(partition: SurveyedPartition, settings: Settings) -> list[RangePlan]:
    """The partition's ranges with their splits; a long one is cut so that a wave can end."""
    plans: list[RangePlan] = []
    is_plain = _is_plain(partition)
    for start, stop in wanted_ranges(partition, settings):
        segment_splits = _segment_splits(partition, start, stop, is_plain)
        pieces = _cut(segment_splits, settings.write.wave_bytes) if is_plain else [segment_splits]
        edges = [start, *(piece[0].expected_offset for piece in pieces[1:]), stop]
        for piece, first, following in zip(pieces, edges[:-1], edges[1:], strict=True):
            # Neighbours that fit into one task become one split.
            groups = _cut(piece, settings.read.split_bytes) if is_plain else [piece]
            groups = [group for group in groups if group]
            starts = [first, *(group[0].expected_offset for group in groups[1:])]
            markers = markers_by_piece(partition.bounds.markers, starts)
            splits = tuple(
                _partition_split(partition, tuple(group), first, following, is_plain, group_markers)
                for group, group_markers in zip(groups, markers, strict=False)
            )
            plans.append(_range_plan(partition, first, following, splits))
    return plans


def _range_plan(
    partition: SurveyedPartition, start: int, stop: int, splits: tuple[PartitionSplit, ...]
) -> RangePlan:
    replica, bounds = partition.replica, partition.bounds
    listed_first = replica.planned_start_offset
    return RangePlan(
        key=replica.key,
        start_offset=start,
        next_offset=stop,
        splits=splits,
        log_start_offset=bounds.log_start_offset,
        remote_offset=bounds.remote_offset,
        first_log_start_offset=bounds.log_start_offset if listed_first is None else listed_first,
        cleaner_offset=replica.checkpoints.cleaner_offset or 0,
        bounds=bounds,
    )


def plan_waves(
    ranges: Sequence[RangePlan], wave_bytes: int, task_bytes: int, settings: DecodeSettings
) -> list[Wave]:
    """Ranges in order, as many a wave as its bytes allow, packed into tasks."""
    waves = packed(ranges, lambda plan: plan.size_bytes, wave_bytes)
    return [Wave(tuple(wave), _tasks(wave, task_bytes, settings)) for wave in waves]


def _tasks(
    ranges: Iterable[RangePlan], task_bytes: int, settings: DecodeSettings
) -> tuple[DecodeTask, ...]:
    splits = (split for plan in ranges for split in plan.splits)
    groups = packed(splits, lambda split: split.size_bytes, task_bytes)
    tasks = [DecodeTask(tuple(group), settings) for group in groups]
    return tuple(sorted(tasks, key=lambda task: -task.size_bytes))


def _first_known(offsets: Iterable[int | None], otherwise: int) -> int:
    return next((offset for offset in offsets if offset is not None), otherwise)


def _is_plain(partition: SurveyedPartition) -> bool:
    """Whether offsets rise through all segments and every byte is where it should be."""
    segments = partition.surveyed_segments
    limits = [_limit(partition, index) for index in range(len(segments))]
    return all(
        survey.is_plain and survey.next_offset <= limit
        for survey, limit in zip(partition.surveys, limits, strict=True)
    )


def _limit(partition: SurveyedPartition, index: int) -> int:
    """Offsets from here on cannot be in the segment: where the next one really begins.

    In the last one they are above the end of the log: a batch there has lower ones behind it, and
    nothing proves its own.
    """
    segments = partition.surveyed_segments
    if index + 1 == len(segments):
        return partition.bounds.log_end_offset
    following = partition.surveys[index + 1]
    # Where offsets are missing, what lies above the next name may as well have a false offset.
    is_proved = following.is_plain and not partition.surveys[index].hole_count
    first = following.first_offset if is_proved else None
    return max(segments[index + 1].base_offset, first or 0)


def _segment_splits(
    partition: SurveyedPartition, start: int, stop: int, is_plain: bool
) -> list[SegmentSplit]:
    segments = partition.surveyed_segments
    segment_splits: list[SegmentSplit] = []
    reached = 0
    for index, (file, survey) in enumerate(zip(segments, partition.surveys, strict=True)):
        is_last = index + 1 == len(segments)
        limit = _limit(partition, index)
        is_below = not is_last and limit <= max(start, partition.bounds.log_start_offset)
        if is_below or file.base_offset >= stop or survey.size_bytes == 0:
            continue
        cleaner_offset = partition.replica.checkpoints.cleaner_offset or 0
        template = SegmentSplit(
            file=replace(file, size_bytes=survey.size_bytes),
            start=0,
            stop=survey.size_bytes,
            limit_offset=limit,
            expected_offset=max(file.base_offset, reached) if is_plain else file.base_offset,
            start_crc=-1,
            is_last=is_last,
            is_cleaned=file.base_offset < cleaner_offset,
            is_compacted=survey.has_compacted_batch or survey.next_offset <= cleaner_offset,
            next_offset=survey.next_offset if is_plain else 0,
        )
        segment_splits += _split(template, survey.splits, start, stop) if is_plain else [template]
        reached = survey.next_offset
    return segment_splits


def _split(
    template: SegmentSplit, splits: Sequence[SplitPoint], start: int, stop: int
) -> list[SegmentSplit]:
    """The splits of one segment that hold something of [start, stop)."""
    result: list[SegmentSplit] = []
    for index, split in enumerate(splits):
        following = splits[index + 1] if index + 1 < len(splits) else None
        if split.first_offset >= stop:
            break
        if following is not None and following.first_offset <= start:
            continue
        end = template.next_offset if following is None else following.expected_offset
        result.append(
            replace(
                template,
                start=split.position,
                stop=template.stop if following is None else following.position,
                next_offset=end,
                expected_offset=max(split.expected_offset, template.expected_offset),
                start_crc=split.crc,
            )
        )
    return result


def _cut(segment_splits: Sequence[SegmentSplit], most_bytes: int) -> list[list[SegmentSplit]]:
    """The segment splits in groups; one empty group where there are none."""
    return packed(segment_splits, lambda piece: piece.size_bytes, most_bytes) or [[]]


def markers_by_piece(markers: Sequence[Marker], starts: Sequence[int]) -> list[tuple[Marker, ...]]:
    """What each piece of a log must know to tell how its transactions ended.

    That is the markers inside it, and behind it the next one of each producer.

    Args:
        starts: rising offsets at which the pieces begin; each ends where the next begins.
    """
    rest = sorted(markers)
    behind: dict[int, Marker] = {}
    pieces: list[tuple[Marker, ...]] = []
    for start in reversed(starts):
        first = bisect_left(rest, start, key=lambda marker: marker.offset)
        inside, rest = rest[first:], rest[:first]
        pieces.append((*inside, *behind.values()))
        behind |= {marker.producer_id: marker for marker in reversed(inside)}
    return pieces[::-1]


def _partition_split(
    partition: SurveyedPartition,
    segment_splits: tuple[SegmentSplit, ...],
    start: int,
    stop: int,
    is_plain: bool,
    markers: tuple[Marker, ...],
) -> PartitionSplit:
    bounds = partition.bounds
    return PartitionSplit(
        key=partition.replica.key,
        broker_id=partition.replica.broker_id,
        segment_splits=segment_splits,
        range_start=start,
        range_next=stop,
        log_start_offset=bounds.log_start_offset,
        durable_offset=partition.replica.durable_offset,
        is_plain=is_plain,
        markers=markers,
    )
