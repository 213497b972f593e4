"""Reads from a snapshot the metadata that KRaft deleted from its log.

KRaft deletes the log below a snapshot and keeps the snapshot. So if the offsets to ingest begin
below the log start, the task of the log's first segment also reads a snapshot: the oldest one that
ends at or above the log start.
"""

from collections.abc import Iterator

from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.side_files.log_dir import parse_metadata_snapshot_name
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import Window
from seglake.segment_decoding.tasks import DecodeSettings, PartitionSplit
from seglake.storage.storage import FileInfo, Storage


def snapshot_below(split: PartitionSplit, source: Storage) -> FileInfo | None:
    """Return the snapshot for a split's offsets below the log start; None if not needed."""
    first = split.segment_splits[0]
    is_at_log_start = first.start == 0 and first.file.base_offset <= split.log_start_offset
    is_repair = split.gap_cause is not None
    if is_repair or not is_at_log_start or split.range_start >= split.log_start_offset:
        return None
    folder = first.file.path.rpartition("/")[0]
    found = []
    for entry in source.list_folder(folder):
        name = parse_metadata_snapshot_name(entry.name)
        if name is not None and name.end_offset >= split.log_start_offset:
            found.append((name, entry))
    return min(found, key=lambda snapshot: snapshot[0])[1] if found else None


def snapshot_pieces(path: str, settings: DecodeSettings) -> Iterator[list[Record] | str]:
    """Yield the records of each batch of a snapshot, or the reason why a batch is unreadable.

    The snapshot's header and footer, which are control batches, are skipped.

    Raises:
        StorageError: the snapshot cannot be opened or read.
        SegmentCodecError: the snapshot changed while it was read.
    """
    bounds = SegmentBounds.of_batches(0, limit_after(0))
    with settings.storage.open_reader(path) as reader:
        walk = SegmentWalk(Window(reader, settings.window_bytes), bounds, OffsetOrder(0))
        for item in walk.items():
            if isinstance(item, Tail):
                yield f"it ends in {item.kind} at position {item.position}"
            elif isinstance(item, Defect):
                yield f"{item.code} at position {item.position}"
            elif isinstance(item, RecordBatch) and item.header.is_control:
                continue
            else:
                try:
                    yield decode(item, settings.max_decompressed_batch_bytes)
                except DefectError as error:
                    yield f"{error.code} at position {item.position}"
