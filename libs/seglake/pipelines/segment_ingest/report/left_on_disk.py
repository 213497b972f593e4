"""What lies on the disks, is not in the lake, and this run does not ingest, and why. Pure."""

from collections.abc import Iterable, Mapping

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation, StoppedBy
from seglake.kafka_log.offset_ranges import subtracted
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.offset_places import GapsByPartition, named_gaps
from seglake.pipelines.progress import show_count
from seglake.pipelines.segment_ingest.report.gap_report import offset_count

# Why a log is not ingested to its end, the worst first; at the ends of others nothing is left.
_REASONS = {
    StoppedBy.NO_HIGH_WATERMARK: "without a high watermark",
    StoppedBy.OPEN_TRANSACTION: "behind an open transaction",
    StoppedBy.HIGH_WATERMARK: "above the high watermark",
    StoppedBy.LOG_END: "outside of the chosen times",
}

LeftOnDisk = Mapping[str, GapsByPartition]  # by why a log is not ingested to its end


def may_be_left(seen: Iterable[Observation], *, has_window: bool) -> bool:
    """Return whether `left_on_disk` can find anything."""
    return any(True for _ in _bounded(seen, has_window=has_window))


def left_on_disk(
    seen: Iterable[Observation], coverage: Coverage, *, has_window: bool
) -> LeftOnDisk:
    """Return the offsets that the logs have and the lake does not, by reason and partition.

    Args:
        has_window: whether only a window of time is wanted.
    """
    found: dict[str, dict[str, GapRanges]] = {}
    for log in _bounded(seen, has_window=has_window):
        log_range = log.log_start_offset or 0, log.log_end_offset or 0
        ranges = tuple(subtracted(log_range, coverage.ranges(log.key)))
        if ranges:
            offsets = sum(stop - start for start, stop in ranges)
            gaps = GapRanges(len(ranges), offsets, ranges)
            found.setdefault(log.stopped_by, {})[str(log.key)] = gaps
    return found


def _bounded(seen: Iterable[Observation], *, has_window: bool) -> Iterable[Observation]:
    """The logs that end above what their bounds let a run ingest."""
    for log in seen:
        if log.stopped_by is StoppedBy.LOG_END and not has_window:
            continue
        end = log.log_end_offset
        if log.stopped_by in _REASONS and end is not None and end > (log.log_start_offset or 0):
            yield log


def shown_left(left: LeftOnDisk) -> str:
    """What is left, for a headline; empty if nothing is."""
    return "; ".join(
        f"{show_count(offset_count(left[reason]), 'offset')} {text} in {named_gaps(left[reason])}"
        for reason, text in _REASONS.items()
        if reason in left
    )
