"""Inspects one segment file, with facts from the files around it."""

from collections.abc import Iterator

from seglake.findings.kinds import FindingKind
from seglake.kafka_log.replica import SegmentFile
from seglake.pipelines.segment_inspect.contents import Content
from seglake.pipelines.segment_inspect.log_scan import LogScan
from seglake.pipelines.segment_inspect.partition_log import (
    UNKNOWN_PARTITION,
    FolderReader,
    Partition,
    SegmentPlace,
    last_place,
    lone_segment,
    place_in,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.shown_part import ShownPart
from seglake.segment_codec.formats.side_files.log_dir import parse_file_name
from seglake.segment_codec.walk.claimed_unit import claimed_unit
from seglake.storage.storage import Storage


def inspect_segment(
    storage: Storage, path: str, kind: PathKind, shown: ShownPart
) -> Iterator[Content]:
    """Yield the contents of a segment file, even if an ingest would skip the file.

    Args:
        storage: the storage of the file.
        path: the file.
        kind: a segment or a KRaft snapshot.
        shown: the part to show.
    """
    reader = FolderReader(storage)
    partition, place = _place_of(reader, path, kind)
    first_offset = place.file.base_offset
    scan = LogScan(storage, partition, first_offset=first_offset, log_start_offset=0, shown=shown)
    yield from scan.segment(place, kind)
    yield from reader.findings
    yield from scan.finish(path, kind, partition.checkpoints.log_start_offset)


def claimed_first_offset(storage: Storage, path: str) -> int | None:
    """Return the first offset of the batch at the start of a file; None if there is no batch.

    Args:
        storage: the storage of the file.
        path: a file with any name.
    """
    with storage.open_reader(path) as reader:
        unit = claimed_unit(reader, 0, reader.size_bytes)
    return None if unit is None or unit.first_offset < 0 else unit.first_offset


def _place_of(folder: FolderReader, path: str, kind: PathKind) -> tuple[Partition, SegmentPlace]:
    storage = folder.storage
    folder_path, _, name = path.rpartition("/")
    if kind is PathKind.KRAFT_SNAPSHOT:
        # A snapshot is a finished file, not the end of a log, so truncation and zero bytes are
        # damage.
        place = last_place(SegmentFile(0, path, name, size_bytes=0, index_path=None))
        return UNKNOWN_PARTITION, place._replace(is_last=False)
    file_name = parse_file_name(name)
    if file_name is None:
        base_offset = claimed_first_offset(storage, path) or 0
        text = f"the name has no base offset: the first offset in the file, {base_offset}, is used"
        folder.note(FindingKind.NOTE, text, name)
        return UNKNOWN_PARTITION, last_place(lone_segment(storage, path, base_offset))
    entries = folder.listed(folder_path, "the files beside the segment are unknown")
    partition = folder.partition_at(folder_path, entries)
    file = lone_segment(storage, path, file_name.base_offset)
    if partition is None:
        return UNKNOWN_PARTITION, last_place(file)
    found = folder.files_in(folder_path, entries)
    for index, segment in enumerate(found.segments):
        if segment.path == path:
            return partition, place_in(storage, partition, found.segments, index)
    reason = next((skipped.reason for skipped in found.skipped if str(skipped.file) == name), None)
    folder.note(FindingKind.NOTE, f"an ingest skips this file: {reason}", name)
    folder_name = folder_path.rsplit("/", 1)[-1]
    return partition, last_place(file._replace(name=f"{folder_name}/{name}"), partition)
