"""Finds files in a source that have records but are not read, by kind, with counts.

It also says why a single file cannot be a source.
"""

import shlex
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from seglake.kafka_log.replica import UnreadSegment
from seglake.segment_codec.formats.side_files.known_names import Place
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FileState,
    parse_file_name,
    parse_folder_name,
)
from seglake.segment_codec.formats.side_files.tier_names import (
    is_hdfs_segment,
    is_tier_object,
    parse_tier_folder,
)
from seglake.segment_codec.formats.side_files.unread_names import (
    is_confluent_state,
    is_redpanda_segment,
    is_renamed_segment,
    parse_archive_name,
    parse_compressed_name,
)
from seglake.storage.storage import FileInfo

_FOLDERS = "a broker's log dir, a partition folder, or a folder above log dirs"


class UnreadKind(StrEnum):
    """Kind of files that have records but are not read."""

    ARCHIVE = "archive"
    TIER_OBJECT = "tier_object"
    CONFLUENT_STATE = "confluent_state"
    HDFS_SEGMENT = "hdfs_segment"
    REDPANDA_SEGMENT = "redpanda_segment"
    LOG_DIR = "log_dir"
    PARTITION_FOLDER = "partition_folder"
    FOLDER = "folder"
    LOOSE_SEGMENT = "loose_segment"
    RENAMED_SEGMENT = "renamed_segment"


# By kind: (singular, plural), advice.
UNREAD_NAMES = {
    UnreadKind.ARCHIVE: (
        ("archive", "archives"),
        "unpack into a log dir and give that as a source",
    ),
    UnreadKind.TIER_OBJECT: (
        ("object of a remote tier", "objects of a remote tier"),
        "this layout of a tier is not read",
    ),
    UnreadKind.CONFLUENT_STATE: (
        ("state file of Confluent's tiered storage", "state files of Confluent's tiered storage"),
        "that tier is not read, since its layout is not public; a consumer can read its records",
    ),
    UnreadKind.HDFS_SEGMENT: (
        ("segment of a tier on HDFS, in one file", "segments of a tier on HDFS, in one file each"),
        "this layout of a tier is not read",
    ),
    UnreadKind.REDPANDA_SEGMENT: (
        ("segment of Redpanda", "segments of Redpanda"),
        "Redpanda's segments have another format than Kafka's, and are not read",
    ),
    UnreadKind.LOG_DIR: (
        ("log dir inside a log dir", "log dirs inside a log dir"),
        "give it as a separate source",
    ),
    UnreadKind.PARTITION_FOLDER: (
        (
            "segment in a folder inside another partition folder",
            "segments in a folder inside another partition folder",
        ),
        "give the folder as a separate source",
    ),
    UnreadKind.FOLDER: (
        (
            "segment in a folder that is not named like a partition",
            "segments in a folder that is not named like a partition",
        ),
        "rename the folder to TOPIC-PARTITION and give it as a source",
    ),
    UnreadKind.LOOSE_SEGMENT: (
        ("segment outside a partition folder", "segments outside a partition folder"),
        "move to a folder TOPIC-PARTITION in a log dir",
    ),
    UnreadKind.RENAMED_SEGMENT: (
        (
            "segment with a name that Kafka does not use",
            "segments with names that Kafka does not use",
        ),
        "rename as Kafka does (20 digits and .log), or move away",
    ),
}


# For each kind, patterns of the folder's name and of the file's name.
_FOREIGN: tuple[tuple[UnreadKind, Callable[[str, str], bool]], ...] = (
    (UnreadKind.TIER_OBJECT, lambda _, name: is_tier_object(name)),
    (UnreadKind.CONFLUENT_STATE, lambda _, name: is_confluent_state(name)),
    (UnreadKind.HDFS_SEGMENT, is_hdfs_segment),
    (UnreadKind.REDPANDA_SEGMENT, lambda _, name: is_redpanda_segment(name)),
)


class UnreadFiles(NamedTuple):
    """Unread files of one kind in one folder.

    Attributes:
        place: partition of the files; if the partition is unknown, the files' folder.
        files: number of files.
        example: name of the first file.
    """

    place: str
    folder: str
    kind: UnreadKind
    files: int
    size_bytes: int
    example: str

    @property
    def reason(self) -> str:
        """Return a sentence with the files' place, number and name, and advice."""
        (one, several), advice = UNREAD_NAMES[self.kind]
        what = f"{self.files} {one if self.files == 1 else several} ({self.example})"
        where = "" if self.place == self.folder else f" in {self.folder}"
        return f"{self.place}: {what}{where}: {advice}"

    def is_accounted(self, partitions: Container[str]) -> bool:
        """Return whether these files' offsets are already reported as gaps of their log.

        Args:
            partitions: names of partitions with a log in the sources.
        """
        return self.kind is UnreadKind.TIER_OBJECT and self.place in partitions


