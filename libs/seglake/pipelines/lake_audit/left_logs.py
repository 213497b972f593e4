"""Parts of logs that the newest runs saw and could not ingest. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from seglake.kafka_log.observation import StoppedBy
from seglake.kafka_log.offset_ranges import OffsetRange, subtracted
from seglake.pipelines.lake_audit.ledger import LakePartition, Row

_NOT_ON_DISK = "not on disk: "  # how the reason begins for what is proved and not there


def left_logs(
    seen: Mapping[LakePartition, Row], covered: Mapping[LakePartition, Iterable[OffsetRange]]
) -> Iterator[str]:
    """Say what is proved and not on the disk, and what lies there without a high watermark.

    Args:
        seen: the newest row of `observations` of each partition.
        covered: merged, what the ledger has of each.
    """
    for partition, row in sorted(seen.items(), key=lambda item: str(item[0])):
        yield from _not_on_disk(partition, row, covered.get(partition, ()))
        if row["stopped_by"] == StoppedBy.NO_HIGH_WATERMARK:
            log_range = row["log_start_offset"] or 0, row["log_end_offset"] or 0
            left = subtracted(log_range, covered.get(partition, ()))
            if left:
                ranges = ", ".join(f"[{start}, {stop})" for start, stop in left)
                yield f"{partition}: {ranges} lie on the disk without a high watermark"


def unread(rows: Iterable[Row]) -> Iterator[str]:
    """List the places outside the partitions' logs that the newest runs left unread.

    Args:
        rows: rows of `observations` that name no partition.
    """
    for text in sorted(row["detail"] for row in rows):
        yield text if text.startswith(_NOT_ON_DISK) else f"not read: {text}"


def lost_ranges(row: Row, covered: Iterable[OffsetRange]) -> dict[str, list[OffsetRange]]:
    """Return the proved ranges that neither disk nor lake has, by proof."""
    found: dict[str, list[OffsetRange]] = {}
    for left in row["not_ingested"] or ():
        if left["reason"].startswith(_NOT_ON_DISK):
            rest = subtracted((left["from_offset"], left["log_end_offset"]), covered)
            found.setdefault(left["reason"], []).extend(rest)
    return {reason: ranges for reason, ranges in found.items() if ranges}


def _not_on_disk(
    partition: LakePartition, row: Row, covered: Iterable[OffsetRange]
) -> Iterator[str]:
    for reason, lost in lost_ranges(row, covered).items():
        ranges = ", ".join(f"[{start}, {stop})" for start, stop in lost)
        yield f"{_NOT_ON_DISK}{partition}: {ranges}: {reason.removeprefix(_NOT_ON_DISK)}"
