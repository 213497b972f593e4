"""Damaged bytes in front of sound ones, above an offset of a log. Effect: reads."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from seglake.kafka_log.replica import Replica, SegmentFile
from seglake.log_dirs.batch_search import walk_start
from seglake.segment_codec.errors import DefectCode, SegmentCodecError
from seglake.segment_codec.offset_order import OffsetOrder
from seglake.segment_codec.segment import Defect, SegmentBounds, SegmentWalk, Tail, limit_after
from seglake.segment_codec.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage

_WINDOW_BYTES = 1 << 16
_MOST_FOUND = 20  # of one log


class DamageFound(NamedTuple):
    """Damaged bytes, and the offsets between the sound batches around them."""

    segment: str
    position: int
    code: DefectCode
    start_offset: int
    next_offset: int


def damage_above(storage: Storage, replica: Replica, offset: int) -> tuple[DamageFound, ...]:
    """Find the first damaged bytes of a log at or above an offset; nothing of what cannot be read.

    What follows the last sound batch is left out: its writer may complete it.
    """
    found: list[DamageFound] = []
    with suppress(StorageError, SegmentCodecError):
        for each in _damage(storage, replica, offset):
            found.append(each)
            if len(found) >= _MOST_FOUND:
                break
    return tuple(found)


def _damage(storage: Storage, replica: Replica, offset: int) -> Iterator[DamageFound]:
    reached = 0
    waiting: list[tuple[SegmentFile, Defect]] = []
    for file, limit in _segments_above(replica.segments, offset):
        with storage.open_reader(file.path) as reader:
            window = Window(reader, _WINDOW_BYTES, min(reader.size_bytes, file.size_bytes))
            position, base_offset = walk_start(storage, file, offset, window)
            reached = max(reached, base_offset)
            durable = replica.durable_offset
            is_last = file is replica.segments[-1]
            bounds = SegmentBounds(file.base_offset, limit, is_last, durable)
            for item in SegmentWalk(window, bounds, OffsetOrder(base_offset)).items(position):
                match item:
                    case Defect():
                        waiting.append((file, item))
                    case Tail():
                        pass
                    case _:
                        # What begins below the offset belongs to what is ingested there.
                        for place, defect in waiting if reached >= offset else ():
                            where = place.name, defect.position, defect.code
                            yield DamageFound(*where, reached, item.first_offset)
                        waiting.clear()
                        reached = max(reached, item.last_offset + 1)


def _segments_above(
    segments: Sequence[SegmentFile], offset: int
) -> Iterator[tuple[SegmentFile, int]]:
    limits = [file.base_offset for file in segments[1:]]
    limits += [limit_after(file.base_offset) for file in segments[-1:]]
    for file, limit in zip(segments, limits, strict=True):
        if limit > offset:
            yield file, limit
