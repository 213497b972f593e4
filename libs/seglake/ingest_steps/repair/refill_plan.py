"""Plans which segments of a copy are decoded for records that compaction removed.

A refill adds the rows that an ingest of the copy alone would give, except rows that the lake has.
So the order of the copies does not change the final rows.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from seglake.grouping import grouped
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.planning.plan import RangePlan, plan_ranges
from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_gaps import DAMAGE_CAUSES, GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, common_ranges, merged, subtracted
from seglake.kafka_log.range_arrays import (
    RangeArray,
    are_shared,
    intersected,
    merged_ranges,
    range_array,
)
from seglake.kafka_log.replica import Replica
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.ledger_layers import RangeKind
from seglake.segment_decoding.tasks import PartitionSplit, RequestedOffsets
from seglake.settings.settings import Settings

REFILLABLE = (
    GapCause.COMPACTED,
    GapCause.UNDECIDED,
    GapCause.DELETED,
    GapCause.DELETED_OR_LOST,
    GapCause.MISSING,
    *DAMAGE_CAUSES,
)
"""Causes of gaps at which another copy may have records."""

_ONE_WAVE = 1 << 62  # no limit: two commits would both record a gap that they share


class LakeHoles(NamedTuple):
    """Holes of one partition in the lake.

    Attributes:
        gaps: all current gaps, by rising offsets.
        lacking: rising ranges of offsets that are in the lake's batches but have no row.
        covered: merged ranges that the ledger covers.
        own: merged ranges that this run has ingested from the copy.
        recorded: identities of the partition's damaged bytes in `quarantine`.
    """

    gaps: Sequence[CurrentGap]
    lacking: RangeArray
    covered: Sequence[OffsetRange]
    own: Sequence[OffsetRange] = ()
    recorded: frozenset[tuple[Any, ...]] = frozenset()  # Any: columns of several types

    @property
    def refillable(self) -> RangeArray:
        """Return the gaps that another copy may fill."""
        return range_array(gap.offsets for gap in self.gaps if gap.cause in REFILLABLE)

    @property
    def requested(self) -> RangeArray:
        """Return the rising ranges of offsets at which the copy may have records."""
        both = np.concatenate((self.refillable, self.lacking))
        rising = both[np.argsort(both[:, 0], kind="stable")]
        if not self.own:
            return rising
        return intersected(rising, range_array(subtracted((0, OPEN_END), self.own)))


def refill_plans(
    partition: SurveyedPartition, holes: LakeHoles, stop_offset: int, settings: Settings
) -> list[RangePlan]:
    """Return the ranges of a copy that may have rows which the lake lacks.

    Args:
        partition: the copy, surveyed separately.
        holes: the lake's holes.
        stop_offset: end of the usable part of the copy; from there the copy may have another log.
        settings: settings of the run.
    """
    regions = _regions(partition.replica, holes, min(stop_offset, partition.bounds.next_offset))
    if not regions:
        return []
    read = common_ranges(regions, [(0, stop_offset)])
    others = subtracted((0, OPEN_END), read)
    uncut = replace(settings, write=replace(settings.write, wave_bytes=_ONE_WAVE))
    plans = plan_ranges(partition._replace(covered=tuple(others)), uncut)
    requested = RequestedOffsets(holes.requested, holes.refillable, holes.recorded)
    starts = [start for start, _ in regions]
    of_region = grouped(  # a region has several plans if a segment cannot be read
        (bisect_right(starts, plan.start_offset) - 1, plan) for plan in plans if plan.splits
    )
    return [_refill(found, regions[index], holes, requested) for index, found in of_region.items()]


def _regions(replica: Replica, holes: LakeHoles, stop_offset: int) -> list[OffsetRange]:
    """Return ranges of a copy's segments that may fill holes, extended to whole gaps.

    The returned ranges are ingested, and contain no gaps with other causes.
    """
    files = replica.segments
    stops = [*(file.base_offset for file in files[1:]), stop_offset]
    read = range_array(
        (file.base_offset, min(stop, stop_offset))
        for file, stop in zip(files, stops, strict=True)
        if file.base_offset < min(stop, stop_offset)
    )
    segments = merged_ranges(read[are_shared(read, holes.requested)])
    gaps = holes.refillable
    reached = merged_ranges(np.concatenate((segments, gaps[are_shared(gaps, segments)])))
    others = merged(gap.offsets for gap in holes.gaps if gap.cause not in REFILLABLE)
    inside = intersected(reached, range_array(holes.covered)).tolist()
    return [rest for start, stop in inside for rest in subtracted((start, stop), others)]


def _refill(
    plans: Sequence[RangePlan], region: OffsetRange, holes: LakeHoles, requested: RequestedOffsets
) -> RangePlan:
    """Combine the plans of a region into one, so that its gaps are recorded once."""
    splits = [split for plan in plans for split in plan.splits]
    return replace(
        plans[0],
        start_offset=region[0],
        next_offset=region[1],
        splits=tuple(_requesting(splits, requested)),
        bounds=None,
        kind=RangeKind.REFILL,
        standing_gaps=tuple(_within(holes.gaps, region)),
    )


def _requesting(
    splits: Sequence[PartitionSplit], requested: RequestedOffsets
) -> Iterator[PartitionSplit]:
    """Yield the splits, each with the requested offsets of its segments."""
    for split in splits:
        low = min(piece.file.base_offset for piece in split.segment_splits)
        high = max(piece.limit_offset for piece in split.segment_splits)
        yield split._replace(cuts_end=True, requested=requested.between(low, high))


def _within(gaps: Sequence[CurrentGap], region: OffsetRange) -> Sequence[CurrentGap]:
    first = bisect_left(gaps, region[0], key=lambda gap: gap.start_offset)
    last = bisect_left(gaps, region[1], key=lambda gap: gap.start_offset)
    return gaps[first:last]
