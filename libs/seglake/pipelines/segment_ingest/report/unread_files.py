"""Notes on files that hold records and are not read. Pure."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import UnreadSegment
from seglake.kafka_log.unread_segments import are_compressed, why_unread
from seglake.log_dirs.unread_files import UNREAD_NAMES, UnreadFiles, UnreadKind
from seglake.pipelines.findings.findings import Finding, Findings
from seglake.pipelines.findings.kinds import FindingKind
from seglake.pipelines.progress import show_bytes, show_count
from seglake.pipelines.segment_ingest.planning.unread_data import UnreadLog
from seglake.segment_codec.log_dir import OFFSET_MAX

_COMPRESSED, _UNREADABLE = "compressed_segment", "unreadable_segment"
_MOST_RANGES = 3
_SEGMENT_NAMES = {
    _COMPRESSED: ("compressed segment", "compressed segments"),
    _UNREADABLE: ("segment", "segments"),
}


@dataclass(frozen=True, slots=True)
class UnreadEntry:
    """Files of one kind in one folder, as JSON has them; `ranges` are known of segments only.

    `is_accounted` where the log of their partition says by gaps what they hold. `reason` is why
    segments are not read, or what to do.
    """

    kind: str
    place: str
    folder: str
    files: int
    size_bytes: int
    example: str
    ranges: tuple[OffsetRange, ...] = ()
    is_accounted: bool = False
    reason: str = ""

    @property
    def path(self) -> str:
        """Return the path of the first file."""
        return f"{self.folder}/{self.example}"

    @property
    def known_ranges(self) -> tuple[OffsetRange, ...]:
        """Return the ranges if the ends of all are known."""
        is_known = all(stop < OFFSET_MAX for _, stop in self.ranges)
        return self.ranges if is_known else ()

    @property
    def is_left_out(self) -> bool:
        """Whether these are segments of a log that is read as far as the others go."""
        return self.kind in _SEGMENT_NAMES

    def __str__(self) -> str:
        ranges = f"{_ranges(self.ranges)} in " if self.ranges else ""
        if self.is_left_out:
            names, advice = _SEGMENT_NAMES[self.kind], self.reason
        else:
            names, advice = UNREAD_NAMES[UnreadKind(self.kind)]
        what = show_count(self.files, *names)
        size = f"{show_bytes(self.size_bytes)}, " if self.size_bytes else ""
        others = ", …" if self.files > 1 else ""
        where = "" if self.place == self.folder else f" in {self.folder}"
        return f"{self.place}: {ranges}{what} ({size}{self.example}{others}){where}: {advice}"


def unread_files(
    recognised: Iterable[UnreadFiles],
    logs: Iterable[UnreadLog],
    partitions: Container[str],
) -> list[UnreadEntry]:
    """Return all unread files, the largest first.

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
            kind=_kind(log.segments),
            place=str(log.key),
            folder=log.folder,
            files=len(log.segments),
            size_bytes=sum(segment.size_bytes for segment in log.segments),
            example=log.segments[0].name,
            ranges=log.ranges,
            reason=why_unread(log.segments),
        )
        for log in logs
    ]
    return sorted(found, key=lambda entry: (-entry.size_bytes, entry.folder, entry.kind))


def unread_findings(entries: Iterable[UnreadEntry]) -> Iterator[Finding]:
    """Yield a finding on each entry; of further copies of a partition the folder is the place."""
    places: set[str] = set()
    for entry in entries:
        kind, place = FindingKind.NOT_READ, entry.place
        if entry.is_accounted:
            kind = FindingKind.IN_TIER
        elif entry.is_left_out:
            kind, place = FindingKind.LEFT_OUT, entry.folder if place in places else place
            places.add(place)
        facts = {
            "files_kind": entry.kind,
            "folder": entry.folder,
            "files": entry.files,
            "size_bytes": entry.size_bytes,
            "example": entry.example,
        }
        yield Finding(kind, str(entry), place, entry.ranges, facts)


def left_out(entries: Iterable[UnreadEntry]) -> dict[str, str]:
    """Return the partitions with segments that cannot be read as they are, and why."""
    return Findings(unread_findings(entries)).reasons(FindingKind.LEFT_OUT)


def _kind(segments: Iterable[UnreadSegment]) -> str:
    return _COMPRESSED if are_compressed(segments) else _UNREADABLE


def _ranges(ranges: Sequence[OffsetRange]) -> str:
    shown = ", ".join(
        f"[{start}, {'…' if stop == OFFSET_MAX else stop})" for start, stop in ranges[:_MOST_RANGES]
    )
    rest = len(ranges) - _MOST_RANGES
    return f"{shown} and {show_count(rest, 'more range')}" if rest > 0 else shown
