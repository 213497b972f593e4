"""Inspects one segment file, with facts from the files around it. Effect: reads."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.partition_files import partition_files
from seglake.pipelines.segment_inspect.contents import Content
from seglake.pipelines.segment_inspect.log_scan import LogScan
from seglake.pipelines.segment_inspect.partition_log import (
    UNKNOWN_PARTITION,
    Partition,
    SegmentPlace,
    last_place,
    lone_segment,
    partition_at,
    place_in,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.shown_part import ShownPart
from seglake.segment_codec.formats.side_files.log_dir import parse_file_name
from seglake.segment_codec.walk.claimed_unit import claimed_unit
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage


def inspect_segment(
    storage: Storage, path: str, kind: PathKind, shown: ShownPart
) -> Iterator[Content]:
    """Yield the contents of a segment file, even of one that an ingest skips.

    Args:
        storage: the storage of the file.
        path: the file.
        kind: a segment or a KRaft snapshot.
        shown: the part to show.
    """
    notes: list[str] = []
    partition, place = _place_of(storage, path, kind, notes)
    first_offset = place.file.base_offset
    scan = LogScan(storage, partition, first_offset=first_offset, log_start_offset=0, shown=shown)
    yield from scan.segment(place, kind)
    yield from scan.finish()
    yield scan.summary(path, kind, partition.checkpoints.log_start_offset, notes)


def claimed_first_offset(storage: Storage, path: str) -> int | None:
    """Return the first offset of the batch that a file seems to begin with; None without one.

    Args:
        storage: the storage of the file.
        path: a file with any name.
    """
    with storage.open_reader(path) as reader:
        unit = claimed_unit(reader, 0, reader.size_bytes)
    return None if unit is None or unit.first_offset < 0 else unit.first_offset


def _place_of(
    storage: Storage, path: str, kind: PathKind, notes: list[str]
) -> tuple[Partition, SegmentPlace]:
    folder_path, _, name = path.rpartition("/")
    if kind is PathKind.KRAFT_SNAPSHOT:
        # A snapshot is a finished copy of state, not the end of a log: a cut or zeros are damage.
        place = last_place(SegmentFile(0, path, name, size_bytes=0, index_path=None))
        return UNKNOWN_PARTITION, replace(place, is_last=False)
    file_name = parse_file_name(name)
    if file_name is None:
        base_offset = claimed_first_offset(storage, path) or 0
        notes.append(f"the name tells no base offset: {base_offset}, the first in it, is taken")
        return UNKNOWN_PARTITION, last_place(lone_segment(storage, path, base_offset))
    entries: Sequence[FileInfo] = ()
    try:
        entries = storage.list_folder(folder_path or "/")
    except StorageError as error:
        notes.append(f"{error}; what lies beside the segment is not known")
    partition = partition_at(storage, folder_path, entries, notes)
    file = lone_segment(storage, path, file_name.base_offset)
    if partition is None:
        return UNKNOWN_PARTITION, last_place(file)
    found = partition_files(storage, folder_path, entries, notes)
    for index, segment in enumerate(found.segments):
        if segment.path == path:
            return partition, place_in(storage, partition, found.segments, index)
    reason = next((skipped.reason for skipped in found.skipped if str(skipped.file) == name), None)
    notes.append(f"an ingest skips this file: {reason}")
    folder_name = folder_path.rsplit("/", 1)[-1]
    return partition, last_place(replace(file, name=f"{folder_name}/{name}"), partition)
