"""Reports files of segments that a broker has removed from a log but not deleted yet.

The records in these files are no longer part of the log: they were compacted, are below the log
start, or belong to a deleted topic. Like a starting broker, a run does not read these files.
"""

from collections.abc import Iterable, Mapping, Sequence

from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    SkippedFile,
    SkipReason,
    parse_file_name,
)
from seglake.storage.storage import FileInfo

_REMOVED = frozenset({SkipReason.DELETED, SkipReason.REPLACED_BY_SWAP})
_MOST_NAMED = 20


def removed_segments(
    skipped: Iterable[SkippedFile], by_name: Mapping[str, FileInfo]
) -> list[FileInfo]:
    """Return the nonempty segments in a folder that the broker has removed from its log."""
    removed = (by_name[str(each.file)] for each in skipped if each.reason in _REMOVED)
    return _with_bytes(removed)


def removed_note(path: str, removed: Mapping[str, Sequence[FileInfo]]) -> list[str]:
    """Return a note on a log dir's removed segments; empty if there is none.

    Args:
        path: path of the log dir.
        removed: the segments by partition.
    """
    found = {name: files for name, files in removed.items() if files}
    if not found:
        return []
    return [
        f"{path}: segments that the broker had removed (.deleted, or replaced by a .swap) are not "
        f"read: {_sizes(found)}; they may have records that count as compacted or deleted; to read "
        "them, copy them to another log dir, under names without .deleted, and ingest it with "
        "--older-copies"
    ]


def given_up_note(path: str, folders: Mapping[str, Iterable[FileInfo]]) -> list[str]:
    """Return a note on a log dir's deleted or stray folders; empty if there is none.

    Args:
        path: path of the log dir.
        folders: files by the folder's name.
    """
    if not folders:
        return []
    found = {name: _with_bytes(files) for name, files in folders.items()}
    advice = "; to read them, copy each to another log dir, as TOPIC-PARTITION, and ingest it"
    return [
        f"{path}: folders that the broker had given up (-delete, -stray) are not read: "
        + _sizes(found)
        + (advice if any(found.values()) else "")
    ]


def _with_bytes(files: Iterable[FileInfo]) -> list[FileInfo]:
    """Return the segments that are not empty."""
    named = ((entry, parse_file_name(entry.name)) for entry in files if entry.size_bytes)
    return [entry for entry, name in named if name is not None and name.kind is FileKind.LOG]


def _sizes(found: Mapping[str, Sequence[FileInfo]]) -> str:
    """Return the number and size of segments in each partition or folder, as text."""
    shown = [f"{name} ({_size(files)})" for name, files in sorted(found.items())]
    rest = len(shown) - _MOST_NAMED
    return ", ".join(shown[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _size(files: Sequence[FileInfo]) -> str:
    """Return the number and size of segments, as text."""
    if not files:
        return "empty"
    count = f"{len(files)} segment{'' if len(files) == 1 else 's'}"
    return f"{count}, {sum(entry.size_bytes for entry in files):,} bytes"
