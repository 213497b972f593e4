"""Reads the index files and producer snapshots beside a segment."""

from collections.abc import Callable
from typing import NamedTuple

from seglake.kafka_log.replica import SegmentFile, SnapshotFile
from seglake.kafka_log.segment_survey import OpenTransactions, TransactionFiles
from seglake.kafka_log.transaction_markers import OpenTransaction
from seglake.log_dirs.small_files import OversizedFileError, read_small
from seglake.segment_codec.formats.side_files.offset_index import OffsetIndex
from seglake.segment_codec.formats.side_files.offset_index import parse as parse_offset_index
from seglake.segment_codec.formats.side_files.producer_snapshot import parse as parse_snapshot
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction
from seglake.segment_codec.formats.side_files.transaction_index import (
    parse as parse_transaction_index,
)
from seglake.storage.errors import NotFoundError, StorageError
from seglake.storage.storage import Storage


def read_index(storage: Storage, file: SegmentFile, notes: list[str] | None = None) -> OffsetIndex:
    """Return a segment's offset index; empty if it is missing or unreadable.

    Args:
        storage: storage of the files.
        file: the segment.
        notes: receives the reason if an existing index cannot be read.
    """
    if file.index_path is not None:
        try:
            size_bytes = None if file.remote is None else file.remote.index_bytes
            content = read_small(storage, file.index_path, size_bytes)
            return parse_offset_index(content, file.base_offset)
        except NotFoundError:
            pass  # the index was deleted after the listing
        except StorageError as error:
            if notes is not None:
                notes.append(f"{error}; the segment is read without its index")
    return OffsetIndex(file.base_offset, (), None)


def anchors(
    storage: Storage, file: SegmentFile, notes: list[str] | None = None
) -> Callable[[], tuple[int, ...]]:
    """Return a function that reads the batch positions in a segment's index.

    Args:
        storage: storage of the files.
        file: the segment.
        notes: receives the reason if an existing index cannot be read.
    """
    return lambda: tuple(entry.position for entry in read_index(storage, file, notes).entries)


def read_transaction_files(
    storage: Storage, segment: SegmentFile | None, snapshots: tuple[SnapshotFile, ...]
) -> TransactionFiles:
    """Read a segment's transaction index, if a segment is given, and the first usable snapshot.

    A log can be read without these files. If a file cannot be used, the result has a sentence about
    it.
    """
    problems = _Problems(notes=[], unreadable=[])
    aborted = None if segment is None else _read_aborted(storage, segment, problems)
    read = (_read_snapshot(storage, file, problems) for file in snapshots)
    found = next((snapshot for snapshot in read if snapshot is not None), None)
    is_there = segment is not None and segment.transaction_index_path is not None
    return TransactionFiles(
        aborted, is_there, found, tuple(problems.notes), tuple(problems.unreadable)
    )


class _Problems(NamedTuple):
    """Sentences about files that cannot be used or read."""

    notes: list[str]
    unreadable: list[str]


def _content(
    storage: Storage, path: str, problems: _Problems, listed_bytes: int | None = None
) -> bytes | None:
    """Return the content of a small file; None if it cannot be read."""
    try:
        return read_small(storage, path, listed_bytes)
    except (NotFoundError, OversizedFileError) as error:
        problems.notes.append(f"{error}; the file counts as missing")
    except StorageError as error:
        problems.unreadable.append(f"{error}; the file counts as missing")
    return None


def _read_aborted(
    storage: Storage, segment: SegmentFile, problems: _Problems
) -> tuple[AbortedTransaction, ...] | None:
    """Return the entries of a segment's transaction index; None if it is not usable."""
    path, remote = segment.transaction_index_path, segment.remote
    size_bytes = None if remote is None else remote.transaction_index_bytes
    content = None if path is None else _content(storage, path, problems, size_bytes)
    if content is None:
        return None
    index = parse_transaction_index(content)
    damage = index.damage
    if damage is None and index.entries and index.entries[0].last_offset < segment.base_offset:
        damage = f"marker {index.entries[0].last_offset} is not in this segment"
    if damage is None:
        return index.entries
    problems.notes.append(f"{path} is not used: {damage}")
    return None


def _read_snapshot(
    storage: Storage, file: SnapshotFile, problems: _Problems
) -> OpenTransactions | None:
    """Return the open transactions in a producer snapshot; None if it is not usable."""
    content = _content(storage, file.path, problems)
    if content is None:
        return None
    snapshot = parse_snapshot(content)
    found = tuple(
        OpenTransaction(entry.producer_id, entry.current_txn_first_offset, entry.timestamp_ms)
        for entry in snapshot.entries
        if entry.current_txn_first_offset is not None
    )
    damage = snapshot.damage
    if damage is None and any(transaction.first_offset >= file.offset for transaction in found):
        damage = "a transaction begins above the snapshot's offset"
    if damage is None:
        return OpenTransactions(file.offset, found)
    problems.notes.append(f"{file.path} is not used: {damage}")
    return None
