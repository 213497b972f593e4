"""How pieces are put together: holes and their causes, and the seams between tasks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.offset_gaps import GapCause, HoleFinder, cause_of
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult, combine_reports
from seglake.pipelines.segment_ingest.planning.plan import RangePlan, plan_ranges
from seglake.pipelines.settings.settings import Settings
from support.planned import report, surveyed


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
        (hole.start_offset, hole.is_behind_defect, hole.segment_index) for hole in finder.holes()
    ] == [
        (10, False, 0),
        (30, True, 1),
    ]


@pytest.mark.parametrize(
    ("is_behind_defect", "is_compacted", "next_offset", "cause"),
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
    is_behind_defect: bool, is_compacted: bool, next_offset: int, cause: GapCause
) -> None:
    found = cause_of(
        is_behind_defect=is_behind_defect,
        is_compacted=is_compacted,
        next_offset=next_offset,
        log_start_offset=10,
    )
    assert found is cause


def _plan(**facts: object) -> RangePlan:
    (plan,) = plan_ranges(surveyed(**facts), Settings())  # type: ignore[arg-type]  # passed on
    return plan


def _gaps(result: RangeResult) -> list[tuple[int, int, str]]:
    return [(gap.start_offset, gap.next_offset, gap.cause) for gap in result.gaps]


def test_pieces_that_touch_leave_no_gap() -> None:
    result = combine_reports(_plan(), [report(0, 40, records=4), report(40, 100, records=6)])
    assert _gaps(result) == []
    assert (result.next_offset, result.totals.records, result.missing_offsets) == (100, 10, 0)


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ({}, {}, "missing"),
        ({"trailing_defect": True}, {}, "quarantined"),
        ({}, {"leading_defect": True}, "quarantined"),
        ({"compacted": (False, True)}, {}, "compacted"),
        ({}, {"compacted": (True, False)}, "compacted"),
        ({"compacted": (True, False)}, {"compacted": (False, True)}, "missing"),
    ],
)
def test_a_hole_between_two_pieces_has_the_cause_that_either_knows(
    before: dict[str, bool], after: dict[str, bool], cause: str
) -> None:
    reports = [report(0, 40, **before), report(60, 100, **after)]  # type: ignore[arg-type]  # flags
    result = combine_reports(_plan(), reports)
    assert _gaps(result) == [(40, 60, cause)]
    assert result.missing_offsets == (20 if cause == "missing" else 0)


def test_what_lacks_at_both_ends_of_a_range_is_a_gap() -> None:
    result = combine_reports(_plan(), [report(20, 90, trailing_defect=True)])
    assert _gaps(result) == [(0, 20, "missing"), (90, 100, "quarantined")]


def test_a_range_without_any_batch_is_one_gap() -> None:
    assert _gaps(combine_reports(_plan(), [report()])) == [(0, 100, "missing")]
    assert _gaps(combine_reports(_plan(), [report(leading_defect=True), report()])) == [
        (0, 100, "quarantined")
    ]


def test_below_the_log_start_offsets_are_deleted_or_remote() -> None:
    plan = _plan(edges=(40, 100), log_start_offset=60)
    assert _gaps(combine_reports(plan, [report(70, 100)])) == [
        (0, 60, "deleted"),
        (60, 70, "missing"),
    ]
    remote = _plan(edges=(40, 100), log_start_offset=30, has_remote_tier=True)
    assert _gaps(combine_reports(remote, [report(50, 100)])) == [
        (0, 30, "deleted"),
        (30, 40, "remote"),
        (40, 50, "missing"),
    ]


def test_a_batch_across_the_end_of_a_range_ends_the_range() -> None:
    result = combine_reports(_plan(), [report(0, 80, cut_offset=85)])
    assert _gaps(result) == [(80, 85, "missing")]
    assert result.next_offset == 85
    assert combine_reports(_plan(), [report(0, 80, cut_offset=80)]).next_offset == 80


def test_missing_offsets_inside_pieces_are_counted() -> None:
    result = combine_reports(_plan(), [report(0, 50, missing_offsets=7), report(53, 100)])
    assert result.missing_offsets == 10
