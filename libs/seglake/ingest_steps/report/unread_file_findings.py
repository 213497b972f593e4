"""Findings on files that have records but were not read."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.planning.unread_data import UnreadLog
from seglake.kafka_log.observation import UnreadPlace
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.unread_segments import are_compressed, why_unread
from seglake.log_dirs.unread_files import UNREAD_NAMES, UnreadFiles
from seglake.printable import show_bytes, show_count
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX

_MOST_RANGES = 3
_SEGMENT_NAMES = {
    "compressed_segment": ("compressed segment", "compressed segments"),
    "unreadable_segment": ("segment", "segments"),
}


def unread_file_findings(
    recognised: Iterable[UnreadFiles],
    logs: Iterable[UnreadLog],
    partitions: Container[str],
) -> list[Finding]:
    """Return a finding for the files of each kind in each folder, the largest first.

    Findings on segments name the ranges of offsets in these segments, if known.

    Args:
        recognised: files that are recognised as unreadable.
        logs: logs with unreadable segments.
        partitions: names of partitions with a log in the sources; a log's start shows which offsets
            are only in the remote tier.
    """
    found = [
        _finding(
            FindingKind.IN_TIER if files.is_accounted(partitions) else FindingKind.NOT_READ,
            files.place,
            _facts(files.kind, files.folder, files.files, files.size_bytes, files.example),
            UNREAD_NAMES[files.kind],
        )
        for files in recognised
    ]
    for log in logs:
        kind = "compressed_segment" if are_compressed(log.segments) else "unreadable_segment"
        size_bytes = sum(segment.size_bytes for segment in log.segments)
        first = log.segments[0].name
        facts = _facts(kind, log.folder, len(log.segments), size_bytes, first)
        names = _SEGMENT_NAMES[kind], why_unread(log.segments)
        found.append(_finding(FindingKind.LEFT_OUT, str(log.key), facts, names, log.ranges))
    return sorted(
        found, key=lambda of: (-of.facts["size_bytes"], of.facts["folder"], of.facts["files_kind"])
    )


def of_copies(files: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings; if several copies of a partition were not read, name their folders."""
    places: set[str] = set()
    for found in files:
        is_known = found.kind is FindingKind.LEFT_OUT and found.place in places
        places |= {found.place} if found.kind is FindingKind.LEFT_OUT else set()
        yield replace(found, place=found.facts["folder"]) if is_known else found


def unread_place(found: Finding) -> UnreadPlace:
    """Return the unread place of a finding's files.

    The place has offset ranges only if the ends of all ranges are known.
    """
    is_known = all(stop < OFFSET_MAX for _, stop in found.ranges)
    path = f"{found.facts['folder']}/{found.facts['example']}"
    return UnreadPlace(path, found.text, found.ranges if is_known else ())


# Any: texts and numbers.
def _facts(kind: str, folder: str, files: int, size_bytes: int, example: str) -> dict[str, Any]:
    return {
        "files_kind": str(kind),
        "folder": folder,
        "files": files,
        "size_bytes": size_bytes,
        "example": example,
    }


def _finding(
    kind: FindingKind,
    place: str,
    facts: Mapping[str, Any],
    names: tuple[tuple[str, str], str],
    ranges: tuple[OffsetRange, ...] = (),
) -> Finding:
    """Return the finding on files of one kind.

    Args:
        kind: kind of the finding.
        place: partition or folder.
        facts: the result of `_facts`.
        names: name of the files in singular and plural, and advice.
        ranges: offsets in the files, if known.
    """
    (one, many), advice = names
    what = show_count(facts["files"], one, many)
    size = f"{show_bytes(facts['size_bytes'])}, " if facts["size_bytes"] else ""
    others = ", …" if facts["files"] > 1 else ""
    where = "" if place == facts["folder"] else f" in {facts['folder']}"
    shown = f"{_ranges(ranges)} in " if ranges else ""
    text = f"{place}: {shown}{what} ({size}{facts['example']}{others}){where}: {advice}"
    return Finding(kind, text, place, ranges, facts)


def _ranges(ranges: Sequence[OffsetRange]) -> str:
    shown = ", ".join(
        f"[{start}, {'…' if stop == OFFSET_MAX else stop})" for start, stop in ranges[:_MOST_RANGES]
    )
    rest = len(ranges) - _MOST_RANGES
    return f"{shown} and {show_count(rest, 'more range')}" if rest > 0 else shown
