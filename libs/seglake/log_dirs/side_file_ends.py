"""Finds the highest log end that a side file proves, by its name or its index entries.

Some file names have the log's end, and a broker writes an index entry every few KiB. An offset in a
name or an entry is ignored if it is far above all other offsets on the disk. Otherwise a few bytes
of garbage would look like billions of lost offsets.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import NamedTuple

from seglake.kafka_log.replica import EndClaim
from seglake.log_dirs.partition_files import PartitionFiles
from seglake.log_dirs.plausible_checkpoints import MOST_STEP, is_far
from seglake.log_dirs.small_files import MOST_BYTES
from seglake.log_dirs.unread_files import compressed_segments
from seglake.segment_codec.formats.side_files import offset_index, time_index
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FileState,
    SegmentFileName,
    parse_file_name,
    parse_metadata_snapshot_name,
)
from seglake.storage.errors import NotFoundError, StorageError
from seglake.storage.storage import FileInfo, Storage

_MOST_TRIMMED_BYTES = (
    2 << 20
)  # most bytes of an index that was trimmed; a preallocated open index has 10 MiB


class SideFileEnds(NamedTuple):
    """Highest log end that side files prove: index files, snapshots and others.

    Attributes:
        last: the file that proves the highest offset; None if no file proves any.
        ignored: why files are unreadable or implausible, by path.
    """

    last: EndClaim | None
    ignored: dict[str, str]


def side_file_ends(
    storage: Storage, content: PartitionFiles, proved: Iterable[int], *, is_cleaned: bool
) -> SideFileEnds:
    """Find the highest log end that the side files of a partition folder prove.

    A file proves the offset in its name. An index without a segment also proves the offset of its
    last entry. If the log is empty, an index that has the size of a preallocated index is not read.

    Args:
        storage: storage of the files.
        content: sorted files of the partition folder.
        proved: log ends that the checkpoint files prove.
        is_cleaned: whether the cleaner has run on this log, so that a few KiB may span any number
            of offsets.
    """
    ignored: dict[str, str] = {}
    sizes = {segment.base_offset: segment.size_bytes for segment in content.segments}
    for segment in content.lost:
        del sizes[segment.base_offset]
    last_base = max((base for base, size_bytes in sizes.items() if size_bytes), default=-1)
    claims = [EndClaim(segment.base_offset, segment.name) for segment in content.lost]
    claims += [
        EndClaim(each.base_offset, each.name) for each in compressed_segments(content.by_name)
    ]
    claims += _metadata_snapshots(content.by_name)
    reached = [*proved, *(claim.offset for claim in claims)]
    reached += [base + size_bytes for base, size_bytes in sizes.items() if size_bytes]
    for file in _plausible(content.by_name, max(reached, default=0), ignored):
        if file.kind is FileKind.LOG:
            continue
        claims.append(EndClaim(file.base_offset, file.name))
        entry = content.by_name[file.name]
        most_bytes = _MOST_TRIMMED_BYTES if file.base_offset in sizes else MOST_BYTES
        if (
            file.base_offset > last_base
            and 0 < entry.size_bytes <= most_bytes
            and not entry.problem
        ):
            claims += _index_ends(storage, entry, file, ignored, is_cleaned=is_cleaned)
    return SideFileEnds(max(claims, default=None), ignored)


def _metadata_snapshots(names: Iterable[str]) -> Iterator[EndClaim]:
    """Yield the log ends in the names of the KRaft log's snapshots."""
    for name in names:
        if (snapshot := parse_metadata_snapshot_name(name)) is not None:
            yield EndClaim(snapshot.end_offset, name)


def _plausible(
    by_name: Mapping[str, FileInfo], reached: int, ignored: dict[str, str]
) -> Iterator[SegmentFileName]:
    """Yield the side files and empty segments with plausible offsets in their names.

    An offset is plausible if it is not far above all others, or if several files have it. `reached`
    is the log end that other files prove; 0 if no other file proves one. `ignored` receives why a
    file is implausible.
    """
    parsed = filter(None, map(parse_file_name, by_name))
    live = [
        file
        for file in parsed
        if file.state is FileState.LIVE
        and not (file.kind is FileKind.LOG and by_name[file.name].size_bytes)
    ]
    live.sort(key=lambda file: file.base_offset)
    for offset, files in groupby(live, key=lambda file: file.base_offset):
        found = list(files)
        if len(found) == 1 and is_far(offset, reached):
            path = by_name[found[0].name].path
            ignored[path] = (
                f"{path} is ignored as implausible: by its name the log reached offset "
                f"{offset}, but no other file proves more than {reached}"
            )
            continue
        reached = max(reached, offset)
        yield from found


def _index_ends(
    storage: Storage,
    entry: FileInfo,
    file: SegmentFileName,
    ignored: dict[str, str],
    *,
    is_cleaned: bool,
) -> list[EndClaim]:
    """Return the log ends that an index's entries prove; empty for other files."""
    if file.kind not in (FileKind.INDEX, FileKind.TIMEINDEX):
        return []
    try:
        content = storage.read_bytes(entry.path)
    except NotFoundError:
        return []  # the index was deleted with its segment meanwhile
    except StorageError as error:
        ignored[entry.path] = why_without(entry, error.reason)
        return []
    offsets, damage = _entries(content, file, is_cleaned=is_cleaned)
    if damage is not None:
        ignored[entry.path] = f"{entry.path} is ignored as implausible: {damage}"
        return []
    return [EndClaim(offset + 1, entry.name) for offset in offsets[-1:]]


def _entries(
    content: bytes, file: SegmentFileName, *, is_cleaned: bool
) -> tuple[list[int], str | None]:
    """Return the offsets in an index, and its fault as text; None if it has no fault."""
    base_offset = file.base_offset
    if file.kind is FileKind.TIMEINDEX:
        times = time_index.parse(content, base_offset)
        offsets, positions, damage = [each.offset for each in times.entries], [0], times.damage
    else:
        index = offset_index.parse(content, base_offset)
        offsets, damage = [each.offset for each in index.entries], index.damage
        positions = [0, *(each.position for each in index.entries)]
    steps = [*pairwise(() if is_cleaned else (base_offset, *offsets)), *pairwise(positions)]
    far = next((step for step in steps if step[1] - step[0] > MOST_STEP), None)
    if damage is None and far is not None:
        damage = f"one of its entries jumps from offset {far[0]} to {far[1]}"
    return offsets, damage


def why_without(entry: FileInfo, reason: str) -> str:
    """Return a sentence on why a log is read without a certain side file."""
    return f"{entry.path}: {reason}; the log is read without this file"
