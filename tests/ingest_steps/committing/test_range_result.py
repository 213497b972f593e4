"""How splits are put together, and what is missing at the seams between them."""

from dataclasses import replace
from typing import Any

import pytest

from seglake.ingest_steps.committing.range_result import RangeResult, combine_reports
from seglake.ingest_steps.planning.plan import RangePlan, RemainingGap, plan_ranges
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_gaps import GapCause
from seglake.settings.settings import Settings
from support.planned import report, surveyed


def _plan(**facts: Any) -> RangePlan:
    (plan,) = plan_ranges(surveyed(**facts), Settings())
    return plan


def _gaps(result: RangeResult) -> list[tuple[int, int, str]]:
    return [(gap.start_offset, gap.next_offset, gap.cause) for gap in result.gaps]


def test_pieces_that_touch_leave_no_gap() -> None:
    result = combine_reports(_plan(), [report(0, 40, records=4), report(40, 100, records=6)])
    assert _gaps(result) == []
    assert (result.next_offset, result.totals.records, result.gaps_by_cause) == (100, 10, {})


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ({}, {}, "missing"),
        ({"has_trailing_defect": True}, {}, "quarantined"),
        ({}, {"has_leading_defect": True}, "quarantined"),
        ({"is_compacted_at_end": True}, {}, "compacted"),
        ({}, {"is_compacted_at_start": True}, "compacted"),
        ({"is_compacted_at_start": True}, {"is_compacted_at_end": True}, "missing"),
    ],
)
def test_a_hole_between_two_pieces_has_the_cause_that_either_knows(
    before: dict[str, Any], after: dict[str, Any], cause: str
) -> None:
    reports = [report(0, 40, **before), report(60, 100, **after)]
    result = combine_reports(_plan(), reports)
    assert _gaps(result) == [(40, 60, cause)]
    (found,) = result.gaps_by_cause.items()
    listed = () if cause == "compacted" else ((40, 60),)
    assert found == (cause, (1, 20, listed))


def test_what_lacks_at_both_ends_of_a_range_is_a_gap() -> None:
    result = combine_reports(_plan(), [report(20, 90, has_trailing_defect=True)])
    assert _gaps(result) == [(0, 20, "missing"), (90, 100, "quarantined")]


def test_a_range_without_any_batch_is_one_gap() -> None:
    assert _gaps(combine_reports(_plan(), [report()])) == [(0, 100, "missing")]
    assert _gaps(combine_reports(_plan(), [report(has_leading_defect=True), report()])) == [
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


def test_gaps_inside_pieces_and_between_them_are_told_together() -> None:
    inside = {GapCause.MISSING: GapRanges(2, 7, ((10, 15), (20, 22)))}
    result = combine_reports(_plan(), [report(0, 50, gaps=inside), report(53, 100)])
    ranges = ((10, 15), (20, 22), (50, 53))
    assert result.gaps_by_cause == {GapCause.MISSING: GapRanges(3, 10, ranges)}


def test_a_repair_gives_only_offsets_that_its_copy_explains_another_cause() -> None:
    plan = replace(
        _plan(),
        next_offset=60,
        cleaner_offset=60,
        remaining_gap=RemainingGap(GapCause.MISSING, ((0, 10), (20, 50))),
    )
    assert _gaps(combine_reports(plan, [report(40, 45)])) == [
        (0, 10, GapCause.COMPACTED),
        (10, 20, GapCause.MISSING),
        (20, 40, GapCause.COMPACTED),
        (45, 50, GapCause.COMPACTED),
        (50, 60, GapCause.MISSING),
    ]
