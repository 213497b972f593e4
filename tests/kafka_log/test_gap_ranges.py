"""How gaps are counted by cause, and which of their ranges are remembered."""

from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.gap_ranges import GapRanges, GapTally, gaps_joined, ranges_joined
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import merged

_RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9))).map(
    lambda pairs: merged((start, start + count) for start, count in pairs)
)


def test_gaps_are_listed_but_those_of_the_cleaner_are_only_counted() -> None:
    tally = GapTally()
    for cause, start, stop in (
        (GapCause.MISSING, 7, 9),
        (GapCause.COMPACTED, 1, 2),
        (GapCause.MISSING, 3, 5),
        (GapCause.MISSING, 5, 6),
    ):
        tally.add(cause, start, stop)
    assert tally.by_cause() == {
        GapCause.MISSING: GapRanges(3, 5, ((3, 6), (7, 9))),
        GapCause.COMPACTED: GapRanges(1, 1),
    }


def test_pieces_of_a_log_are_told_together_by_cause() -> None:
    parts = [
        {"deleted": GapRanges(1, 5, ((0, 5),))},
        {"deleted": GapRanges(2, 3, ((5, 6), (8, 10))), "missing": GapRanges(1, 1, ((7, 8),))},
        {"remote": GapRanges(0, 0)},
    ]
    assert gaps_joined(parts) == {
        "deleted": GapRanges(3, 8, ((0, 6), (8, 10))),
        "missing": GapRanges(1, 1, ((7, 8),)),
    }
    assert ranges_joined([]) == GapRanges(0, 0)


@given(_RANGES, _RANGES)
def test_outside_of_what_was_repaired_is_each_other_offset_of_the_gaps(
    gaps: list[tuple[int, int]], repaired: list[tuple[int, int]]
) -> None:
    found = GapRanges(len(gaps), sum(stop - start for start, stop in gaps), tuple(gaps))
    left = found.outside(repaired)
    expected = _offsets(gaps) - _offsets(repaired)
    assert _offsets(left.ranges) == expected
    assert left.offsets == len(expected)
    assert GapRanges(3, 9).outside(repaired) == GapRanges(3, 9)


def _offsets(ranges: "list[tuple[int, int]] | tuple[tuple[int, int], ...]") -> set[int]:
    return {offset for start, stop in ranges for offset in range(start, stop)}
