"""Holes between the batches of a split, and their causes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.offset_gaps import GapCause, HoleFinder, cause_of


@given(st.permutations(range(12)), st.sets(st.integers(0, 11)))
def test_holes_are_what_no_batch_filled_between_the_first_and_the_last(
    order: list[int], left_out: set[int]
) -> None:
    finder = HoleFinder()
    met: list[int] = []
    for number in order:
        if number not in left_out:
            finder.batch(number * 10, number * 10 + 10, 0)
            met.append(number)
    missing = [
        offset for hole in finder.holes() for offset in range(hole.start_offset, hole.next_offset)
    ]
    if not met:
        assert (finder.first_offset, missing) == (None, [])
        return
    assert finder.first_offset == min(met) * 10
    assert finder.next_offset == max(met) * 10 + 10
    filled = {number * 10 + n for number in met for n in range(10)}
    assert missing == [o for o in range(min(met) * 10, max(met) * 10 + 10) if o not in filled]


def test_a_hole_knows_whether_damage_lies_before_it() -> None:
    finder = HoleFinder()
    finder.defect()
    finder.batch(5, 10, 0)
    finder.batch(20, 30, 0)
    finder.defect()
    finder.batch(40, 50, 1)
    assert finder.has_leading_defect
    assert not finder.has_defect_since
    assert [
        (hole.start_offset, hole.is_after_defect, hole.segment_index) for hole in finder.holes()
    ] == [
        (10, False, 0),
        (30, True, 1),
    ]


@pytest.mark.parametrize(
    ("is_after_defect", "is_compacted", "next_offset", "cause"),
    [
        (False, False, 20, GapCause.MISSING),
        (False, True, 20, GapCause.COMPACTED),
        (True, True, 20, GapCause.QUARANTINED),
        (True, False, 20, GapCause.QUARANTINED),
        (True, True, 10, GapCause.DELETED),
        (False, False, 10, GapCause.DELETED),
    ],
)
def test_each_cause_needs_its_evidence(
    is_after_defect: bool, is_compacted: bool, next_offset: int, cause: GapCause
) -> None:
    found = cause_of(
        is_after_defect=is_after_defect,
        is_compacted=is_compacted,
        next_offset=next_offset,
        log_start_offset=10,
    )
    assert found is cause
