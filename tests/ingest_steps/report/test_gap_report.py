"""The gaps of a run: what it recorded, and what its repairs left of that."""

from dataclasses import replace

from seglake.ingest_steps.committing.range_result import RangeResult, combine_reports
from seglake.ingest_steps.planning.plan import RemainingGap, plan_ranges
from seglake.ingest_steps.repair.repair_result import PlannedFill, RepairResult
from seglake.ingest_steps.report.gap_report import (
    expected_gaps,
    gaps_by_place,
    joined_places,
    recorded_gaps,
    repaired_gaps,
)
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.current_gaps import CurrentGap
from seglake.settings.settings import Settings
from support.planned import KEY, report, surveyed

_MADE_AGAIN = KEY._replace(topic_id="again")


def _ingested(*, key: PartitionKey = KEY) -> RangeResult:
    """The range [0, 100), of which [20, 30) and [60, 90) are missing."""
    (plan,) = plan_ranges(surveyed(key=key), Settings())
    reports = [report(0, 20), report(30, 60), report(90, 100)]
    return combine_reports(plan, reports)


def _repaired(start: int, stop: int, *brought: tuple[int, int]) -> RangeResult:
    (plan,) = plan_ranges(surveyed(), Settings())
    gap = RemainingGap(GapCause.MISSING)
    plan = replace(plan, start_offset=start, next_offset=stop, remaining_gap=gap)
    return combine_reports(plan, [report(*offsets) for offsets in brought])


def test_a_run_tells_the_gaps_that_it_recorded() -> None:
    assert recorded_gaps([_ingested()], ()) == {
        "missing": {"orders-0": GapRanges(2, 40, ((20, 30), (60, 90)))}
    }


def test_what_was_filled_in_the_same_run_is_no_gap_of_it() -> None:
    rounds = [[_repaired(20, 30, (20, 30)), _repaired(60, 90, (60, 70))]]
    assert recorded_gaps([_ingested()], rounds) == {
        "missing": {"orders-0": GapRanges(1, 20, ((70, 90),))}
    }
    rounds.append([_repaired(70, 90, (70, 72), (80, 90))])
    assert recorded_gaps([_ingested()], rounds) == {
        "missing": {"orders-0": GapRanges(1, 8, ((72, 80),))}
    }


def test_what_a_repair_leaves_of_older_gaps_is_no_news() -> None:
    older = _ingested()._replace(gaps=())
    late = older._replace(plan=replace(older.plan, start_offset=50))
    assert recorded_gaps([late], [[_repaired(20, 30, (20, 25))]]) == {}
    assert recorded_gaps([], [[_repaired(20, 30)]]) == {}


def test_both_logs_of_a_topic_that_was_made_again_are_told_by_one_name() -> None:
    found = recorded_gaps([_ingested(), _ingested(key=_MADE_AGAIN)], ())
    assert found == {"missing": {"orders-0": GapRanges(4, 80, ((20, 30), (60, 90)))}}


def test_repairs_are_told_with_the_offsets_that_they_brought() -> None:
    results = (_repaired(20, 30, (20, 25)), _repaired(60, 90, (60, 90)))
    planned = (PlannedFill(str(_MADE_AGAIN), 0, 5, 2),)
    assert repaired_gaps(RepairResult(rounds=(results,), planned_fills=planned)) == {
        "orders-0": GapRanges(3, 37, ((0, 5), (20, 30), (60, 90)))
    }


def test_a_dry_run_knows_what_lies_in_the_remote_tier() -> None:
    (plan,) = plan_ranges(
        surveyed(edges=(40, 100), log_start_offset=30, has_remote_tier=True), Settings()
    )
    assert expected_gaps([plan]) == {"remote": {"orders-0": GapRanges(1, 10, ((30, 40),))}}
    assert expected_gaps([replace(plan, start_offset=40)]) == {}


def test_the_least_explained_come_first() -> None:
    causes = [GapCause.COMPACTED, GapCause.DELETED, GapCause.MISSING, GapCause.REMOTE]
    gaps = [CurrentGap(KEY, number, number + 1, cause) for number, cause in enumerate(causes)]
    found = gaps_by_place({KEY: gaps, _MADE_AGAIN: gaps[2:3]})
    assert list(found) == ["missing", "remote", "deleted", "compacted"]
    assert found["missing"] == {"orders-0": GapRanges(2, 2, ((2, 3),))}
    assert joined_places(found, found)["remote"] == {"orders-0": GapRanges(2, 2, ((3, 4),))}
