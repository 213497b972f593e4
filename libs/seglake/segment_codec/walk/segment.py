"""Walks through a segment file; yields valid batches, defects, and the kind of its end.

All formats have offset, length and magic in the same 17 bytes, so one walk reads all of them. Each
byte from the start of a walk to its end is in exactly one item.

A walk checks length, magic, checksum, and then the order of offsets. The records of a batch are
checked when they are decoded. Source of the rules for the end of a file: apache/kafka 1eb7644,
FileLogInputStream.java, LogSegment.recover.
"""

from collections.abc import Iterator
from dataclasses import replace

from seglake.segment_codec.formats import message_set, record_batch
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode, DefectError, TailKind
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.record_batch import BatchHeader, RecordBatch
from seglake.segment_codec.formats.units import (
    HIGHEST_OFFSET,
    PREFIX,
    PREFIX_BYTES,
    Unit,
    smallest_length,
)
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.walk.batch_checksums import stated_checksum
from seglake.segment_codec.walk.holes import Hole, text_of
from seglake.segment_codec.walk.message_runs import MessageRunFinder
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.offset_places import OffsetPlaces, places_of
from seglake.segment_codec.walk.resync import Resync
from seglake.segment_codec.walk.run_finder import RunFinder
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.unfinished import UnfinishedEnd
from seglake.segment_codec.walk.window import Window
from seglake.segment_codec.walk.zero_bytes import is_zero

Item = Unit | Defect | Tail


