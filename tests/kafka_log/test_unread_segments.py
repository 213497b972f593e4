"""Which offsets wait for somebody to decompress a segment."""

from typing import Any

from seglake.kafka_log.replica import Replica, UnreadSegment
from seglake.kafka_log.replica_selection import OtherReplica
from seglake.kafka_log.unread_segments import spans, unread_offsets
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from support.planned import replica


def _replica(*compressed: int, **facts: Any) -> Replica:
    """A copy with the segments [20, 40) and [40, 60), and compressed ones at these offsets."""
    copy = replica((20, 40, 60), **{"high_watermark": None, **facts})
    segments = (UnreadSegment(base, f"{base}.log.gz", 7) for base in compressed)
    return copy._replace(unread=tuple(segments))


def test_a_segment_ends_where_the_next_one_begins() -> None:
    copy = _replica(0, 10, 60, high_watermark=80)
    assert [*spans(copy).values()] == [(0, 10), (10, 20), (60, 80)]
    assert unread_offsets(copy) == ((0, 20), (60, 80))


def test_the_last_one_has_no_end_unless_one_is_proved() -> None:
    assert unread_offsets(_replica(60)) == ((60, OFFSET_MAX),)
    assert unread_offsets(_replica(60, high_watermark=60)) == ((60, OFFSET_MAX),)
    assert unread_offsets(_replica()) == ()


def test_what_lies_below_the_log_start_does_not_wait() -> None:
    assert unread_offsets(_replica(0, log_start_offset=5)) == ((5, 20),)
    assert unread_offsets(_replica(0, log_start_offset=20)) == ()


def test_what_another_replica_has_does_not_wait() -> None:
    other = OtherReplica(replica((10, 60)), (), 60, OFFSET_MAX, 60)
    assert unread_offsets(_replica(0), [other]) == ((0, 10),)
