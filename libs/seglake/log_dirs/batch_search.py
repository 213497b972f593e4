"""Finds a log's batch by offset, with few reads. Runs in tasks.

The search begins at a position in the offset index.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from seglake.kafka_log.batch_headers import last_batch_of
from seglake.kafka_log.log_identity import LogBatch
from seglake.kafka_log.replica import Replica, SegmentFile
from seglake.log_dirs.segment_reader import open_segment
from seglake.log_dirs.segment_side_files import read_index
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectError, SegmentCodecError
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper
from seglake.segment_codec.formats.record_batch import LENGTH_STOP, RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.side_files.offset_index import OffsetIndex
from seglake.segment_codec.formats.units import PREFIX, PREFIX_BYTES, Unit, smallest_length
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.offset_places import first_offset_of
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage

HEADER_READ_BYTES = 4096
WHOLE_READ_BYTES = 4 << 20
"""Size of a read when a whole segment may have to be read."""
MOST_WRAPPED_BYTES = 64 << 20
_ANYWHERE = SegmentBounds.of_batches(0, 1 << 62)


class BatchRequest(NamedTuple):
    """Request to find the first batch of a segment that ends at or after an offset.

    Attributes:
        is_last: whether no later segment exists.
        window_bytes: size of a read.
        proved_offset: see `limit_after`.
    """

    storage: Storage
    file: SegmentFile
    offset: int
    is_last: bool
    window_bytes: int
    proved_offset: int = 0


class LogEnd(NamedTuple):
    """Answer for a log that ends below the requested offset: the log's exclusive end."""

    next_offset: int


Answer = LogBatch | LogEnd | None


class Message(NamedTuple):
    """Key and value of a message of an old format."""

    key: bytes | None
    value: bytes | None


def request_for(
    replica: Replica, offset: int, storage: Storage, window_bytes: int
) -> BatchRequest | None:
    """Return the request for an offset; None if the offset is below the first segment.

    Args:
        replica: the replica to search.
        offset: the offset.
        storage: storage of the replica's files.
        window_bytes: size of a read.
    """
    files = [file for file in replica.segments if file.base_offset <= offset]
    if not files:
        return None
    following = replica.segments[len(files) : len(files) + 1]
    return BatchRequest(
        storage=storage,
        file=files[-1],
        offset=offset,
        is_last=not following,
        window_bytes=window_bytes,
        proved_offset=following[0].base_offset if following else replica.durable_offset,
    )


def log_end_below(storage: Storage, segments: Sequence[SegmentFile], claimed: int) -> int | None:
    """Return the end of a log that ends below a claimed log start; None for all other logs.

    Such a claim is implausible. Segments are read only if it is above the last one's base offset.

    Args:
        storage: the storage of the segments.
        segments: the log's segments, by base offset.
        claimed: the log start in a checkpoint file.
    """
    if not segments or claimed <= segments[-1].base_offset:
        return None
    request = BatchRequest(
        storage=storage,
        file=segments[-1],
        offset=claimed,
        is_last=True,
        window_bytes=WHOLE_READ_BYTES,
        proved_offset=claimed,
    )
    end = find_batch(request)
    return end.next_offset if isinstance(end, LogEnd) and end.next_offset < claimed else None


def find_batches(requests: tuple[BatchRequest, ...]) -> list[Answer]:
    """Find the batches for several requests, in their order; a task function."""
    return [find_batch(request) for request in requests]


def find_batch(request: BatchRequest) -> Answer:
    """Find the first valid batch that ends at or after the offset.

    Returns:
        The batch; the end of the log if the log ends below the offset; None if damage or a read
        error prevents an answer.
    """
    try:
        with open_segment(request.storage, request.file) as reader:
            size_bytes = min(reader.size_bytes, request.file.size_bytes)
            headers = Window(reader, HEADER_READ_BYTES, size_bytes)
            found = _walk(request, headers, headers_only=True)
            if found is None:
                full = Window(reader, request.window_bytes, size_bytes)
                found = _walk(request, full, headers_only=False)
    except (StorageError, SegmentCodecError):
        return None  # the ingest of the segment reports this error
    return None if isinstance(found, LogEnd) and not request.is_last else found


def find_message(request: BatchRequest) -> Message | None:
    """Return the old format's message at the offset; None if it is compressed or not found."""
    file, offset = request.file, request.offset
    with (
        suppress(StorageError, SegmentCodecError),
        open_segment(request.storage, file) as reader,
    ):
        size_bytes = min(reader.size_bytes, file.size_bytes)
        window = Window(reader, request.window_bytes, size_bytes)
        position, base_offset = walk_start(request.storage, file, offset, window)
        limit = limit_after(file.base_offset, request.proved_offset)
        bounds = SegmentBounds.of_search(file.base_offset, limit, offset, offset + 1)
        for item in SegmentWalk(window, bounds, OffsetOrder(base_offset)).items(position):
            if isinstance(item, Defect | Tail) or item.last_offset < offset:
                continue
            if isinstance(item, MessageRun):
                for record in decode(item, 0):
                    if record.offset == offset:
                        return Message(record.key, record.value)
            break
    return None


