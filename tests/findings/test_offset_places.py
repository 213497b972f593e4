"""Partitions and ranges as a person reads them."""

from seglake.findings.offset_places import named_counts, named_gaps
from seglake.kafka_log.gap_ranges import GapRanges


def test_the_worst_come_first_and_the_others_are_counted() -> None:
    counts = {"a-0": 1, "b-0": 7, "c-0": 1, "d-0": 3}
    assert named_counts(counts) == "b-0 (7), d-0 (3), a-0 (1) and 1 more"
    found = {name: GapRanges(1, count, ((5, 5 + count),)) for name, count in counts.items()}
    assert named_gaps(found) == "b-0 [5, 12), d-0 [5, 8), a-0 [5, 6) and 1 more"


def test_of_several_ranges_the_largest_is_named() -> None:
    found = {"a-0": GapRanges(4, 9, ((0, 2), (5, 10), (20, 22)))}
    assert named_gaps(found) == "a-0 (3 ranges, the largest [5, 10))"


def test_gaps_that_are_only_counted_have_no_range() -> None:
    assert named_gaps({"a-0": GapRanges(1, 9), "b-0": GapRanges(2, 4)}) == (
        "a-0 (1 gap), b-0 (2 gaps)"
    )
