"""Reads `.txnindex` and `.snapshot` files of copies, which show how transactions ended."""

from collections.abc import Iterable, Iterator

from seglake.ingest_steps.repair.repair_sources import RepairSource
from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.transactions.missing_markers import CopyFiles, KnownLog, SegmentFiles
from seglake.log_dirs.segment_side_files import read_transaction_files
from seglake.storage.storage import Storage


def read_end_files(
    copies: Iterable[RepairSource], log: KnownLog, storage: Storage
) -> list[CopyFiles]:
    """Return the indexes and snapshots of copies, from the first undecided transaction on.

    Args:
        copies: copies of one partition.
        log: the partition's known markers and holes.
        storage: the storage of the copies.
    """
    start = min(data.offset for data in log.waiting)
    return [
        _read(copy, start, storage)
        for copy in copies
        if copy.replica.snapshots
        or any(file.transaction_index_path for file in copy.replica.segments)
    ]


def _read(copy: RepairSource, start: int, storage: Storage) -> CopyFiles:
    snapshots = [
        found.snapshot
        for file in copy.replica.snapshots
        if start < file.offset <= copy.stop_offset
        and (found := read_transaction_files(storage, None, (file,))).snapshot is not None
    ]
    return CopyFiles(tuple(_segments(copy, start, storage)), tuple(snapshots))


def _segments(copy: RepairSource, start: int, storage: Storage) -> Iterator[SegmentFiles]:
    files = copy.replica.segments
    stops = [*(file.base_offset for file in files[1:]), OPEN_END]
    for file, stop in zip(files, stops, strict=True):
        if stop <= start or file.base_offset >= copy.stop_offset:
            continue
        path = file.transaction_index_path
        found = read_transaction_files(storage, file, ())
        aborted = found.aborted
        if aborted is not None:
            aborted = tuple(entry for entry in aborted if entry.last_offset < copy.stop_offset)
        is_last = file is files[-1]
        yield SegmentFiles(
            path=path or file.path,
            start_offset=file.base_offset,
            next_offset=stop,
            is_last=is_last,
            has_index=found.has_index,
            aborted=aborted,
        )