class SegmentWalk:
    """Walk through a segment, from any batch on."""

    def __init__(
        self,
        window: Window,
        bounds: SegmentBounds,
        order: OffsetOrder,
        *,
        stop: int | None = None,
        headers_only: bool = False,
        compares_neighbours: bool = True,
    ) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            window: bytes of the file.
            bounds: limits of the segment's offsets, and how its end is treated.
            order: offsets of the partition that were read; consecutive segments share it.
            stop: position at which the walk ends, a known batch start; None for the end of the
                file.
            headers_only: whether to verify only the checksums of batches that may be markers, and
                to read no payloads; views in the items are then empty. A survey does this first,
                and repeats the walk in full if it finds a fault.
            compares_neighbours: whether to reject offsets of a batch that its neighbours
                contradict; not needed if an earlier walk compared them, or if a batch is read
                alone.
        """
        self._window = window
        self._bounds = bounds = bounds.of_int64()
        self._order = order
        self._stop = window.size_bytes if stop is None else stop
        self._headers_only = headers_only
        # An incomplete batch may begin at the offset at which this run stops.
        last_limit = min(limit_after(bounds.base_offset, bounds.limit_offset), HIGHEST_OFFSET)
        limit_offset = last_limit if bounds.is_last else bounds.limit_offset
        self._resync = Resync(window, self._stop, limit_offset, bounds.anchors)
        self._end = UnfinishedEnd(window, last_limit)
        self._begun_offset = 0  # exclusive end of the incomplete batches at the log's end
        self._compares_neighbours = compares_neighbours
        self._messages = MessageRunFinder(
            window,
            bounds,
            self._stop,
            self._resync.checksums,
            compares_neighbours=compares_neighbours,
        )
        self._places = OffsetPlaces(order, bounds)

    @property
    def hole_count(self) -> int:
        """Return the number of holes so far that no damage explains."""
        return self._places.hole_count

    def items(self, position: int = 0) -> Iterator[Item]:
        """Yield the items from `position`, a batch start, to the end, in the order of bytes."""
        self._begin(position)
        for item in self._unplaced(position):
            yield self._placed(item)

    def _begin(self, position: int) -> None:
        """Prepare the check of offsets for a walk that begins at `position`."""
        self._places = places_of(
            self._bounds,
            self._order,
            is_whole=position == 0,
            reaches_end=self._stop == self._window.size_bytes,
            items=self._unplaced if self._compares_neighbours else None,
            headers_only=self._headers_only,
        )

    def _unplaced(self, position: int) -> Iterator[Item]:
        """Yield the items from a position on; their offsets are not checked yet."""
        while position < self._stop:
            item = self._item(position)
            yield item
            position += item.size_bytes

    def _placed(self, item: Item) -> Item:
        """Judge the offsets of a batch; return it, or a defect in its place."""
        if isinstance(item, Defect | Tail):
            self._places.damage()
            return item
        item, fault = self._places.place(item)
        if fault is None:
            return item
        return self._defect(
            item.position,
            item.size_bytes,
            *fault,
            base_offset=item.first_offset,
            last_offset=item.last_offset,
            magic=item.magic,
        )

    def runs(self, position: int = 0) -> Iterator[Item | BatchRun]:
        """Yield the items from `position` on, with consecutive plain batches of magic 2 as runs."""
        self._begin(position)
        finder = RunFinder(
            self._window,
            self._bounds,
            self._stop,
            headers_only=self._headers_only,
            compares_neighbours=self._compares_neighbours,
        )
        while position < self._stop:
            low_offset = self._places.run_offset
            run = None if low_offset is None else finder.run_at(position, low_offset)
            if run is None or self._holes_in(run):
                item: Item | BatchRun = self._placed(self._item(position))
            else:
                item = run
                self._places.accept_run(run)
            yield item
            position += item.size_bytes

    def _item(self, position: int) -> Item:
        """Return the batch, defect or tail at a position, a defect if a hole touches it."""
        item = self._readable_item(position)
        holes = self._holes_in(item)
        if not holes:
            return item
        code, detail = DefectCode.TIER_CHUNK_BAD, text_of(holes)
        if isinstance(item, Defect):
            return replace(item, code=code, detail=detail, unfinished_offset=None)
        if isinstance(item, Tail):
            return self._defect(position, item.size_bytes, code, detail)
        base_offset = None if isinstance(item, Wrapper) else item.first_offset
        claims = {"base_offset": base_offset, "last_offset": item.last_offset, "magic": item.magic}
        return self._defect(position, item.size_bytes, code, detail, **claims)

    def _holes_in(self, item: Item | BatchRun) -> list[Hole]:
        """Return the holes that an item touches; most sources have none."""
        holed = self._window.holed
        if holed is None:
            return []
        return holed.holes_in(item.position, item.position + item.size_bytes)

    def _readable_item(self, position: int) -> Item:
        """Return the batch, defect or tail at a position, without regard to holes."""
        left = self._stop - position
        if left < PREFIX_BYTES:
            return self._unreadable(position)
        prefix = self._window.view(position, PREFIX_BYTES)
        offset, length, _, magic = PREFIX.unpack_from(prefix)
        size_bytes = record_batch.LENGTH_STOP + length
        if length < smallest_length(magic) or position + size_bytes > self._window.size_bytes:
            return self._unreadable(position)
        if size_bytes > left:
            return self._too_long(position, size_bytes, magic)
        if magic == 2:
            return self._record_batch(position, size_bytes)
        if magic in (0, 1):
            return self._message(position, size_bytes)
        if not self._is_length_right(position, size_bytes):
            return self._unreadable(position)
        return self._defect(
            position,
            size_bytes,
            DefectCode.UNSUPPORTED_MAGIC,
            f"magic {magic}",
            base_offset=offset,
            magic=magic,
        )

    def _record_batch(self, position: int, size_bytes: int) -> Item:
        """Return the batch of magic 2 at a position, or its defect."""
        header = BatchHeader._make(
            record_batch.HEADER.unpack_from(self._window.view(position, record_batch.HEADER_BYTES))
        )
        if self._headers_only and record_batch.is_surely_data(header, size_bytes):
            return RecordBatch(position, size_bytes, header, memoryview(b""))
        computed = self._resync.checksums.of(position, size_bytes, 2)
        if computed != header.crc:
            return self._bad_checksum(
                position, size_bytes, header.base_offset, 2, header.crc, computed
            )
        data = self._window.view(position, size_bytes)
        return RecordBatch(position, size_bytes, header, data[record_batch.HEADER_BYTES :])

    def _message(self, position: int, size_bytes: int) -> Item:
        """Return the wrapper or run of messages at a position, or its defect."""
        head = self._window.view(position, message_set.PREFIX_BYTES)
        offset, _, crc, magic, attributes = message_set.PREFIX.unpack_from(head)
        is_wrapper = attributes & message_set.CODEC_MASK != 0
        if not is_wrapper:
            run = self._messages.run_at(position, size_bytes, self._order.next_offset)
            if run is not None:
                return run
        computed = self._resync.checksums.of(position, size_bytes, magic)
        if computed != crc:
            return self._bad_checksum(position, size_bytes, offset, magic, crc, computed)
        data = self._window.view(position, size_bytes)
        try:
            value = message_set.body(data, magic)[1]
        except DefectError as error:
            return self._defect(
                position, size_bytes, error.code, error.detail, base_offset=offset, magic=magic
            )
        if not is_wrapper:
            lone = self._messages.lone(position, data)
            code, detail = DefectCode.OFFSET_OUT_OF_SEGMENT, "the offset does not fit an int64"
            return lone or self._defect(position, size_bytes, code, detail)
        timestamp_ms = message_set.timestamp_of(data, magic)
        # Positional arguments: keywords cost the walk over wrappers 5 %.
        return Wrapper(position, size_bytes, magic, offset, crc, attributes, timestamp_ms, value)

    def _bad_checksum(
        self, position: int, size_bytes: int, offset: int, magic: int, expected: int, computed: int
    ) -> Item:
        """Return the item for a batch with a wrong checksum: a tail if it may be unflushed."""
        is_unflushed = self._is_unflushed(position)
        if is_unflushed and not self._bounds.is_final:
            return self._tail(position, TailKind.UNFLUSHED)
        if not is_unflushed:
            shorter = self._proved_shorter(position, size_bytes, magic, expected)
            if shorter is not None:
                return shorter
            if not self._is_length_right(position, size_bytes):
                return self._unreadable(position)
        defect = self._defect(
            position,
            size_bytes,
            DefectCode.CRC_MISMATCH,
            f"the checksum is {computed:#010x}, the header states {expected:#010x}",
            base_offset=offset,
            magic=magic,
            expected_crc=expected,
            computed_crc=computed,
        )
        return self._unfinished(defect) if is_unflushed else defect

    def _too_long(self, position: int, size_bytes: int, magic: int) -> Item:
        """Return the defect for a batch that would end after the end of the walk.

        A walk to the end of the file returns the same defect.
        """
        header_bytes = record_batch.LENGTH_STOP + smallest_length(magic)
        if magic not in (0, 1, 2) or self._stop - position < header_bytes:
            return self._unreadable(position)
        expected = stated_checksum(self._window.view(position, header_bytes), magic)
        shorter = self._proved_shorter(position, size_bytes, magic, expected)
        return shorter or self._unreadable(position)

    def _proved_shorter(
        self, position: int, size_bytes: int, magic: int, expected: int
    ) -> Defect | None:
        """Return the defect for a batch whose checksum proves a shorter length; else None."""
        stop = self._resync.proved_stop(position, size_bytes, magic, expected)
        if stop is None:
            return None
        claim = f"{self._length_claim(position)}; its checksum proves {stop - position} bytes"
        return self._defect(position, stop - position, DefectCode.BAD_LENGTH, claim)

    def _is_unflushed(self, position: int) -> bool:
        """Return whether a batch with a wrong checksum may only not be flushed to the disk yet."""
        bounds, low_offset = self._bounds, self._order.next_offset
        if not bounds.is_last or self._stop != self._window.size_bytes:
            return False
        if low_offset < bounds.durable_offset and not bounds.is_final:
            return False
        is_anything_after = self._resync.next_valid(position + 1, low_offset) is not None
        return not is_anything_after and self._end.reaches_end(position, low_offset)

    def _is_length_right(self, position: int, size_bytes: int) -> bool:
        """Return whether the length of a damaged batch is right, by the bytes after it.

        Many bytes look like a header, so an unverified header is evidence only if no valid batch
        begins before it.
        """
        stop = position + size_bytes
        if stop < self._stop:
            if not self._resync.may_continue_at(stop, may_be_cut=self._bounds.is_last):
                return False
            if self._resync.is_valid(stop, self._order.next_offset):
                return True
        found = self._resync.next_valid(position + 1, self._order.next_offset)
        return found is None or found >= stop

    def _unreadable(self, position: int) -> Item:
        """Return the defect from a position without a batch up to the next valid batch."""
        found = self._resync.next_valid(position + 1, self._order.next_offset)
        if found is None and self._stop == self._window.size_bytes:
            return self._end_of_file(position)
        size_bytes = (self._stop if found is None else found) - position
        if is_zero(self._window, position, size_bytes):
            return self._defect(position, size_bytes, DefectCode.ZERO_FILLED, "all bytes are zero")
        return self._defect(
            position,
            size_bytes,
            DefectCode.BAD_LENGTH,
            f"{self._length_claim(position)}; the next valid batch begins {size_bytes} bytes later",
        )

    def _end_of_file(self, position: int) -> Item:
        """Return the item for the bytes after the last valid batch: a tail or a defect."""
        bounds, low_offset = self._bounds, self._order.next_offset
        size_bytes = self._window.size_bytes - position
        if is_zero(self._window, position, size_bytes):
            is_lost = low_offset < bounds.durable_offset if bounds.is_final else not bounds.is_last
            if low_offset >= bounds.limit_offset or not is_lost:
                return self._tail(position, TailKind.ZERO)
            return self._defect(position, size_bytes, DefectCode.ZERO_FILLED, "all bytes are zero")
        claims = self._end.claims(position, low_offset)
        is_torn = claims is not None and (claims.size_bytes or size_bytes + 1) > size_bytes
        if is_torn and bounds.is_last and not bounds.is_final:
            return self._tail(position, TailKind.TORN)
        if is_torn or (size_bytes < PREFIX_BYTES and not bounds.is_last):
            detail = f"the file ends after {size_bytes} bytes of a batch"
            code = DefectCode.TRUNCATED_BATCH
            defect = self._defect(position, size_bytes, code, detail)
            return self._unfinished(defect) if bounds.is_last else defect
        claim = self._length_claim(position)
        return self._defect(position, size_bytes, DefectCode.BAD_LENGTH, claim)

    def _length_claim(self, position: int) -> str:
        """Return a text with the length field and the number of bytes left."""
        left = self._window.size_bytes - position
        if left < PREFIX_BYTES:
            return f"{left} bytes are not a header"
        length = PREFIX.unpack_from(self._window.view(position, PREFIX_BYTES))[1]
        left -= record_batch.LENGTH_STOP
        return f"the length field states {length}, {left} bytes remain"

    def _tail(self, position: int, kind: TailKind) -> Tail:
        """Return the bytes from a position to the end of the file as a tail."""
        return Tail(position, self._window.size_bytes - position, kind)

    def _unfinished(self, defect: Defect) -> Defect:
        """Return the defect with the header fields of a batch that will never be completed."""
        claims = self._end.claims(defect.position, self._order.next_offset)
        if claims is None:
            return defect
        believed_end = claims.believed_end(max(self._order.next_offset, self._begun_offset))
        self._begun_offset = max(believed_end or 0, self._begun_offset)
        return replace(
            defect,
            base_offset=claims.base_offset,
            last_offset=claims.last_offset,
            record_count=claims.record_count,
            magic=claims.magic,
            codec_id=claims.codec_id,
            unfinished_offset=believed_end,
        )

    def _defect(
        self, position: int, size_bytes: int, code: DefectCode, detail: str, **claims: int | None
    ) -> Defect:
        """Return a defect at the next expected offset; `claims` are optional fields of `Defect`."""
        return Defect(
            position=position,
            size_bytes=size_bytes,
            code=code,
            detail=detail,
            expected_offset=self._order.next_offset,
            content=None,
            **claims,
        )
