"""Limits that a run crosses."""

from dataclasses import replace
from typing import Any

import pytest

from seglake.ingest_steps.report.gap_report import GapsByPlace
from seglake.ingest_steps.report.limits import limits_crossed
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.replica import EndClaim, PartitionKey
from seglake.kafka_log.short_logs import ShortLog
from seglake.settings.settings import LimitsSettings

_KEY = PartitionKey("a", 0, None)
_SHORT = ShortLog(_KEY, "/disk/a-0", ((5, 7),), EndClaim(7, "a file"), "the log ends at 5")


@pytest.mark.parametrize(
    ("limit", "damaged", "gaps", "short", "said"),
    [
        ("fail_on_quarantine", {"a-0": 2}, {}, [], "2 quarantined in a-0 (2)"),
        (
            "fail_on_unexplained_gap",
            {},
            {"missing": {"a-0": GapRanges(1, 2, ((3, 5),))}},
            [],
            "2 offsets missing: a-0 [3, 5)",
        ),
        (
            "fail_on_remote_gap",
            {},
            {"remote": {"a-0": GapRanges(1, 1, ((0, 1),))}},
            [],
            "1 offset in the remote tier only: a-0 [0, 1)",
        ),
        ("fail_on_short_log", {}, {}, [_SHORT], "2 offsets not on disk: a-0 [5, 7)"),
    ],
)
def test_a_limit_that_is_set_and_crossed_names_the_partitions(
    limit: str, damaged: dict[str, int], gaps: GapsByPlace, short: list[ShortLog], said: str
) -> None:
    is_set: dict[str, Any] = {limit: True}
    limits = replace(LimitsSettings(), **is_set)
    (crossed,) = limits_crossed(limits, damaged, gaps, short)
    assert (crossed.text, crossed.facts) == (
        f"limits.{limit}: {said}",
        {"limit": f"limits.{limit}"},
    )
    is_set[limit] = False
    assert [*limits_crossed(replace(limits, **is_set), damaged, gaps, short)] == []
    explained = {"deleted": {"a-0": GapRanges(1, 2, ((0, 2),))}}
    assert [*limits_crossed(limits, {}, explained, [])] == []


def test_two_logs_of_one_name_count_together() -> None:
    """The topic was made again."""
    other = _SHORT._replace(key=_KEY._replace(topic_id="x"), ranges=((0, 9),))
    assert [*map(str, limits_crossed(LimitsSettings(), {}, {}, [_SHORT, other]))] == [
        "limits.fail_on_short_log: 11 offsets not on disk: a-0 [0, 9)"
    ]
