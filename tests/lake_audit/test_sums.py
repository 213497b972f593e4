"""Sums over parts of a range are those over the whole."""

from seglake.pipelines.lake_audit.sums import RangeSums


def test_numbers_add_up_and_times_widen() -> None:
    one = RangeSums(records=2, gap_span=3, min_timestamp_ms=0, max_timestamp_ms=5)
    other = RangeSums(records=1, lacking=4, min_timestamp_ms=3, max_timestamp_ms=9)
    joined = RangeSums(records=3, gap_span=3, lacking=4, min_timestamp_ms=0, max_timestamp_ms=9)
    assert one.joined(other) == other.joined(one) == joined


def test_a_part_without_times_changes_none() -> None:
    timed = RangeSums(min_timestamp_ms=0, max_timestamp_ms=0)
    assert timed.joined(RangeSums()) == RangeSums().joined(timed) == timed
    assert RangeSums().joined(RangeSums()).min_timestamp_ms is None


def test_an_offset_is_accounted_for_by_a_record_a_gap_or_its_batch() -> None:
    found = RangeSums(records=1, other_span=10, lacking=100, gap_span=1000, decoded_rows=7)
    assert found.accounted == 1111