def _walk(request: BatchRequest, window: Window, *, headers_only: bool) -> Answer:
    """Read batches up to the requested offset, and return the answer.

    None if headers alone cannot give the answer.
    """
    file, offset = request.file, request.offset
    position, base_offset = walk_start(request.storage, file, offset, window)
    limit = limit_after(file.base_offset, request.proved_offset)
    bounds = SegmentBounds.of_search(file.base_offset, limit, offset)
    order = OffsetOrder(base_offset)
    for item in SegmentWalk(window, bounds, order, headers_only=headers_only).items(position):
        if isinstance(item, Defect):
            if headers_only:
                return None
        elif not isinstance(item, Tail) and item.last_offset >= offset:
            return _found(item) if not headers_only or is_proved(window, item) else None
    return LogEnd(order.next_offset)


def walk_start(
    storage: Storage,
    file: SegmentFile,
    offset: int,
    window: Window,
    notes: list[str] | None = None,
) -> tuple[int, int]:
    """Return position and first offset of a valid batch at or below an offset.

    The offset index gives the position; without a usable index it is the segment's start.

    Args:
        storage: storage of the files.
        file: the segment.
        offset: the offset to reach.
        window: bytes of the segment.
        notes: receives the reason if an existing index cannot be read.
    """
    return indexed_start(read_index(storage, file, notes), offset, window)


def indexed_start(index: OffsetIndex, offset: int, window: Window) -> tuple[int, int]:
    """Return position and first offset of a valid batch at or below an offset, by an index.

    If the batch at an entry's position is not valid, an earlier entry is tried, and finally the
    segment's start.
    """
    for entry in index.lookups(offset):
        unit = _indexed_unit(window, entry.position, index.base_offset)
        first_offset = None if unit is None else first_offset_of(unit)
        if first_offset is not None and index.base_offset <= first_offset <= offset:
            return entry.position, first_offset
    return 0, index.base_offset


def _indexed_unit(window: Window, position: int, base_offset: int) -> Unit | None:
    """Return the valid batch at an index entry's position; None without a valid one."""
    left = window.size_bytes - position
    if left < PREFIX_BYTES:
        return None
    offset, length, _, magic = PREFIX.unpack_from(window.view(position, PREFIX_BYTES))
    size_bytes = LENGTH_STOP + length
    if magic not in (0, 1, 2) or length < smallest_length(magic) or size_bytes > left:
        return None
    if not base_offset <= offset < limit_after(base_offset):
        return None
    return unit_at(window, position, position + size_bytes)


def is_proved(window: Window, unit: Unit) -> bool:
    """Return whether a batch's checksum is valid, after reading the rest of the batch."""
    if isinstance(unit, MessageRun):
        return True
    bounds = SegmentBounds.of_batches(unit.first_offset, unit.last_offset + 1)
    stop = unit.position + unit.size_bytes
    return unit_at(window, unit.position, stop, bounds) is not None


def unit_at(
    window: Window, position: int, stop: int, bounds: SegmentBounds = _ANYWHERE
) -> Unit | None:
    """Return the batch at a position if its checksum is valid; nothing is read after `stop`."""
    order = OffsetOrder(bounds.base_offset)
    walk = SegmentWalk(window, bounds, order, stop=stop, compares_neighbours=False)
    item = next(walk.items(position))
    return None if isinstance(item, Defect | Tail) else item


def _found(unit: Unit) -> LogBatch:
    """Convert a decoded batch or message to a LogBatch."""
    first_offset, count = unit.first_offset, unit.last_offset - unit.first_offset + 1
    is_whole = True
    match unit:
        case RecordBatch():
            header = unit.header
            is_whole = header.record_count == count and not header.has_delete_horizon
        case Wrapper():
            try:
                records = decode(unit, MOST_WRAPPED_BYTES)
            except DefectError:
                is_whole = False
            else:
                first_offset = records[0].offset
                is_whole = len(records) == unit.last_offset - first_offset + 1
    return LogBatch(
        header=last_batch_of(unit),
        first_offset=first_offset,
        last_offset=unit.last_offset,
        magic=unit.magic,
        is_wrapper=isinstance(unit, Wrapper),
        is_whole=is_whole,
    )
