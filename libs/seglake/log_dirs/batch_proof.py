"""Whether a batch that was met by its header alone is what it says. Effect: reads."""

from seglake.segment_codec.message_set import MessageRun
from seglake.segment_codec.offset_order import OffsetOrder, Unit
from seglake.segment_codec.segment import Defect, SegmentBounds, SegmentWalk, Tail
from seglake.segment_codec.window import Window


def is_proved(window: Window, unit: Unit) -> bool:
    """Whether a unit's checksum holds, when it was met by its header alone."""
    if isinstance(unit, MessageRun):
        return True
    bounds = SegmentBounds(unit.first_offset, unit.last_offset + 1, False, 0)
    order = OffsetOrder(unit.first_offset)
    stop = unit.position + unit.size_bytes
    walk = SegmentWalk(window, bounds, order, stop=stop, compares_neighbours=False)
    item = next(walk.items(unit.position))
    return not isinstance(item, Defect | Tail)
