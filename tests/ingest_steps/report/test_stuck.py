"""How logs are named that grow while their bound stands still."""

from datetime import UTC, datetime, timedelta

import pytest

from seglake.ingest_steps.report.stuck import stuck_partitions
from seglake.kafka_log.observation import Observation, StoppedBy
from seglake.kafka_log.replica import PartitionKey
from support.summaries import made_summary

_NOW = datetime(2026, 11, 2, tzinfo=UTC)
_HOUR = timedelta(hours=1)


def _seen(
    name: str,
    hours: int,
    *,
    log_end: int = 100,
    why: StoppedBy = StoppedBy.HIGH_WATERMARK,
) -> Observation:
    return Observation(
        key=PartitionKey(name, 0, None),
        broker_id=0,
        log_start_offset=0,
        high_watermark=10,
        last_stable_offset=10,
        log_end_offset=log_end,
        next_offset=10,
        stopped_by=why,
        first_log_end_offset=15,
        waiting_since=_NOW - hours * _HOUR,
        observed_at=_NOW,
        run_id="run",
    )


def test_the_longest_comes_first_and_of_them_the_one_with_most_above() -> None:
    seen = [_seen("a", 2), _seen("b", 9), _seen("c", 9, log_end=999), _seen("d", 1)]
    found = stuck_partitions(seen, _NOW, _HOUR)
    assert [stuck.place for stuck in found] == ["c-0", "b-0", "a-0"]


def test_without_a_limit_nothing_is_stuck() -> None:
    assert stuck_partitions([_seen("a", 999)], _NOW, None) == []


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (StoppedBy.HIGH_WATERMARK, "the high watermark"),
        (StoppedBy.OPEN_TRANSACTION, "the last stable offset"),
        (StoppedBy.NO_HIGH_WATERMARK, "the log start (there is no high watermark)"),
    ],
)
def test_the_line_names_the_bound_since_when_it_stands_and_how_far_the_end_has_moved(
    why: StoppedBy, said: str
) -> None:
    (stuck,) = stuck_partitions([_seen("a", 7, why=why)], _NOW, _HOUR)
    assert str(stuck) == (
        f"a-0: {said} has been at 10 for 7 h, since 2026-11-01T17:00:00+00:00; meanwhile the log"
        " end has moved by 85 to 100, and 90 offsets wait"
    )


@pytest.mark.parametrize(
    "why", [StoppedBy.LOG_END, StoppedBy.TAIL, StoppedBy.UNREAD, StoppedBy.REFUSED]
)
def test_a_log_that_is_not_held_back_is_never_stuck(why: StoppedBy) -> None:
    assert stuck_partitions([_seen("a", 99, why=why)], _NOW, _HOUR) == []


def test_a_summary_names_twenty_and_counts_the_rest() -> None:
    found = stuck_partitions([_seen(f"t{n:02}", 99 - n) for n in range(25)], _NOW, _HOUR)
    summary = made_summary(findings=found)
    lines = [line for line in summary.to_text().splitlines() if line.startswith("stuck: ")]
    assert [line.split()[1] for line in lines[:-1]] == [f"t{n:02}-0:" for n in range(20)]
    assert lines[-1] == "stuck: … and 5 more (all of them with --json)"
    assert summary.exit_code == 3
    assert summary.to_json().count('"stopped_by": "high_watermark"') == 25
