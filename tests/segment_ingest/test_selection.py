"""What a run is asked to take: time windows, topics, an isolation; and what it only plans."""

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from seglake.pipelines.segment_ingest.errors import IsolationConflictError
from support.accounts import imbalances_of
from support.cases import cases, every
from support.lakes import ingested, read_table, versions
from support.made_logs import FIRST_MS, STEP_MS, made_records, make_log_dir
from support.taken import is_nothing_new, offsets_taken, ranges_taken, records_taken

_ORDERS = ("orders", 0)
_COMMITTED, _UNCOMMITTED = "read_committed", "read_uncommitted"


def _at(offset: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=FIRST_MS + offset * STEP_MS)
    return moment.isoformat()


_WINDOWS = (
    {"to_timestamp": _at(13)},
    {"from_timestamp": _at(13), "to_timestamp": _at(26)},
    {"from_timestamp": _at(26)},
)


_WINDOW_ORDERS = [list(order) for order in itertools.permutations(range(3))]


@pytest.mark.parametrize("order", cases(_WINDOW_ORDERS, telling=every(2, _WINDOW_ORDERS)))
def test_time_windows_tile_in_any_order(order: list[int], data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 20, 40], ("payments", 0): [0, 40], ("orders", 1): [0, 5]})
    for number in order:
        ingested(data, lake, select=_WINDOWS[number])
        assert is_nothing_new(ingested(data, lake, select=_WINDOWS[number]))
    everything = {_ORDERS: range(40), ("payments", 0): range(40), ("orders", 1): range(5)}
    assert records_taken(lake) == made_records(everything)
    assert imbalances_of(lake) == []
    assert is_nothing_new(ingested(data, lake))


@pytest.mark.parametrize(("first", "stop"), [(13, 26), (14, 29)], ids=["inside", "at the newest"])
def test_a_window_takes_whole_batches_from_the_first_that_reaches_it(
    first: int, stop: int, data: Path, lake: Path
) -> None:
    make_log_dir(data, {_ORDERS: [0, 20, 40]})
    window = {"from_timestamp": _at(first), "to_timestamp": _at(stop)}
    ingested(data, lake, select=window)
    assert offsets_taken(lake) == list(range(10, 25))
    assert ranges_taken(lake) == [(10, 25)]


def test_a_full_run_takes_what_is_left_on_both_sides_of_a_window(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 20, 40]})
    ingested(data, lake, select=_WINDOWS[1])
    assert ingested(data, lake).records == 25
    assert ranges_taken(lake) == [(0, 10), (10, 25), (25, 40)]
    assert offsets_taken(lake) == list(range(40))
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("known", [_COMMITTED, _UNCOMMITTED])
def test_another_isolation_for_a_topic_that_was_taken_is_refused(
    known: str, data: Path, lake: Path
) -> None:
    asked = _UNCOMMITTED if known == _COMMITTED else _COMMITTED
    make_log_dir(data, {_ORDERS: [0, 10]})
    ingested(data, lake, isolation=known)
    before = versions(lake)
    make_log_dir(data, {_ORDERS: [0, 20], ("payments", 0): [0, 5]})
    with pytest.raises(IsolationConflictError, match="topic orders") as caught:
        ingested(data, lake, isolation=asked)
    assert (caught.value.known, caught.value.asked) == (known, asked)
    assert versions(lake) == before
    summary = ingested(data, lake, isolation=asked, select={"topics": ["payments"]})
    assert summary.topics == ["payments"]


def test_topics_are_chosen_by_globs_and_the_others_taken_later(data: Path, lake: Path) -> None:
    topics = ("orders", "orders.eu", "payments", "Orders", "__consumer_offsets")
    make_log_dir(data, {(topic, 0): [0, 5] for topic in topics})

    def topics_after(*globs: str, internal: bool = False) -> list[str]:
        ingested(data, lake, select={"topics": list(globs), "internal_topics": internal})
        return sorted({row["topic"] for row in read_table(lake, "records")})

    assert topics_after("nothing*") == []
    assert topics_after("orders*", "!*.eu") == ["orders"]
    assert topics_after("?ayments") == ["orders", "payments"]
    assert topics_after() == ["Orders", "orders", "orders.eu", "payments"]
    assert topics_after(internal=True) == sorted(topics)
    assert imbalances_of(lake) == []


def test_a_dry_run_plans_and_writes_nothing(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10]})
    ingested(data, lake, dry_run=True)
    assert not lake.exists()
    ingested(data, lake)
    before = versions(lake)
    make_log_dir(data, {_ORDERS: [0, 25]})
    assert ingested(data, lake, dry_run=True).planned.planned_offsets == 15
    assert versions(lake) == before
