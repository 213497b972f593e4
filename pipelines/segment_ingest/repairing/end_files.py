"""The files beside copies that tell how transactions ended. Effect: reads them, all are small."""

from collections.abc import Iterable, Iterator

from lake.storage import Storage
from pipelines.segment_ingest.repairing.copies import Copy
from pipelines.segment_ingest.repairing.lost_ends import CopyFiles, KnownLog, SegmentFiles
from pipelines.segment_ingest.same_logs.lineage import OPEN_END
from pipelines.segment_ingest.sources.side_files import read_transaction_files


def read_end_files(copies: Iterable[Copy], log: KnownLog, storage: Storage) -> list[CopyFiles]:
    """What lies beside the copies of a partition from the first hole on that hides an end."""
    start = min(data.offset for data in log.waiting)
    return [_read(copy, start, storage) for copy in copies if copy.replica.snapshots or _has(copy)]


def _has(copy: Copy) -> bool:
    return any(file.transaction_index_path for file in copy.replica.segments)


def _read(copy: Copy, start: int, storage: Storage) -> CopyFiles:
    snapshots = [
        found.snapshot
        for file in copy.replica.snapshots
        if start < file.offset <= copy.stop_offset
        and (found := read_transaction_files(storage, None, 0, (file,))).snapshot is not None
    ]
    return CopyFiles(tuple(_segments(copy, start, storage)), tuple(snapshots))


def _segments(copy: Copy, start: int, storage: Storage) -> Iterator[SegmentFiles]:
    files = copy.replica.segments
    stops = [*(file.base_offset for file in files[1:]), OPEN_END]
    for file, stop in zip(files, stops, strict=True):
        if stop <= start or file.base_offset >= copy.stop_offset:
            continue
        path = file.transaction_index_path
        found = read_transaction_files(storage, path, file.base_offset, ())
        aborted = found.aborted
        if aborted is not None:
            aborted = tuple(each for each in aborted if each.last_offset < copy.stop_offset)
        is_last = file is files[-1]
        yield SegmentFiles(
            path or file.path, file.base_offset, stop, is_last, found.has_index, aborted
        )
