"""The segments of a partition folder, in the order in which a conversion reads them. Effect: reads.

Leftovers of cleaning, splitting and deletion are told apart as a starting broker would.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from seglake.segment_codec import offset_index
from seglake.segment_codec.errors import SegmentCodecError
from seglake.segment_codec.log_dir import (
    FileKind,
    SkippedFile,
    parse_file_name,
    plan_swaps,
    usable_swap_logs,
)
from seglake.segment_codec.offset_index import OffsetIndex
from seglake.segment_codec.offset_order import OffsetOrder
from seglake.segment_codec.segment import MOST_OFFSETS, Defect, SegmentBounds, SegmentWalk, Tail
from seglake.segment_codec.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

WINDOW_BYTES = 4 << 20
_HEADER_READ_BYTES = 4096  # where only headers are read: one of them, or a few small batches


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """A segment file and its neighbours; `name` is relative to the log dir."""

    path: str
    name: str
    base_offset: int
    limit_offset: int
    is_last: bool
    index_path: str | None


@dataclass(frozen=True, slots=True)
class FolderLog:
    """What lies in a partition folder; each file of it is in one of the four."""

    segments: tuple[SegmentPlace, ...]
    side_files: tuple[FileInfo, ...]
    skipped: tuple[tuple[FileInfo, SkippedFile], ...]
    unknown: tuple[FileInfo, ...]


def folder_log(
    storage: Storage, folder_name: str, entries: Iterable[FileInfo], notes: list[str]
) -> FolderLog:
    """Sort the files of a partition folder."""
    by_name = {entry.name: entry for entry in entries if not entry.is_folder}
    plan = plan_swaps(by_name, _swap_ends(storage, by_name, notes))
    indexes = {file.base_offset: str(file) for file in plan.read if file.kind is FileKind.INDEX}
    logs = sorted(
        (file for file in plan.read if file.kind is FileKind.LOG), key=lambda file: file.base_offset
    )
    segments = []
    for number, file in enumerate(logs, start=1):
        is_last = number == len(logs)
        index = indexes.get(file.base_offset)
        segments.append(
            SegmentPlace(
                by_name[str(file)].path,
                f"{folder_name}/{file}",
                file.base_offset,
                file.base_offset + MOST_OFFSETS
                if is_last
                else _real_start(
                    storage, by_name[str(logs[number])].path, logs[number].base_offset
                ),
                is_last,
                None if index is None else by_name[index].path,
            )
        )
    side_names = [str(file) for file in plan.read if file.kind is not FileKind.LOG]
    return FolderLog(
        tuple(segments),
        tuple(by_name[name] for name in (*side_names, *plan.side_files)),
        tuple((by_name[str(skipped.file)], skipped) for skipped in plan.superseded),
        tuple(by_name[name] for name in plan.unknown),
    )


def lone_segment(storage: Storage, path: str, base_offset: int) -> SegmentPlace:
    """A segment file without the folder it belongs to."""
    folder, _, name = path.rpartition("/")
    index_name = name.replace(f".{FileKind.LOG}", f".{FileKind.INDEX}")
    index_path = storage.join(folder or "/", index_name)
    file = parse_file_name(name)
    has_index = file is not None and storage.info(index_path) is not None
    limit = base_offset + MOST_OFFSETS
    return SegmentPlace(
        path, name, base_offset, limit, is_last=True, index_path=index_path if has_index else None
    )


def read_index(storage: Storage, place: SegmentPlace, notes: list[str]) -> OffsetIndex:
    """A segment's offset index; an empty one where there is none to be read."""
    if place.index_path is not None:
        try:
            return offset_index.parse(storage.read_bytes(place.index_path), place.base_offset)
        except StorageError as error:
            notes.append(f"{error}; the segment is read without its index")
    return OffsetIndex(place.base_offset, (), None)


def believed_log_start(
    storage: Storage, segments: tuple[SegmentPlace, ...], claimed: int | None, notes: list[str]
) -> int | None:
    """The log start offset by its checkpoint; not where it lies above the end of the log."""
    if claimed is None or not segments or claimed <= segments[-1].base_offset:
        return claimed
    end = _end_offset(storage, segments[-1])
    if end is not None and claimed > end:
        notes.append(f"the log start offset {claimed} lies above the log's end {end}: not believed")
        return None
    return claimed


def _real_start(storage: Storage, path: str, base_offset: int) -> int:
    """Where the offsets of a segment begin: its name is only a lower bound.

    The name counts where the headers are in doubt. Reads further than the first of them only where
    it is above the name, as after compaction.
    """
    order = OffsetOrder(base_offset)
    bounds = SegmentBounds(base_offset, base_offset + MOST_OFFSETS, is_last=True, settled_offset=0)
    start: int | None = None
    previous = -1
    try:
        with storage.open_reader(path) as reader:
            window = Window(reader, _HEADER_READ_BYTES)
            for item in SegmentWalk(window, bounds, order, headers_only=True).items():
                if isinstance(item, Tail):
                    break
                if isinstance(item, Defect) or item.first_offset <= previous:
                    return base_offset
                if start is None:
                    start = item.first_offset
                    if start == base_offset:
                        break
                previous = item.last_offset
    except (StorageError, SegmentCodecError):
        return base_offset
    return base_offset if start is None else start


def _end_offset(storage: Storage, place: SegmentPlace) -> int | None:
    """Where the offsets of a segment end, by its headers; None when it cannot be read."""
    order = OffsetOrder(place.base_offset)
    bounds = SegmentBounds(place.base_offset, place.limit_offset, place.is_last, 0)
    try:
        with storage.open_reader(place.path) as reader:
            window = Window(reader, _HEADER_READ_BYTES)
            for _ in SegmentWalk(window, bounds, order, headers_only=True).items():
                pass
    except (StorageError, SegmentCodecError):
        return None
    return order.next_offset


def _swap_ends(storage: Storage, by_name: dict[str, FileInfo], notes: list[str]) -> dict[int, int]:
    """Where each finished cleaner output ends: it stands for all segments up to there."""
    ends: dict[int, int] = {}
    for file in usable_swap_logs(by_name):
        order = OffsetOrder(file.base_offset)
        bounds = SegmentBounds(file.base_offset, file.base_offset + MOST_OFFSETS, True, 0)
        try:
            with storage.open_reader(by_name[str(file)].path) as reader:
                for _ in SegmentWalk(Window(reader, WINDOW_BYTES), bounds, order).items():
                    pass
        except (StorageError, SegmentCodecError) as error:
            notes.append(f"{error}; what {file} replaces cannot be told")
        ends[file.base_offset] = order.next_offset
    return ends
