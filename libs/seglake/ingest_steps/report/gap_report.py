"""Sums of gaps that a run recorded or filled, by cause and partition."""

from collections.abc import Iterable, Mapping, Sequence

from seglake.findings.loss_causes import LOSS_OF_GAP, NO_LOSS_OF_GAP
from seglake.findings.recovery import loss_lines, no_loss_lines
from seglake.findings.shown_offsets import GapsByPartition
from seglake.ingest_steps.committing.range_result import RangeResult, by_partition
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.kafka_log.gap_ranges import GapRanges, GapsByCause, gaps_joined, tallied
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.current_gaps import CurrentGap

GapsByPlace = Mapping[str, GapsByPartition]
"""Gaps by cause and partition; causes that reveal least about the loss come first."""

_CAUSES = tuple(reversed(GapCause))


def joined_places(*parts: GapsByPlace) -> dict[str, GapsByPartition]:
    """Add up several sums of gaps by cause and partition."""
    return {
        str(cause): gaps_joined(part.get(cause, {}) for part in parts)
        for cause in _CAUSES
        if any(cause in part for part in parts)
    }


def recorded_gaps(
    committed: Iterable[RangeResult], repairs: Sequence[Sequence[RangeResult]]
) -> dict[str, GapsByPartition]:
    """Return the gaps that a run recorded and did not fill, by cause and partition.

    Args:
        committed: ingested ranges of the run.
        repairs: repairs by round; they also fill gaps of earlier runs, which are not returned.
    """
    return _placed(gaps_of_run(committed, repairs))


def gaps_of_run(
    committed: Iterable[RangeResult], repairs: Sequence[Sequence[RangeResult]]
) -> dict[PartitionKey, GapsByCause]:
    """Return the gaps that a run recorded and did not fill, by partition and cause."""
    found: dict[PartitionKey, GapsByCause] = {}
    repaired = [by_partition(done) for done in repairs]
    for key, own in by_partition(committed).items():
        found[key] = gaps_joined(result.gaps_by_cause for result in own)
        for of_round in repaired:
            if key in of_round:
                ranges = (result.offsets for result in own)
                found[key] = _repaired(found[key], of_round[key], ranges)
    return found


def expected_gaps(plans: Iterable[RangePlan]) -> dict[str, GapsByPartition]:
    """Return the gaps that a dry run predicts in the remote tier and below the first segment."""
    found: list[GapsByPlace] = []
    for plan in plans:
        offsets = [(plan.start_offset, plan.next_offset)]
        absent = [(gap.start_offset, gap.next_offset) for gap in plan.remote_gaps]
        below = (plan.remote_offset, plan.log_start_offset)
        remote = [(within, GapCause.REMOTE) for within in merged([below, *absent])]
        for within, cause in (*remote, *([plan.undeleted] if plan.undeleted else [])):
            parts = common(offsets, within)
            if parts:
                found.append({str(cause): {str(plan.key): GapRanges.of(parts)}})
    return joined_places(*found)


def _repaired(
    gaps: GapsByCause, repairs: Iterable[RangeResult], ranges: Iterable[OffsetRange]
) -> GapsByCause:
    """Return the gaps of a run; in repaired ranges, only the remaining gaps."""
    of_run = merged(ranges)
    news = [
        result
        for result in repairs
        if any(start <= result.plan.start_offset < stop for start, stop in of_run)
    ]
    repaired = merged(result.offsets for result in news)
    left = {cause: found.outside(repaired) for cause, found in gaps.items()}
    return gaps_joined([left, *(result.gaps_by_cause for result in news)])


def gaps_by_place(
    gaps: Mapping[PartitionKey, Iterable[CurrentGap]],
) -> dict[str, GapsByPartition]:
    """Return the sums of the lake's gaps, by cause and partition."""
    return _placed(
        {key: tallied((gap.cause, *gap.offsets) for gap in of_key) for key, of_key in gaps.items()}
    )


def repaired_gaps(repairs: RepairResult) -> dict[str, GapRanges]:
    """Return the gaps that were filled, or that a dry run would fill, by partition.

    Only filled offsets are counted.
    """
    found = []
    for result in repairs.results:
        start, stop = result.offsets
        left = sum(gaps.offsets for gaps in result.gaps_by_cause.values())
        found.append({str(result.key): GapRanges(1, stop - start - left, (result.offsets,))})
    for fill in repairs.planned_fills:
        offsets = fill.start_offset, fill.next_offset
        found.append({fill.partition: GapRanges(1, fill.filled_offsets, (offsets,))})
    return gaps_joined(found)


def _placed(found: Mapping[PartitionKey, GapsByCause]) -> dict[str, GapsByPartition]:
    """Return gaps by the partition's name: the logs of a recreated topic are added up."""
    return joined_places(
        *(
            {str(cause): {str(key): gaps} for cause, gaps in by_cause.items()}
            for key, by_cause in found.items()
        )
    )


def offset_count(found: GapsByPartition) -> int:
    """Return the number of offsets in all of the gaps."""
    return sum(gaps.offsets for gaps in found.values())


def gap_lines(gaps: GapsByPlace) -> list[str]:
    """Return a summary's lines on gaps; gaps that a person should check come first."""
    lost = {loss: gaps[cause] for cause, loss in LOSS_OF_GAP.items() if cause in gaps}
    kept = {
        kept: offset_count(gaps[cause]) for cause, kept in NO_LOSS_OF_GAP.items() if cause in gaps
    }
    return [*loss_lines(lost), *no_loss_lines(kept)]


def json_gaps(gaps: GapsByPlace) -> dict[str, dict[str, dict[str, object]]]:
    """Return gaps by cause and partition in the form of JSON."""
    return {
        cause: {name: found._asdict() for name, found in partitions.items()}
        for cause, partitions in gaps.items()
    }
