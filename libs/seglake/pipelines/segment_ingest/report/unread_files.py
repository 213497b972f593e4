"""What a person is told of files that hold records and are not read. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.log_dirs.unread_files import UnreadFiles, UnreadKind
from seglake.pipelines.progress import show_bytes, show_count
from seglake.pipelines.segment_ingest.planning.unread_data import CompressedLog
from seglake.segment_codec.log_dir import OFFSET_MAX

_COMPRESSED = "compressed_segment"
_MOST_RANGES = 3

_NAMES = {
    _COMPRESSED: ("compressed segment", "compressed segments"),
    UnreadKind.ARCHIVE: ("archive", "archives"),
    UnreadKind.TIER_OBJECT: ("object of a remote tier", "objects of a remote tier"),
    UnreadKind.LOG_DIR: ("log dir inside of a log dir", "log dirs inside of a log dir"),
}
_ADVICE = {
    _COMPRESSED: "decompress there and run again",
    UnreadKind.ARCHIVE: "unpack into a log dir and give that as a source",
    UnreadKind.TIER_OBJECT: "a tier is not read, but replay reads copies of plain segments",
    UnreadKind.LOG_DIR: "give it as a source of its own",
}


@dataclass(frozen=True, slots=True)
class UnreadEntry:
    """Files of one kind in one folder, as JSON has them; `ranges` are known of segments only."""

    kind: str
    place: str
    folder: str
    files: int
    size_bytes: int
    example: str
    ranges: tuple[OffsetRange, ...] = ()

    @property
    def is_compressed(self) -> bool:
        """Whether these are segments that can be read as soon as they are decompressed."""
        return self.kind == _COMPRESSED

    def __str__(self) -> str:
        ranges = f"{_ranges(self.ranges)} in " if self.ranges else ""
        what = show_count(self.files, *_NAMES[self.kind])
        size = f"{show_bytes(self.size_bytes)}, " if self.size_bytes else ""
        others = ", …" if self.files > 1 else ""
        return (
            f"{self.place}: {ranges}{what} ({size}{self.example}{others}) "
            f"in {self.folder}: {_ADVICE[self.kind]}"
        )


def unread_files(
    recognised: Iterable[UnreadFiles], compressed: Iterable[CompressedLog]
) -> list[UnreadEntry]:
    """All of them, the largest first."""
    found = [
        UnreadEntry(
            str(files.kind), files.place, files.folder, files.files, files.size_bytes, files.example
        )
        for files in recognised
    ]
    found += [
        UnreadEntry(
            kind=_COMPRESSED,
            place=str(log.key),
            folder=log.folder,
            files=len(log.names),
            size_bytes=log.size_bytes,
            example=log.names[0],
            ranges=log.ranges,
        )
        for log in compressed
    ]
    return sorted(found, key=lambda entry: (-entry.size_bytes, entry.folder, entry.kind))


def left_out(entries: Iterable[UnreadEntry]) -> dict[str, str]:
    """The partitions with compressed segments, and what to do."""
    return {entry.place: str(entry) for entry in entries if entry.is_compressed}


def _ranges(ranges: Sequence[OffsetRange]) -> str:
    shown = ", ".join(
        f"[{start}, {'…' if stop == OFFSET_MAX else stop})" for start, stop in ranges[:_MOST_RANGES]
    )
    rest = len(ranges) - _MOST_RANGES
    return f"{shown} and {show_count(rest, 'more range')}" if rest > 0 else shown