def is_recognised(place: Place, name: str) -> bool:
    """Return whether the name of a file suggests that it has records."""
    return (
        holds_records(place, name)
        or parse_archive_name(name) is not None
        or any(is_of_kind("", name) for _, is_of_kind in _FOREIGN)
    )


def holds_records(place: Place, name: str) -> bool:
    """Return whether a file name is a segment's: plain, compressed or renamed."""
    file = parse_file_name(name)
    if file is not None:
        return file.kind is FileKind.LOG and file.state in (FileState.LIVE, FileState.SWAP)
    return parse_compressed_name(name) is not None or is_renamed_segment(place, name)


def files_with_records(place: Place, listing: Iterable[FileInfo]) -> list[FileInfo]:
    """Return the files in a folder whose names resemble a segment's."""
    return [e for e in listing if not e.is_folder and holds_records(place, e.name)]


def unread_files(folder: str, listing: Iterable[FileInfo]) -> list[UnreadFiles]:
    """Return the archives in a folder, and the files of remote tiers and other systems."""
    files = [e for e in listing if not e.is_folder and parse_file_name(e.name) is None]
    archives: dict[str, list[FileInfo]] = {}
    for entry in files:
        if (packed := parse_archive_name(entry.name)) is not None:
            place = packed if parse_folder_name(packed) is not None else _place(folder)
            archives.setdefault(place, []).append(entry)
    found = [
        _files(place, folder, UnreadKind.ARCHIVE, entries) for place, entries in archives.items()
    ]
    of_folder = folder.rstrip("/").rpartition("/")[2]
    for kind, is_of_kind in _FOREIGN:
        foreign = [entry for entry in files if is_of_kind(of_folder, entry.name)]
        if foreign:
            found.append(_files(_place(folder), folder, kind, foreign))
    return found


def segments_of(folder: str, kind: UnreadKind, segments: Sequence[FileInfo]) -> list[UnreadFiles]:
    """Return an UnreadFiles for the segments of a folder, in a list; empty without segments."""
    return [_files(_place(folder), folder, kind, segments)] if segments else []


def compressed_segments(by_name: Mapping[str, FileInfo]) -> tuple[UnreadSegment, ...]:
    """Return the segments of a partition folder that exist only compressed."""
    found: dict[int, UnreadSegment] = {}
    plain = {
        file.base_offset
        for file in map(parse_file_name, by_name)
        if file is not None and file.kind is FileKind.LOG and file.state is FileState.LIVE
    }
    for name in sorted(name for name in by_name if parse_file_name(name) is None):
        file = parse_compressed_name(name)
        if file is not None and file.base_offset not in plain:
            segment = UnreadSegment(file.base_offset, name, by_name[name].size_bytes)
            found.setdefault(file.base_offset, segment)
    return tuple(found[base_offset] for base_offset in sorted(found))


def _place(folder: str) -> str:
    """Return the partition that a folder's name states; else the folder's path."""
    parent, _, name = folder.rstrip("/").rpartition("/")
    if parse_folder_name(name) is not None:
        return name
    of_tier = parse_tier_folder(parent.rpartition("/")[2], name)
    return folder if of_tier is None else f"{of_tier.topic}-{of_tier.partition}"


def _files(place: str, folder: str, kind: UnreadKind, entries: Iterable[FileInfo]) -> UnreadFiles:
    """Return files of one kind in a folder as an UnreadFiles."""
    listed = sorted(entries, key=lambda entry: entry.name)
    size_bytes = sum(entry.size_bytes for entry in listed)
    return UnreadFiles(place, folder, kind, len(listed), size_bytes, listed[0].name)


def named_folders(unread: Iterable[UnreadFiles], unreadable: Iterable[str]) -> frozenset[str]:
    """Return the folders with files or folders that are already reported as not read."""
    named: set[str] = set()
    places = (
        f"{files.folder}/{files.example}" if files.kind is UnreadKind.LOG_DIR else files.folder
        for files in unread
    )
    for place in (*places, *unreadable):
        while place and place not in named:
            named.add(place)
            place = place.rpartition("/")[0]
    return frozenset(named)


def why_no_source(source: str) -> str:
    """Return why a file with this name cannot be a source, and what to do."""
    name, quoted = source.rstrip("/").rpartition("/")[2], shlex.quote(source)
    file = parse_file_name(name)
    if file is not None and file.kind is FileKind.LOG:
        return (
            f"source {source} is a single segment: `seglake inspect {quoted}` shows it, `seglake"
            f" cat --source {quoted}` prints its records; to ingest, give {_FOLDERS}"
        )
    if parse_archive_name(name) is not None:
        is_tar = ".tar" in name or name.rpartition(".")[2].startswith("t")
        how = f" (mkdir DISK && tar -xf {quoted} -C DISK)" if is_tar else ""
        return f"source {source} is an archive: unpack it, and give the folder{how}"
    if parse_compressed_name(name) is not None:
        return (
            f"source {source} is a compressed segment: unpack it into its partition folder, and"
            " give the log dir"
        )
    return f"source {source} is a file: give {_FOLDERS}"
