"""Plans the ranges to ingest, as tasks and as waves; a wave is one commit.

The plan depends on listings, headers and settings, but not on the engine or the number of cores:
the same call makes the same files on every machine.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.planning.pieces import (
    cost_bytes,
    end_piece,
    pieces_of,
    shared,
    task_groups,
)
from seglake.kafka_log.leader_epochs import UNKNOWN_EPOCHS, LeaderEpochs
from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.log_starts import UndeletedStart
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, RemoteGap, Replica
from seglake.kafka_log.transaction_markers import Marker
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.ledger_layers import RangeKind
from seglake.segment_codec.formats.units import HIGHEST_OFFSET
from seglake.segment_decoding.tasks import DecodeSettings, DecodeTask, PartitionSplit, SegmentSplit
from seglake.settings.settings import Settings
from seglake.task_engine.packing import packed


class RemainingGap(NamedTuple):
    """Cause of the gap that remains if the copy for a repair lacks some offsets, too.

    Attributes:
        cause: the gap's cause before the repair.
        explained_ranges: merged ranges of offsets whose cause the replica's log shows.
    """

    cause: GapCause
    explained_ranges: Sequence[OffsetRange] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePlan:
    """A contiguous range of offsets of one partition to ingest; it becomes one row of the ledger.

    Attributes:
        key: the partition.
        start_offset: first offset. next_offset: offset after the last one.
        splits: parts to decode, in order.
        log_start_offset: log start of the log that is read.
        remote_offset: start of the log's remote tier.
        remote_gaps: unreadable offsets that the remote tier should have.
        cleaner_offset: offset up to which the log cleaner has cleaned the log.
        undeleted: offsets below the log's first segment that no file proves to be deleted.
        first_log_start_offset: start of the log when this run first listed it.
        bounds: the log's bounds as this run saw them; None for a repair, which does not change
            them.
        leader_epochs: epochs of the log, to check the epoch of each batch; unknown for a repair.
        remaining_gap: cause of the gaps that a repair does not fill.
        standing_gaps: the lake's gaps in the range of a refill; their unfilled parts are recorded
            again.
        kind: kind of the ledger row.
    """

    key: PartitionKey
    start_offset: int
    next_offset: int
    splits: tuple[PartitionSplit, ...]
    log_start_offset: int
    remote_offset: int
    first_log_start_offset: int
    cleaner_offset: int
    remote_gaps: tuple[RemoteGap, ...] = ()
    undeleted: UndeletedStart | None = None
    bounds: LogBounds | None = None
    leader_epochs: LeaderEpochs = UNKNOWN_EPOCHS
    remaining_gap: RemainingGap | None = None
    standing_gaps: tuple[CurrentGap, ...] = ()
    kind: RangeKind = RangeKind.INGEST

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes to read for the range."""
        return sum(split.size_bytes for split in self.splits)

    @property
    def is_end(self) -> bool:
        """Return whether the range has no offsets and only records damage at the end of the log."""
        return self.start_offset == self.next_offset


class Wave(NamedTuple):
    """Ranges that one commit ingests, and the tasks that decode them, the largest first."""

    ranges: tuple[RangePlan, ...]
    tasks: tuple[DecodeTask, ...]

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes to read for the wave."""
        return sum(task.size_bytes for task in self.tasks)


def requested_ranges(partition: SurveyedPartition, settings: Settings) -> list[OffsetRange]:
    """Return the readable ranges of a partition that the settings select and the ledger lacks."""
    upper = partition.bounds.next_offset
    start, stop = 0, upper
    if settings.select.from_timestamp_ms is not None:
        start = _first_known((survey.window.from_offset for survey in partition.surveys), upper)
    if settings.select.to_timestamp_ms is not None:
        known = _first_known((survey.window.to_offset for survey in partition.surveys), upper)
        stop = min(known, upper)
    excluded = merged([*partition.covered, *partition.waiting_ranges])
    requested = subtracted((start, stop), excluded) if start < stop else []
    return [part for offsets in requested for part in _apart(offsets, partition.replica)]


def _apart(offsets: OffsetRange, replica: Replica) -> Iterator[OffsetRange]:
    """Cut a range at the edges of the remote tier's gaps: no part crosses an edge."""
    start, stop = offsets
    edges = {edge for gap in replica.remote_gaps for edge in (gap.start_offset, gap.next_offset)}
    yield from pairwise([start, *sorted(edge for edge in edges if start < edge < stop), stop])


