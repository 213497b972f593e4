"""What a run is asked to take: time windows, topics, an isolation; and what it only plans."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from seglake.ingest_steps.planning.isolation import IsolationConflictError
from seglake.settings.topic_selection import NothingSelectedError
from seglake.storage.errors import StorageError
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import FileInfo
from support.accounts import imbalances_of
from support.cases import cases, every
from support.ingest_drivers import WAVES
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


@pytest.mark.parametrize("order", cases(_WINDOW_ORDERS, telling=every(3, _WINDOW_ORDERS)))
def test_time_windows_tile_in_any_order(order: list[int], data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 20, 40], ("payments", 0): [0, 40], ("orders", 1): [0, 5]})
    for number in order:
        ingested(data, lake, select=_WINDOWS[number])
        assert is_nothing_new(ingested(data, lake, select=_WINDOWS[number]))
    everything = {_ORDERS: range(40), ("payments", 0): range(40), ("orders", 1): range(5)}
    assert records_taken(lake) == made_records(everything)
    assert imbalances_of(lake) == []
    assert is_nothing_new(ingested(data, lake))


@pytest.mark.parametrize(
    ("edges", "value_bytes"),
    [([0, 20, 40], 0), ([0, 5, 15, 25, 30, 40], 0), ([0, 40], 20_000)],
    ids=["runs", "few batches", "large batches"],
)
@pytest.mark.parametrize(("first", "stop"), [(13, 26), (14, 29)], ids=["inside", "at the newest"])
def test_a_window_takes_whole_batches_from_the_first_that_reaches_it(
    first: int, stop: int, edges: list[int], value_bytes: int, data: Path, lake: Path
) -> None:
    make_log_dir(data, {_ORDERS: edges}, value_bytes=value_bytes)
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
    with pytest.raises(IsolationConflictError, match=f"topic orders .* {known}, .* {asked}:"):
        ingested(data, lake, isolation=asked)
    assert versions(lake) == before
    summary = ingested(data, lake, isolation=asked, select={"topics": ["payments"]})
    assert summary.topics == ["payments"]


def test_topics_are_chosen_by_globs_and_the_others_taken_later(data: Path, lake: Path) -> None:
    topics = ("orders", "orders.eu", "payments", "Orders", "__consumer_offsets")
    make_log_dir(data, {(topic, 0): [0, 5] for topic in topics})

    def topics_after(*globs: str, internal: bool = False) -> list[str]:
        ingested(data, lake, select={"topics": list(globs), "internal_topics": internal})
        return sorted({row["topic"] for row in read_table(lake, "records")})

    assert topics_after("orders*", "!*.eu") == ["orders"]
    assert topics_after("?ayments") == ["orders", "payments"]
    assert topics_after() == ["Orders", "orders", "orders.eu", "payments"]
    assert topics_after(internal=True) == sorted(topics)
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_topics_that_are_not_there_are_a_wrong_call_and_no_lake_is_made(
    dry_run: bool, data: Path, lake: Path
) -> None:
    make_log_dir(data, {_ORDERS: [0, 5], ("payments", 0): [0, 5]})
    with pytest.raises(NothingSelectedError, match=r"ordrs \(did you mean orders\?\)"):
        ingested(data, lake, select={"topics": ["ordrs"]}, dry_run=dry_run, makes_lake=True)
    assert not lake.exists()


def test_each_glob_that_selects_nothing_is_noted_beside_one_that_does(
    data: Path, lake: Path
) -> None:
    make_log_dir(data, {_ORDERS: [0, 5], ("payments", 0): [0, 5]})
    summary = ingested(data, lake, select={"topics": ["orders", "paymnets", "!test-*"]})
    assert (summary.exit_code, summary.topics) == (3, ["orders"])
    said = "paymnets selects no topic of the sources; did you mean payments?"
    assert summary.left_out == {"paymnets": said}
    assert summary.notes == ["!test-* excludes no topic of the sources"]
    globs = ["orders", "paymn*"]
    assert ingested(data, lake, select={"topics": globs}).exit_code == 0


def test_a_broker_without_topics_yet_is_no_wrong_call(data: Path, lake: Path) -> None:
    make_log_dir(data, {("__cluster_metadata", 0): [0, 5]})
    summary = ingested(data, lake, select={"topics": ["orders"]})
    assert (summary.exit_code, summary.records) == (0, 0)
    assert summary.notes == ["no topic of the sources is selected by orders"]


def test_a_topic_may_be_in_a_folder_that_cannot_be_listed(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_log_dir(data / "broker-0", {_ORDERS: [0, 5]})
    make_log_dir(data / "broker-1", {("refunds", 0): [0, 5]})
    list_folder = LocalStorage.list_folder

    def listed(storage: LocalStorage, path: str) -> list[FileInfo]:
        if path.endswith("broker-1"):
            raise StorageError(action="list", path=path, reason="Input/output error")
        return list_folder(storage, path)

    monkeypatch.setattr(LocalStorage, "list_folder", listed)
    summary = ingested(data, lake, select={"topics": ["refunds"]})
    assert (summary.exit_code, summary.records) == (3, 0)
    assert summary.left_out["refunds"] == "refunds selects no topic of the sources"


def test_a_dry_run_lists_the_offsets_of_each_partition(data: Path, lake: Path) -> None:
    edges = {("orders", number): [0, 5] for number in (0, 2, 10)}
    make_log_dir(data, edges, value_bytes=20_000)
    ingested(data, lake)
    make_log_dir(data, {**edges, _ORDERS: [0, 30], ("orders", 2): [0, 6]}, value_bytes=20_000)
    # Several commits for orders-0, which is named once all the same.
    summary = ingested(data, lake, dry_run=True, **WAVES)
    planned = summary.planned.planned_ranges
    found = [(each.partition, each.start_offset, each.next_offset) for each in planned]
    assert found == [("orders-0", 5, 30), ("orders-2", 5, 6)]
    assert sum(each.size_bytes for each in planned) == summary.planned.planned_bytes
    assert summary.planned.tasks > 2
    assert "would be ingested: orders-0 [5, 30) (" in summary.to_text()
    assert "would be ingested: orders-2 [5, 6) (" in summary.to_text()
    assert json.loads(summary.to_json())["planned_ranges"][1]["partition"] == "orders-2"
    assert ingested(data, lake).planned.planned_ranges == []


def test_a_dry_run_plans_and_writes_nothing(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10]})
    ingested(data, lake, dry_run=True)
    assert not lake.exists()
    ingested(data, lake)
    before = versions(lake)
    make_log_dir(data, {_ORDERS: [0, 25]})
    assert ingested(data, lake, dry_run=True).planned.planned_offsets == 15
    assert versions(lake) == before
