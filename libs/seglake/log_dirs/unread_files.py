"""Files in a source that are recognised and not read: what they are, and how much. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from seglake.kafka_log.replica import CompressedSegment, EndClaim
from seglake.segment_codec.log_dir import (
    FileKind,
    FileState,
    parse_file_name,
    parse_folder_name,
)
from seglake.segment_codec.unread_names import (
    is_tier_object,
    parse_archive_name,
    parse_compressed_name,
    parse_tier_folder,
)
from seglake.storage.storage import FileInfo


class UnreadKind(StrEnum):
    """What they are."""

    ARCHIVE = "archive"
    TIER_OBJECT = "tier_object"
    LOG_DIR = "log_dir"


@dataclass(frozen=True, slots=True)
class UnreadFiles:
    """Some files of one kind in one folder.

    Attributes:
        place: the partition whose they are, or their folder where that cannot be told.
        example: the first of them by name.
    """

    place: str
    folder: str
    kind: UnreadKind
    files: int
    size_bytes: int
    example: str


def is_recognised(name: str) -> bool:
    """Whether a file that is not Kafka's has records in it for all that."""
    return parse_compressed_name(name) is not None or parse_archive_name(name) is not None


def unread_files(folder: str, listing: Iterable[FileInfo]) -> list[UnreadFiles]:
    """The archives and the objects of a remote tier in a folder."""
    files = [e for e in listing if not e.is_folder and parse_file_name(e.name) is None]
    archives: dict[str, list[FileInfo]] = {}
    for entry in files:
        if (packed := parse_archive_name(entry.name)) is not None:
            place = packed if parse_folder_name(packed) is not None else _place(folder)
            archives.setdefault(place, []).append(entry)
    objects = [entry for entry in files if is_tier_object(entry.name)]
    found = [
        _files(place, folder, UnreadKind.ARCHIVE, entries) for place, entries in archives.items()
    ]
    if objects:
        found.append(_files(_place(folder), folder, UnreadKind.TIER_OBJECT, objects))
    return found


def inner_log_dirs(folder: str, names: Iterable[str]) -> list[UnreadFiles]:
    """Log dirs inside of a log dir, where no broker has one."""
    listed = sorted(names)
    if not listed:
        return []
    return [UnreadFiles(folder, folder, UnreadKind.LOG_DIR, len(listed), 0, listed[0])]


def compressed_segments(by_name: Mapping[str, FileInfo]) -> tuple[CompressedSegment, ...]:
    """The segments of a partition folder that are there in a compressed form only."""
    found: dict[int, CompressedSegment] = {}
    for name in sorted(name for name in by_name if parse_file_name(name) is None):
        file = parse_compressed_name(name)
        if file is not None and file.name not in by_name:
            segment = CompressedSegment(file.base_offset, name, by_name[name].size_bytes)
            found.setdefault(file.base_offset, segment)
    return tuple(found[base_offset] for base_offset in sorted(found))


def last_side_file(by_name: Mapping[str, FileInfo]) -> EndClaim | None:
    """The file beside the segments with the highest offset in its name: the log reached so far."""
    ends = [
        EndClaim(file.base_offset, file.name)
        for file in map(parse_file_name, by_name)
        if file is not None and file.kind is not FileKind.LOG and file.state is FileState.LIVE
    ]
    ends += [EndClaim(packed.base_offset, packed.name) for packed in compressed_segments(by_name)]
    return max(ends, default=None)


def _place(folder: str) -> str:
    """The partition that a folder is of by its name, or the folder."""
    parent, _, name = folder.rstrip("/").rpartition("/")
    if parse_folder_name(name) is not None:
        return name
    of_tier = parse_tier_folder(parent.rpartition("/")[2], name)
    return folder if of_tier is None else f"{of_tier.topic}-{of_tier.partition}"


def _files(place: str, folder: str, kind: UnreadKind, entries: Iterable[FileInfo]) -> UnreadFiles:
    listed = sorted(entries, key=lambda entry: entry.name)
    size_bytes = sum(entry.size_bytes for entry in listed)
    return UnreadFiles(place, folder, kind, len(listed), size_bytes, listed[0].name)
