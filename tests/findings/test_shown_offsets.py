"""Partitions and ranges as a person reads them."""

from seglake.findings.shown_offsets import named, named_counts, named_gaps, shown_ranges
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


def test_ranges_after_the_most_are_counted() -> None:
    ranges = [(0, 2), (5, 10), (20, 22)]
    assert shown_ranges(ranges) == shown_ranges(ranges, 3) == "[0, 2), [5, 10), [20, 22)"
    assert shown_ranges(ranges, 2) == "[0, 2), [5, 10) and 1 more range"
    assert shown_ranges([], 2) == ""


def test_names_keep_their_order_and_those_after_the_third_are_counted() -> None:
    assert named(["d-0", "a-0", "b-0"]) == "d-0, a-0, b-0"
    assert named(["d-0", "a-0", "b-0", "c-0", "e-0"]) == "d-0, a-0, b-0 and 2 more"