def plan_ranges(partition: SurveyedPartition, settings: Settings) -> list[RangePlan]:
    """Return a partition's ranges with their splits; no range is larger than a wave."""
    plans: list[RangePlan] = []
    starts_of_covered = {covered for covered, _ in partition.covered}
    known_end = max((end for _, end in (*partition.covered, *partition.waiting_ranges)), default=0)
    for start, stop in requested_ranges(partition, settings):
        pieces = pieces_of(partition, start, stop)
        waves = [pieces]
        if pieces and all(piece.is_plain for piece in pieces):
            waves = packed(pieces, lambda piece: piece.size_bytes, settings.write.wave_bytes)
        edges = [start, *(wave[0].expected_offset for wave in waves[1:]), stop]
        for wave, first, following in zip(waves, edges[:-1], edges[1:], strict=True):
            # Consecutive pieces that fit into one task become one split.
            groups = task_groups(wave, settings.read.split_bytes)
            starts = [first, *(group[0].expected_offset for group in groups[1:])]
            markers = markers_by_piece(partition.bounds.markers, starts)
            is_end = following == partition.bounds.next_offset >= known_end
            begins = [max(group[0].expected_offset, group[0].first_offset) for group in groups[1:]]
            limits = [*begins, HIGHEST_OFFSET if is_end else following]
            splits = tuple(
                _partition_split(
                    partition, tuple(group), (first, following), group_markers, settings, limit
                )
                for group, limit, group_markers in zip(groups, limits, markers, strict=False)
            )
            # The piece's last batch may have offsets that the lake already has.
            if following in starts_of_covered:
                splits = tuple(split._replace(cuts_end=True, limit_offset=None) for split in splits)
            plans.append(_range_plan(partition, first, following, splits))
    return plans


def plan_end(partition: SurveyedPartition, settings: Settings) -> RangePlan | None:
    """Return a plan for damage at the end of a log; None if a range of offsets contains the damage.

    The range is empty, since the offsets of the damaged bytes are unknown.
    """
    if not _has_end(partition, settings):
        return None
    end = partition.sound_end
    split = _partition_split(partition, (end_piece(partition),), (end, end), (), settings)
    split = split._replace(includes_end=True, leaves_end=False)
    return _range_plan(partition, end, end, (split,))


def _has_end(partition: SurveyedPartition, settings: Settings) -> bool:
    """Return whether a log ends with damage that belongs to no range of offsets."""
    if partition.end_damage is None:
        return False
    ranges = [*partition.covered, *requested_ranges(partition, settings)]
    return not any(start <= partition.sound_end < stop for start, stop in ranges)


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
        remote_gaps=replica.remote_gaps,
        first_log_start_offset=bounds.log_start_offset if listed_first is None else listed_first,
        cleaner_offset=replica.checkpoints.cleaner_offset or 0,
        undeleted=bounds.undeleted,
        bounds=bounds,
        leader_epochs=partition.choice.leader_epochs,
    )


def plan_waves(
    ranges: Sequence[RangePlan], wave_bytes: int, task_bytes: int, settings: DecodeSettings
) -> list[Wave]:
    """Return ranges in order as waves of limited size, each with its tasks.

    Args:
        ranges: the ranges.
        wave_bytes: largest size of a wave.
        task_bytes: largest size of a task.
        settings: settings of the tasks.
    """
    waves = packed(ranges, lambda plan: plan.size_bytes, wave_bytes)
    return [Wave(tuple(wave), _tasks(wave, task_bytes, settings)) for wave in waves]


def _tasks(
    ranges: Iterable[RangePlan], task_bytes: int, settings: DecodeSettings
) -> tuple[DecodeTask, ...]:
    splits = [split for plan in ranges for split in plan.splits]
    groups = shared(splits, lambda split: cost_bytes(split.segment_splits, task_bytes), task_bytes)
    tasks = [DecodeTask(tuple(group), settings) for group in groups]
    return tuple(sorted(tasks, key=lambda task: -task.size_bytes))


def _first_known(offsets: Iterable[int | None], otherwise: int) -> int:
    return next((offset for offset in offsets if offset is not None), otherwise)


def markers_by_piece(markers: Sequence[Marker], starts: Sequence[int]) -> list[tuple[Marker, ...]]:
    """Return the markers that decide the transactions in each piece of a log.

    These are the markers in a piece, and each producer's next marker after the piece.

    Args:
        markers: markers of the log.
        starts: rising first offsets of the pieces; a piece ends at the next one's start.
    """
    rest = sorted(markers)
    after: dict[int, Marker] = {}
    pieces: list[tuple[Marker, ...]] = []
    for start in reversed(starts):
        first = bisect_left(rest, start, key=lambda marker: marker.offset)
        inside, rest = rest[first:], rest[:first]
        pieces.append((*inside, *after.values()))
        after |= {marker.producer_id: marker for marker in reversed(inside)}
    return pieces[::-1]


def _partition_split(
    partition: SurveyedPartition,
    segment_splits: tuple[SegmentSplit, ...],
    offsets: OffsetRange,
    markers: tuple[Marker, ...],
    settings: Settings,
    limit_offset: int | None = None,
) -> PartitionSplit:
    bounds = partition.bounds
    return PartitionSplit(
        key=partition.replica.key,
        broker_id=partition.replica.broker_id,
        segment_splits=segment_splits,
        range_start=offsets[0],
        range_next=offsets[1],
        log_start_offset=bounds.log_start_offset,
        durable_offset=partition.replica.durable_offset,
        is_plain=all(piece.is_plain for piece in segment_splits),
        markers=markers,
        leaves_end=_has_end(partition, settings),
        is_final=settings.read.upper_bound is UpperBound.LOG_END,
        limit_offset=limit_offset,
    )
