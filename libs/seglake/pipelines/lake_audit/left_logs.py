"""Parts of logs that the newest runs found but could not ingest."""

from collections.abc import Iterable, Iterator, Mapping

from seglake.findings.shown_offsets import shown_ranges
from seglake.kafka_log.observation import StoppedBy
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted, without
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.printable import show_count
from seglake.segment_codec.formats.side_files.log_dir import parse_folder_name

# start of the reason for a partition without a folder in any log dir
NAMED_ONLY = "only the metadata log names "
_NOT_ON_DISK = "not on disk: "  # prefix of the reason for offsets that no disk has any longer
# prefixes of the reasons for offsets that no later run can ingest in their present form
_DAMAGED = (
    *("damaged, and quarantined once it is ingested: ", "unreadable in the remote tier: "),
    "may wait for ever: ",
)
_SETTLE = "if a copy of it was ingested, ingest with --set select.settled='[\"PATH\"]'"


def left_logs(
    seen: Mapping[LakePartition, Row], covered: Mapping[LakePartition, Iterable[OffsetRange]]
) -> Iterator[str]:
    """Yield problems of offsets that no disk has, that lack a high watermark, or are damaged.

    Args:
        seen: the newest row of `observations` of each partition.
        covered: each partition's merged ranges in the ledger.
    """
    for partition, row in sorted(seen.items(), key=lambda item: str(item[0])):
        yield from _not_on_disk(partition, row, covered.get(partition, ()))
        yield from _damaged(partition, row, covered.get(partition, ()))
        if row["stopped_by"] == StoppedBy.UNREAD:
            reason = str(row["detail"]).removeprefix(f"{partition}: ")
            yield f"left out: {partition}: {reason}"
        if row["stopped_by"] == StoppedBy.NO_HIGH_WATERMARK:
            log_range = row["log_start_offset"] or 0, row["log_end_offset"] or 0
            left = subtracted(log_range, covered.get(partition, ()))
            if left:
                ranges = shown_ranges(left)
                yield f"{partition}: {ranges} are on the disk without a high watermark"


def still_unread(
    rows: Iterable[Row], covered: Mapping[LakePartition, Iterable[OffsetRange]]
) -> list[Row]:
    """Return the unread folders and files, outside of surveyed logs, whose offsets the lake lacks.

    Args:
        rows: rows of `observations` that name no partition.
        covered: the merged ranges that the ledger has of each partition.

    Returns:
        The rows, each with the `ranges` that the lake lacks.
    """
    by_name: dict[tuple[str, str], list[OffsetRange]] = {}
    for partition, ranges in covered.items():
        by_name.setdefault((partition.source_id, str(partition)), []).extend(ranges)
    found: list[Row] = []
    for row in rows:
        known = merged(by_name.get((row["source_id"], partition_of(row) or ""), ()))
        listed = [
            (left["from_offset"], left["log_end_offset"]) for left in row["not_ingested"] or ()
        ]
        ranges = without(listed, *known)
        if ranges or not listed:
            found.append({**row, "ranges": ranges})
    return found


def partition_of(row: Row) -> str | None:
    """Return the partition of an unread path by its innermost partition folder; else None."""
    for name in reversed(row["listing"].split("/")):
        folder = parse_folder_name(name)
        if folder is not None:
            return f"{folder.topic}-{folder.partition}"
    return None


def is_on_disk(row: Row) -> bool:
    """Return whether an unread folder or file is on a disk, and not only in broker files."""
    return not row["detail"].startswith((_NOT_ON_DISK, NAMED_ONLY))


def unread(rows: Iterable[Row]) -> Iterator[str]:
    """Yield problems of unread folders and files, and of partitions only in the metadata log."""
    listed = [*rows]
    for row in sorted(listed, key=lambda row: row["detail"]):
        text = row["detail"]
        if text.startswith(_NOT_ON_DISK):
            yield text
        elif is_on_disk(row):
            done = "" if row["ranges"] else f" ({_SETTLE})"
            yield f"not read: {text}{done}"
    named = [partition_of(row) or "" for row in listed if row["detail"].startswith(NAMED_ONLY)]
    if named:
        count = show_count(len(named), "partition")
        yield f"not on disk: {count} that only the metadata log names: {', '.join(sorted(named))}"


def lost_by_reason(row: Row, covered: Iterable[OffsetRange]) -> dict[str, list[OffsetRange]]:
    """Return ranges that existed and are neither on disk nor in the lake.

    The key is the proof that they existed.
    """
    found: dict[str, list[OffsetRange]] = {}
    for left in row["not_ingested"] or ():
        if left["reason"].startswith(_NOT_ON_DISK):
            rest = subtracted((left["from_offset"], left["log_end_offset"]), covered)
            found.setdefault(left["reason"], []).extend(rest)
    return {reason: ranges for reason, ranges in found.items() if ranges}


def _not_on_disk(
    partition: LakePartition, row: Row, covered: Iterable[OffsetRange]
) -> Iterator[str]:
    for reason, lost in lost_by_reason(row, covered).items():
        ranges = shown_ranges(lost)
        yield f"{_NOT_ON_DISK}{partition}: {ranges}: {reason.removeprefix(_NOT_ON_DISK)}"


def _damaged(partition: LakePartition, row: Row, covered: Iterable[OffsetRange]) -> Iterator[str]:
    """Yield the problems of uningested offsets that are damaged or that a tier cannot provide."""
    for left in row["not_ingested"] or ():
        offsets = left["from_offset"], left["log_end_offset"]
        if left["reason"].startswith(_DAMAGED) and subtracted(offsets, covered):
            yield f"not ingested yet: {partition}: {left['reason']}"
