"""What a person is told of files that hold records and are not read. Pure."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.log_dirs.unread_files import UNREAD_NAMES, UnreadFiles, UnreadKind
from seglake.pipelines.progress import show_bytes, show_count
from seglake.pipelines.segment_ingest.planning.unread_data import CompressedLog
from seglake.segment_codec.log_dir import OFFSET_MAX

_COMPRESSED = "compressed_segment"
_MOST_RANGES = 3
_COMPRESSED_NAMES = ("compressed segment", "compressed segments")
_DECOMPRESS = "decompress there and run again"


@dataclass(frozen=True, slots=True)
class UnreadEntry:
    """Files of one kind in one folder, as JSON has them; `ranges` are known of segments only.

    `is_accounted` where the log of their partition says by gaps what they hold.
    """

    kind: str
    place: str
    folder: str
    files: int
    size_bytes: int
    example: str
    ranges: tuple[OffsetRange, ...] = ()
    is_accounted: bool = False

    @property
    def is_compressed(self) -> bool:
        """Whether these are segments that can be read as soon as they are decompressed."""
        return self.kind == _COMPRESSED

    def __str__(self) -> str:
        ranges = f"{_ranges(self.ranges)} in " if self.ranges else ""
        names, advice = _COMPRESSED_NAMES, _DECOMPRESS
        if not self.is_compressed:
            names, advice = UNREAD_NAMES[UnreadKind(self.kind)]
        what = show_count(self.files, *names)
        size = f"{show_bytes(self.size_bytes)}, " if self.size_bytes else ""
        others = ", …" if self.files > 1 else ""
        where = "" if self.place == self.folder else f" in {self.folder}"
        return f"{self.place}: {ranges}{what} ({size}{self.example}{others}){where}: {advice}"


def unread_files(
    recognised: Iterable[UnreadFiles],
    compressed: Iterable[CompressedLog],
    partitions: Container[str],
) -> list[UnreadEntry]:
    """Return all of them, the largest first.

    Args:
        partitions: names of those of which the sources have a log: its start says what is in a
            tier only.
    """
    found = [
        UnreadEntry(
            kind=str(files.kind),
            place=files.place,
            folder=files.folder,
            files=files.files,
            size_bytes=files.size_bytes,
            example=files.example,
            is_accounted=files.is_accounted(partitions),
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


def need_a_look(entries: Iterable[UnreadEntry]) -> bool:
    """Say whether a person should look: segments lie unread, and no gap says so."""
    return not all(entry.is_accounted for entry in entries)


def left_out(entries: Iterable[UnreadEntry]) -> dict[str, str]:
    """The partitions with compressed segments, and what to do."""
    return {entry.place: str(entry) for entry in entries if entry.is_compressed}


def _ranges(ranges: Sequence[OffsetRange]) -> str:
    shown = ", ".join(
        f"[{start}, {'…' if stop == OFFSET_MAX else stop})" for start, stop in ranges[:_MOST_RANGES]
    )
    rest = len(ranges) - _MOST_RANGES
    return f"{shown} and {show_count(rest, 'more range')}" if rest > 0 else shown
