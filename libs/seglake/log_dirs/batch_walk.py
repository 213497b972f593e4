"""Reads the batch headers of a copy's log in rising order of offsets."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from typing import NamedTuple, Self

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica, SegmentFile
from seglake.log_dirs.batch_search import MOST_WRAPPED_BYTES, unit_at, walk_start
from seglake.log_dirs.segment_files import with_limits
from seglake.log_dirs.segment_reader import open_segment
from seglake.segment_codec.formats import message_set
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.walk.batch_checksums import batch_checksum
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import Window
from seglake.storage.storage import Storage

_HEADER_READ_BYTES = 4096


class BatchHead(NamedTuple):
    """Header of a batch, or of a message in a format before magic 2.

    A compressed message of the old formats (a wrapper) has only its last offset in its header. If
    no offsets are missing before this message, its first offset is where the previous batch ends;
    otherwise `first_offset` equals `last_offset`.

    Attributes:
        leader_epoch: leader epoch; None if the format has none or the broker set none.
        is_dense: whether the batch has a record for each offset and no delete horizon, which shows
            that the log cleaner never rewrote the batch.
        record_count: number of records; None for a compressed message of the old formats.
    """

    first_offset: int
    last_offset: int
    crc: int
    leader_epoch: int | None
    is_dense: bool
    magic: int
    codec_id: int
    record_count: int | None
    position: int
    size_bytes: int


class LogHeads:
    """Reader of a copy's batch headers, segment by segment."""

    def __init__(
        self,
        storage: Storage,
        files: Sequence[SegmentFile],
        cleaner_offset: int,
        proved_offset: int = 0,
    ) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            storage: storage of the files.
            files: segments of the copy, by base offset.
            cleaner_offset: exclusive end of the range that the cleaner has processed; 0 if none.
            proved_offset: see `limit_after`.
        """
        self._storage = storage
        self._proved_offset = proved_offset
        self._files = files
        self._cleaner_offset = cleaner_offset
        self._window: Window | None = None
        self.file: SegmentFile | None = None

    @classmethod
    def of(cls, storage: Storage, copy: Replica) -> Self:
        """Return the reader of a replica's batch headers."""
        cleaner_offset = copy.checkpoints.cleaner_offset or 0
        return cls(storage, copy.segments, cleaner_offset, copy.durable_offset)

    def first(self, offsets: OffsetRange) -> BatchHead | None:
        """Return the first valid batch that begins in a range of offsets; None without one."""
        with closing(self.between(offsets)) as heads:
            return next(heads, None)

    def between(self, offsets: OffsetRange) -> Generator[BatchHead, None, None]:
        """Yield in order the valid batches that begin in a range of offsets.

        Close the generator if it is not exhausted.
        """
        start, stop = offsets
        reached = start
        for file, limit in with_limits(self._files, self._proved_offset):
            if limit <= start or file.base_offset >= stop:
                continue
            with open_segment(self._storage, file) as reader:
                size_bytes = min(reader.size_bytes, file.size_bytes)
                window = Window(reader, _HEADER_READ_BYTES, size_bytes)
                self.file, self._window = file, window
                for head in self._heads(file, limit, offsets, window):
                    if reached <= head.first_offset < stop:
                        reached = head.last_offset + 1
                        yield head

    def is_sound(self, head: BatchHead) -> bool:
        """Return whether the checksum of the last yielded batch is valid."""
        if self._window is None:
            return False
        found = batch_checksum(self._window, head.position, head.size_bytes, head.magic)
        return found == head.crc

    def exact(self, head: BatchHead) -> BatchHead:
        """Return the last yielded batch, with offsets read from a wrapper's inner messages."""
        if self._window is None or head.magic == 2 or head.codec_id == 0:
            return head
        records = self.records(head)
        if not records:
            return head._replace(is_dense=False)
        first, last = records[0].offset, records[-1].offset
        is_dense = head.is_dense and len(records) == last - first + 1
        return head._replace(first_offset=first, is_dense=is_dense)

    def content(self, head: BatchHead, most_bytes: int) -> bytes:
        """Return the first bytes of the last yielded batch, at most `most_bytes`."""
        if self._window is None:
            return b""
        return bytes(self._window.view(head.position, min(head.size_bytes, most_bytes)))

    def records(self, head: BatchHead) -> list[Record]:
        """Return the last yielded batch's records; empty if the batch is damaged or too large."""
        if self._window is None:
            return []
        unit = unit_at(self._window, head.position, head.position + head.size_bytes)
        with suppress(DefectError):
            return [] if unit is None else decode(unit, MOST_WRAPPED_BYTES)
        return []

    def _heads(
        self, file: SegmentFile, limit: int, offsets: OffsetRange, window: Window
    ) -> Iterator[BatchHead]:
        """Yield the batch headers of one segment, from the requested offsets on."""
        position, base_offset = walk_start(self._storage, file, offsets[0], window)
        bounds = SegmentBounds.of_search(file.base_offset, limit, *offsets)
        walk = SegmentWalk(window, bounds, OffsetOrder(base_offset), headers_only=True)
        expected: int | None = max(base_offset, offsets[0])
        for item in walk.items(position):
            if not isinstance(item, Defect | Tail):
                yield from _heads_of(item, self._cleaner_offset, expected)
            expected = None if isinstance(item, Defect | Tail) else item.last_offset + 1


def _heads_of(unit: Unit, cleaner_offset: int, expected: int | None) -> Iterator[BatchHead]:
    """Yield the headers of a batch or message run; `expected` is the end of the previous batch."""
    is_above = unit.first_offset >= cleaner_offset
    match unit:
        case RecordBatch():
            header, epoch = unit.header, unit.header.partition_leader_epoch
            is_dense = header.record_count == header.last_offset_delta + 1
            yield BatchHead(
                first_offset=header.base_offset,
                last_offset=header.last_offset,
                crc=header.crc,
                leader_epoch=epoch if epoch >= 0 else None,
                is_dense=is_above and is_dense and not header.has_delete_horizon,
                magic=2,
                codec_id=header.codec_id,
                record_count=header.record_count,
                position=unit.position,
                size_bytes=unit.size_bytes,
            )
        case Wrapper():
            offset, codec_id = unit.last_offset, unit.attributes & message_set.CODEC_MASK
            first = offset if expected is None or not is_above else min(expected, offset)
            place = unit.position, unit.size_bytes
            yield BatchHead(
                first, offset, unit.crc, None, is_above, unit.magic, codec_id, None, *place
            )
        case MessageRun():
            yield from _messages(unit, is_above=is_above)


def _messages(run: MessageRun, *, is_above: bool) -> Iterator[BatchHead]:
    """Yield the header of each message of a run."""
    position = 0
    while position < run.size_bytes:
        offset, length, crc, *_ = message_set.PREFIX.unpack_from(run.data, position)
        size_bytes = message_set.SIZE_STOP + length
        place = run.position + position, size_bytes
        yield BatchHead(offset, offset, crc, None, is_above, run.magic, 0, 1, *place)
        position += size_bytes
