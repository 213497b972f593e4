"""Finds damaged bytes between valid batches at or above an offset of a log."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from seglake.kafka_log.replica import Replica, SegmentFile
from seglake.log_dirs.batch_search import walk_start
from seglake.log_dirs.segment_files import with_limits
from seglake.log_dirs.segment_reader import open_segment
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode, SegmentCodecError
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import Item, SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage

_WINDOW_BYTES = 1 << 16
_MOST_FOUND = 20  # most damaged places to return for a log


class DamageFound(NamedTuple):
    """Damaged bytes, and the offsets between the valid batches before and after them."""

    segment: str
    position: int
    code: DefectCode
    start_offset: int
    next_offset: int


class DamageSearch(NamedTuple):
    """Result of a search for damage.

    Attributes:
        stopped_offset: first offset that was not searched because of the limit; None if all offsets
            were searched.
    """

    found: tuple[DamageFound, ...]
    stopped_offset: int | None


def damage_above(storage: Storage, replica: Replica, offset: int, most_bytes: int) -> DamageSearch:
    """Return up to 20 damaged places of a log at or above an offset; skip unreadable files.

    Bytes after the last valid batch are not damage, since the broker may still complete them.

    Args:
        storage: storage of the files.
        replica: the replica to search.
        offset: lowest offset of interest.
        most_bytes: highest number of bytes to read.
    """
    found: list[DamageFound] = []
    search = _Search(storage, replica, offset, most_bytes)
    with suppress(StorageError, SegmentCodecError):
        for each in search.damage():
            found.append(each)
            if len(found) >= _MOST_FOUND:
                return DamageSearch(tuple(found), None)
    return DamageSearch(tuple(found), search.stopped_offset)


class _Search:
    """Search through the segments above an offset, up to a limit of bytes."""

    def __init__(self, storage: Storage, replica: Replica, offset: int, most_bytes: int) -> None:
        """Store the arguments of `damage_above`; nothing is read yet."""
        self._storage = storage
        self._replica = replica
        self._offset = offset
        self._left_bytes = most_bytes
        self._reached = 0
        self._is_cut = False

    @property
    def stopped_offset(self) -> int | None:
        """Return the first offset that was not searched; None if the limit was not reached."""
        return max(self._offset, self._reached) if self._is_cut else None

    def damage(self) -> Iterator[DamageFound]:
        """Yield damaged bytes that a valid batch follows."""
        waiting: list[tuple[SegmentFile, Defect]] = []
        for file, limit in with_limits(self._replica.segments):
            if limit <= self._offset:
                continue
            if self._left_bytes <= 0:
                self._is_cut = True
                return
            for item in self._items(file, limit):
                match item:
                    case Defect():
                        waiting.append((file, item))
                    case Tail():
                        pass
                    case _:
                        # Damage that begins below the requested offset was ingested.
                        for place, defect in waiting if self._reached >= self._offset else ():
                            where = place.name, defect.position, defect.code
                            yield DamageFound(*where, self._reached, item.first_offset)
                        waiting.clear()
                        self._reached = max(self._reached, item.last_offset + 1)

    def _items(self, file: SegmentFile, limit: int) -> Iterator[Item]:
        """Yield a segment's batches and defects from the offset on, within the limit of bytes."""
        with open_segment(self._storage, file) as reader:
            size_bytes = min(reader.size_bytes, file.size_bytes)
            window = Window(reader, _WINDOW_BYTES, size_bytes)
            position, base_offset = walk_start(self._storage, file, self._offset, window)
            self._reached = max(self._reached, base_offset)
            if size_bytes - position > self._left_bytes:
                window = Window(reader, _WINDOW_BYTES, position + self._left_bytes)
            self._left_bytes -= size_bytes - position
            self._is_cut = self._left_bytes < 0
            is_last = file is self._replica.segments[-1]
            bounds = SegmentBounds(file.base_offset, limit, is_last, self._replica.durable_offset)
            yield from SegmentWalk(window, bounds, OffsetOrder(base_offset)).items(position)
