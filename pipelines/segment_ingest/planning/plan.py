"""Wanted minus covered, cut into balanced tasks and waves. Pure.

The plan depends on listings, headers and settings, never on the engine or the number of cores: the
same call gives the same files everywhere.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from pipelines.segment_ingest.decoding.quarantine_rows import GapCause
from pipelines.segment_ingest.decoding.tasks import DecodeSettings, DecodeTask, Slice, Stretch
from pipelines.segment_ingest.planning.coverage import OffsetRange, subtracted
from pipelines.segment_ingest.same_logs.replicas import Sibling
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.sources.partition_log import Replica, SegmentFile
from pipelines.segment_ingest.surveying.bounds import LogBounds
from pipelines.segment_ingest.surveying.survey_values import SegmentSurvey, SplitPoint
from segment_codec.transactions import Marker


@dataclass(frozen=True, slots=True)
class SurveyedPartition:
    """One partition, ready to be planned; `surveys` are of its last segments, in order.

    `siblings` are further copies of it.
    """

    replica: Replica
    surveys: tuple[SegmentSurvey, ...]
    bounds: LogBounds
    covered: tuple[OffsetRange, ...]
    siblings: tuple[Sibling, ...] = ()

    @property
    def surveyed_segments(self) -> tuple[SegmentFile, ...]:
        return self.replica.segments[len(self.replica.segments) - len(self.surveys) :]


class RangeKind(StrEnum):
    """What a row of the ledger stands for."""

    INGEST = "ingest"  # offsets taken for the first time
    REPAIR = "repair"  # a gap, filled as far as another copy could


class Restated(NamedTuple):
    """What a repair says of offsets that it does not find either.

    Attributes:
        cause: of the gap, as it was before.
        told: where the copy's own view counts instead: offsets that are in its log.
    """

    cause: GapCause
    told: OffsetRange | None


@dataclass(frozen=True, slots=True)
class RangePlan:
    """A contiguous range of offsets of one partition: one row of the ledger when it is done."""

    partition: SurveyedPartition
    start_offset: int
    next_offset: int
    stretches: tuple[Stretch, ...]
    kind: RangeKind = RangeKind.INGEST
    restated: Restated | None = None  # of a repair

    @property
    def size_bytes(self) -> int:
        return sum(stretch.size_bytes for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class Wave:
    """Ranges that are committed together, and the tasks that decode them, the largest first."""

    ranges: tuple[RangePlan, ...]
    tasks: tuple[DecodeTask, ...]

    @property
    def size_bytes(self) -> int:
        return sum(task.size_bytes for task in self.tasks)


def wanted_ranges(partition: SurveyedPartition, settings: Settings) -> list[OffsetRange]:
    """What the settings want of a partition and the ledger does not cover."""
    upper = partition.bounds.next_offset
    start, stop = 0, upper
    if settings.select.from_timestamp_ms is not None:
        start = _first_known((survey.from_offset for survey in partition.surveys), upper)
    if settings.select.to_timestamp_ms is not None:
        stop = min(_first_known((survey.to_offset for survey in partition.surveys), upper), upper)
    return subtracted((start, stop), partition.covered) if start < stop else []


def plan_ranges(partition: SurveyedPartition, settings: Settings) -> list[RangePlan]:
    """The partition's ranges with their byte slices; long ones are cut so that a wave can end."""
    plans: list[RangePlan] = []
    is_plain = _is_plain(partition)
    for start, stop in wanted_ranges(partition, settings):
        slices = _slices(partition, start, stop, is_plain)
        pieces = _cut(slices, settings.write.wave_bytes) if is_plain else [slices]
        edges = [start, *(piece[0].expected_offset for piece in pieces[1:]), stop]
        for piece, first, following in zip(pieces, edges[:-1], edges[1:], strict=True):
            # Neighbours that fit into one task become one stretch.
            groups = _cut(piece, settings.read.split_bytes) if is_plain else [piece]
            groups = [group for group in groups if group]
            starts = [first, *(group[0].expected_offset for group in groups[1:])]
            markers = markers_by_piece(partition.bounds.markers, starts)
            stretches = tuple(
                _stretch(partition, tuple(group), first, following, is_plain, own)
                for group, own in zip(groups, markers, strict=False)
            )
            plans.append(RangePlan(partition, first, following, stretches))
    return plans


