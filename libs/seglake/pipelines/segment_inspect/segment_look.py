"""One segment file, with what the files around it tell of it. Effect: reads."""

from collections.abc import Sequence

from seglake.pipelines.segment_inspect.findings import Origin, Report
from seglake.pipelines.segment_inspect.log_scan import LogScan
from seglake.pipelines.segment_inspect.offset_search import inspect_offset
from seglake.pipelines.segment_inspect.partition_log import SegmentPlace, folder_log, lone_segment
from seglake.pipelines.segment_inspect.path_kinds import PathKind, is_partition_folder
from seglake.pipelines.segment_inspect.surroundings import Standing, read_log_dir_files, standing_of
from seglake.segment_codec import message_set, record_batch
from seglake.segment_codec.log_dir import parse_file_name, parse_folder_name
from seglake.segment_codec.segment import MOST_OFFSETS, PREFIX, PREFIX_BYTES
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage


def inspect_segment(
    storage: Storage,
    path: str,
    kind: PathKind,
    report: Report,
    *,
    records: bool,
    offset: int | None,
) -> None:
    """Show a segment file, or one offset of it; also one that a conversion would pass over."""
    notes: list[str] = []
    standing, place = _place_of(storage, path, kind, notes)
    if offset is not None:
        inspect_offset(storage, path, kind, (place,), standing, offset, report, notes)
        return
    scan = LogScan(
        storage,
        standing,
        report,
        first_offset=place.base_offset,
        with_records=records,
        log_start_offset=None,
    )
    scan.segment(place, kind)
    scan.finish()
    report.summary(
        scan.totals.summary(
            path,
            kind,
            log_start_offset=standing.log_start_offset,
            high_watermark=standing.high_watermark,
            notes=(*notes, *scan.notes),
        )
    )


def looks_like_segment(storage: Storage, path: str) -> bool:
    """Whether a file of another name begins with what may be a batch that it holds whole."""
    with storage.open_reader(path) as reader:
        head = reader.read(0, PREFIX_BYTES)
        if len(head) < PREFIX_BYTES:
            return False
        offset, length, _, magic = PREFIX.unpack_from(head)
        smallest = record_batch.SMALLEST_LENGTH if magic == 2 else message_set.SMALLEST_SIZE
        fits = smallest <= length <= reader.size_bytes - record_batch.LENGTH_STOP
    return magic in (0, 1, 2) and offset >= 0 and fits


def _place_of(
    storage: Storage, path: str, kind: PathKind, notes: list[str]
) -> tuple[Standing, SegmentPlace]:
    folder_path, _, name = path.rpartition("/")
    if kind is PathKind.KRAFT_SNAPSHOT:
        # A finished copy of state, not the end of a log: what is cut or zero in it is damage.
        limit = MOST_OFFSETS
        return Standing(Origin()), SegmentPlace(
            path, name, 0, limit, is_last=False, index_path=None
        )
    file = parse_file_name(name)
    if file is None:
        base_offset = _first_offset(storage, path)
        notes.append(f"the name tells no base offset: {base_offset}, the first in it, is taken")
        return Standing(Origin()), lone_segment(storage, path, base_offset)
    try:
        entries: Sequence[FileInfo] = storage.list_folder(folder_path or "/")
    except StorageError as error:
        notes.append(f"{error}; what lies beside the segment is not known")
        entries = ()
    folder_name = folder_path.rsplit("/", 1)[-1]
    standing = folder_standing(storage, folder_path, entries, notes)
    if standing is None:
        return Standing(Origin()), lone_segment(storage, path, file.base_offset)
    log = folder_log(storage, folder_name, entries, notes)
    for place in log.segments:
        if place.path == path:
            return standing, place
    reason = next((skipped.reason for info, skipped in log.skipped if info.path == path), None)
    notes.append(f"a conversion passes over this file: {reason}")
    place = lone_segment(storage, path, file.base_offset)
    return standing, SegmentPlace(
        path, f"{folder_name}/{name}", place.base_offset, place.limit_offset, True, place.index_path
    )


def folder_standing(
    storage: Storage, folder_path: str, entries: Sequence[FileInfo], notes: list[str]
) -> Standing | None:
    """What is known of a partition folder; None when it is no such folder."""
    parent, _, name = folder_path.rpartition("/")
    folder = parse_folder_name(name)
    if folder is None or not is_partition_folder(name, entries):
        return None
    try:
        log_dir: Sequence[FileInfo] = storage.list_folder(parent or "/")
    except StorageError as error:
        notes.append(f"{error}; the log dir's own files are taken as missing")
        log_dir = ()
    files = read_log_dir_files(storage, log_dir, notes)
    return standing_of(storage, folder, entries, files, notes)


def _first_offset(storage: Storage, path: str) -> int:
    with storage.open_reader(path) as reader:
        return int(PREFIX.unpack_from(reader.read(0, PREFIX_BYTES))[0])
