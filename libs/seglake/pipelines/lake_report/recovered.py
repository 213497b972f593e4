"""What of each partition was recovered, from its strip and what was seen of its log. Pure."""

from collections.abc import Iterable, Mapping

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.observation import Observation, UnreadPlace
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted, without
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.lake_report.ledger import LogName
from seglake.pipelines.lake_report.model import Offsets, OffsetState
from seglake.pipelines.recovery import (
    LOSS_ABOVE,
    LOSS_OF_GAP,
    NO_LOSS_OF_GAP,
    Loss,
    NoLoss,
    PartitionRecovery,
)
from seglake.segment_codec.log_dir import parse_folder_name

_UNKNOWN = GapRanges(1, 0, ())  # somewhere, nobody knows how many


def partition_recovery(
    log: LogName,
    records: int,
    strip: Mapping[OffsetState, Offsets],
    coverage: Coverage,
    seen: Observation | None,
) -> PartitionRecovery:
    """Return what of a partition has records, what has none, and why.

    Args:
        strip: its offsets by state, with exact counts.
    """
    lost = {
        loss: _gaps(strip[OffsetState(cause)])
        for cause, loss in LOSS_OF_GAP.items()
        if OffsetState(cause) in strip
    }
    if OffsetState.SUPERSEDED in strip:
        lost[Loss.SUPERSEDED] = _gaps(strip[OffsetState.SUPERSEDED])
    if seen is not None:
        lost |= _of_log(seen, coverage.ranges(log.key))
    no_loss = {
        kept: strip[OffsetState(cause)].count
        for cause, kept in NO_LOSS_OF_GAP.items()
        if OffsetState(cause) in strip
    }
    ingested = strip.get(OffsetState.INGESTED)
    if ingested is not None and ingested.count > records:
        no_loss[NoLoss.WITHOUT_RECORD] = ingested.count - records
    return PartitionRecovery(name=str(log.key), records=records, lost=lost, no_loss=no_loss)


def _of_log(seen: Observation, covered: list[OffsetRange]) -> dict[Loss, GapRanges]:
    """What was seen of a log and is not in the tables: above what they cover, below it, and off
    the disk."""
    proved = [(left.from_offset, left.log_end_offset) for left in seen.not_on_disk]
    found = {Loss.NOT_ON_DISK: without(proved, *covered)}
    start = seen.log_start_offset or 0
    end = seen.log_end_offset if seen.log_end_offset is not None else seen.high_watermark
    frontier = max(start, covered[-1][1] if covered else 0)
    found[Loss.NEVER_INGESTED] = subtracted((start, min(frontier, end or 0)), covered)
    above = LOSS_ABOVE.get(seen.stopped_by)
    if above is not None:
        known = merged([*covered, *proved])
        rest = [] if end is None else subtracted((frontier, end), known)
        found[above] = [*found.get(above, ()), *rest]
    result = {loss: GapRanges(len(o), _count(o), tuple(o)) for loss, o in found.items() if o}
    if seen.says_why_unread and above is not None:
        result.setdefault(above, _UNKNOWN)
    return result


def absent_partitions(
    places: Iterable[UnreadPlace], known: Iterable[str]
) -> list[PartitionRecovery]:
    """Return the partitions that are known by an unread folder alone."""
    there, found = {*known}, {}
    for place in places:
        folder = parse_folder_name(place.path.rpartition("/")[2])
        name = "" if folder is None else f"{folder.topic}-{folder.partition}"
        if folder is None or name in there:
            continue
        offsets = merged(place.ranges)
        loss = Loss.NOT_ON_DISK if offsets else Loss.LEFT_OUT
        gaps = GapRanges(len(offsets), _count(offsets), tuple(offsets)) if offsets else _UNKNOWN
        found[name] = PartitionRecovery(name=name, records=0, lost={loss: gaps})
    return list(found.values())


def _gaps(offsets: Offsets) -> GapRanges:
    return GapRanges(len(offsets.ranges), offsets.count, offsets.ranges)


def _count(ranges: Iterable[OffsetRange]) -> int:
    return sum(stop - start for start, stop in ranges)