def plan_waves(
    ranges: Sequence[RangePlan], wave_bytes: int, task_bytes: int, settings: DecodeSettings
) -> list[Wave]:
    """Ranges in order, as many a wave as its bytes allow, packed into tasks."""
    waves: list[list[RangePlan]] = []
    room = 0
    for each in ranges:
        if not waves or each.size_bytes > room:
            waves.append([])
            room = wave_bytes
        waves[-1].append(each)
        room -= each.size_bytes
    return [Wave(tuple(wave), _tasks(wave, task_bytes, settings)) for wave in waves]


def _tasks(
    ranges: Iterable[RangePlan], task_bytes: int, settings: DecodeSettings
) -> tuple[DecodeTask, ...]:
    groups: list[list[Stretch]] = []
    room = 0
    for stretch in (stretch for each in ranges for stretch in each.stretches):
        if not groups or stretch.size_bytes > room:
            groups.append([])
            room = task_bytes
        groups[-1].append(stretch)
        room -= stretch.size_bytes
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
    first = following.first_offset if following.is_plain else None
    return max(segments[index + 1].base_offset, first or 0)


def _slices(partition: SurveyedPartition, start: int, stop: int, is_plain: bool) -> list[Slice]:
    segments = partition.surveyed_segments
    slices: list[Slice] = []
    reached = 0
    for index, (file, survey) in enumerate(zip(segments, partition.surveys, strict=True)):
        is_last = index + 1 == len(segments)
        limit = _limit(partition, index)
        is_below = not is_last and limit <= max(start, partition.bounds.log_start_offset)
        if is_below or file.base_offset >= stop or survey.size_bytes == 0:
            continue
        cleaner_offset = partition.replica.checkpoints.cleaner_offset or 0
        template = Slice(
            replace(file, size_bytes=survey.size_bytes),
            0,
            survey.size_bytes,
            limit,
            max(file.base_offset, reached) if is_plain else file.base_offset,
            -1,
            is_last,
            file.base_offset < cleaner_offset,
            survey.has_compacted_batch or survey.next_offset <= cleaner_offset,
            survey.next_offset if is_plain else 0,
        )
        slices += _split(template, survey.splits, start, stop) if is_plain else [template]
        reached = survey.next_offset
    return slices


def _split(template: Slice, splits: Sequence[SplitPoint], start: int, stop: int) -> list[Slice]:
    """The slices of one segment that hold something of [start, stop)."""
    result: list[Slice] = []
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


def _cut(slices: Sequence[Slice], wave_bytes: int) -> list[list[Slice]]:
    pieces: list[list[Slice]] = [[]]
    size_bytes = 0
    for each in slices:
        if pieces[-1] and size_bytes + each.size_bytes > wave_bytes:
            pieces.append([])
            size_bytes = 0
        pieces[-1].append(each)
        size_bytes += each.size_bytes
    return pieces


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
        own, rest = rest[first:], rest[:first]
        pieces.append((*own, *behind.values()))
        behind |= {marker.producer_id: marker for marker in reversed(own)}
    return pieces[::-1]


def _stretch(
    partition: SurveyedPartition,
    slices: tuple[Slice, ...],
    start: int,
    stop: int,
    is_plain: bool,
    markers: tuple[Marker, ...],
) -> Stretch:
    bounds = partition.bounds
    return Stretch(
        partition.replica.key,
        partition.replica.broker_id,
        slices,
        start,
        stop,
        bounds.log_start_offset,
        partition.replica.settled_offset,
        is_plain,
        markers,
    )
