"""Transactions that do not end: named with their age, and passed when the settings say so."""

import json
import re
import shutil
from itertools import product
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.printable import show_duration
from seglake.settings.settings import Settings
from seglake.settings.values import SettingsError
from support.accounts import imbalances_of
from support.broker_disks import log_dir, partitions
from support.cases import cases
from support.found import NOT_INGESTED_YET
from support.lakes import Row, ingested, read_table
from support.oracle import Isolation, expected_records
from support.rising_disks import rising
from support.surveyed import log_bounds
from support.taken import is_nothing_new, offsets_taken
from support.transaction_logs import TransactionLog, abort, commit, sent, write_log

_COMMITTED = "read_committed"
# The time goes up a second with each offset: at the end producer 1's transaction is 57 s old.
_STEPS = (sent(records=3), sent(1), sent(2), commit(2), sent(records=50))
_LOG = TransactionLog.of(_STEPS)
_END = _LOG.next_offset
_OF_1 = range(3, 6)


def _read(lake: Path) -> list[Row]:
    return sorted(read_table(lake, "batches"), key=lambda row: row["base_offset"])


def test_a_transaction_is_named_with_its_age_against_the_newest_record(
    data: Path, lake: Path
) -> None:
    write_log(data, _LOG, (0,))
    summary = ingested(data, lake, isolation=_COMMITTED)
    (left,) = summary.findings.of(*NOT_INGESTED_YET)
    assert left.text == (
        "orders-0: producer 1 has a transaction open since offset 3, 7 s before the newest record; "
        f"{_END - 3} offsets wait for its end"
    )
    (_, fact) = json.loads(summary.to_json())["findings"]
    assert fact == {
        "kind": "blocking_transaction",
        "needs_a_look": False,
        "place": "orders-0",
        "ranges": [],
        "text": "orders-0: producer 1 has a transaction open since offset 3, 7 s before the newest"
        " record",
        "producer_id": 1,
        "first_offset": 3,
        "age_ms": 7000,
    }


def test_real_brokers_transactions_are_named_in_both_isolations(tmp_path: Path) -> None:
    disk = log_dir("06_transactions", "live")
    waiting = ingested(disk, tmp_path / "c", isolation=_COMMITTED).to_text()
    taken = ingested(disk, tmp_path / "u").to_text()
    name = "tx-b-0: producer 6 has a transaction open since offset 126, 6 h 2 min before"
    assert f"not ingested yet: {name}" in waiting
    assert re.search(f"^open: {name}.*its rows are marked open$", taken, re.MULTILINE)


def test_runs_on_a_real_disk_that_grows_take_what_a_consumer_of_committed_records_got(
    tmp_path: Path,
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    shutil.copytree(log_dir("06_transactions", "stopped"), disk)
    waits = 0
    for _ in rising(disk, (15, 35, 50, 70, 90, 100)):
        summary = ingested(disk, lake, isolation=_COMMITTED, select={"internal_topics": True})
        waits += any(
            "transaction open" in unread_range.text
            for unread_range in summary.findings.of(*NOT_INGESTED_YET)
        )
    assert waits == 6
    found: dict[tuple[str, int], list[int]] = {}
    for row in read_table(lake, "records"):
        found.setdefault((row["topic"], row["partition"]), []).append(row["offset"])
    for facts in partitions("06_transactions", "stopped"):
        if facts.last_stable_offset is None:  # no consumer read it committed
            continue
        expected = expected_records(
            "06_transactions", "stopped", facts.topic, facts.partition, Isolation.READ_COMMITTED
        )
        own = sorted(found.get((facts.topic, facts.partition), []))
        assert own == [record.offset for record in expected], facts


@pytest.mark.parametrize(("limit", "is_passed"), [("6s", True), ("7s", False), ("1h", False)])
def test_only_what_is_older_than_the_limit_is_passed(
    limit: str, is_passed: bool, data: Path, lake: Path
) -> None:
    write_log(data, _LOG, (0,))
    limits = {"hanging_transaction_after": limit}
    summary = ingested(data, lake, isolation=_COMMITTED, limits=limits)
    expected = [offset for offset in _LOG.states(_END) if offset not in _OF_1]
    assert offsets_taken(lake) == (expected if is_passed else [0, 1, 2])
    assert bool(summary.findings.of(*NOT_INGESTED_YET)) != is_passed
    assert (
        "undecided: orders-0: producer 1 has a transaction open" in summary.to_text()
    ) == is_passed
    assert summary.exit_code == (3 if is_passed else 0)
    assert imbalances_of(lake) == []


def test_the_batches_of_a_passed_transaction_are_a_gap_that_says_whose_it_is(
    data: Path, lake: Path
) -> None:
    write_log(data, _LOG, (0,))
    limits = {"hanging_transaction_after": "1s"}
    ingested(data, lake, isolation=_COMMITTED, limits=limits)
    assert [(row["base_offset"], row["state"]) for row in _read(lake)] == [
        *((0, "decoded"), (6, "decoded"), (9, "control"), (10, "decoded")),
    ]
    (gap,) = read_table(lake, "gaps")
    assert (gap["start_offset"], gap["next_offset"], gap["cause"]) == (3, 6, "undecided")
    assert gap["detail"] == "of a transaction of producer 1 that has not ended"
    (row,) = read_table(lake, "checkpoints")
    assert (row["next_offset"], row["last_stable_offset"]) == (_END, 3)
    assert is_nothing_new(ingested(data, lake, isolation=_COMMITTED, limits=limits))


@pytest.mark.parametrize(
    ("is_commit", "has_files"),
    cases([*product([True, False], [True, False])], telling=[(True, False), (False, True)]),
)
def test_what_comes_after_a_passed_transaction_belongs_to_it_until_its_end(
    is_commit: bool, has_files: bool, data: Path, lake: Path
) -> None:
    limits = {"hanging_transaction_after": "5s"}
    end = commit(1) if is_commit else abort(1)
    log = TransactionLog.of([*_STEPS, sent(1), sent(), end, sent(1), commit(1), sent()])
    edges = (0, 10)
    late, more = _END, _END + 6  # more data of the transaction, and its end

    def run(stop: int) -> list[str]:
        write_log(data, log, edges, stop=stop, has_files=has_files, has_end_snapshot=False)
        return ingested(data, lake, isolation=_COMMITTED, limits=limits).notes

    assert run(late) == []
    assert run(more) == []
    assert not set(range(late, late + 3)) & set(offsets_taken(lake))
    assert run(log.next_offset) == []
    states = log.states(log.next_offset)
    assert offsets_taken(lake) == [n for n, state in states.items() if state != "aborted"]
    assert {row["transaction_state"] for row in _read(lake)} == {
        *("none", "committed"),
        *([] if is_commit else ["aborted"]),
    }
    assert imbalances_of(lake) == []


def test_a_limit_changes_nothing_where_all_is_taken(data: Path, lake: Path) -> None:
    write_log(data, _LOG, (0,))
    summary = ingested(data, lake, limits={"hanging_transaction_after": "1s"})
    assert summary.counts.open_rows == 3
    assert "undecided" not in summary.to_text()
    assert {row["state"] for row in _read(lake)} == {"decoded", "control"}


@pytest.mark.parametrize(
    ("edges", "has_files"),
    [((0,), False), ((0, 6), True), ((0, 6, 20), True), ((0, 10), False)],
)
def test_a_later_run_knows_of_transactions_that_an_earlier_one_took_as_open(
    edges: tuple[int, ...], has_files: bool, data: Path, lake: Path
) -> None:
    log = TransactionLog.of([*_STEPS, sent(), sent(2), sent()])
    write_log(data, log, edges, stop=_END, has_files=has_files, has_end_snapshot=False)
    ingested(data, lake)
    write_log(data, log, edges, has_files=has_files, has_end_snapshot=False)
    summary = ingested(data, lake)
    found = [
        (transaction.facts["producer_id"], transaction.facts["first_offset"])
        for transaction in summary.findings.of(FindingKind.OPEN_ROWS)
    ]
    assert found == [(1, 3), (2, _END + 3)]
    assert summary.counts.open_rows == 3


def test_a_damaged_time_makes_no_transaction_old(data: Path) -> None:
    partition = write_log(data, _LOG, (0,))
    path = partition / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[35] ^= 0x01  # the highest byte of the first batch's newest time
    path.write_bytes(content)
    bounds = log_bounds(data, limits={"hanging_transaction_after": "1min"})
    assert bounds.passed == ()
    assert bounds.next_offset == 3


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (61_000, "1 min 1 s"),
        (7_200_500, "2 h"),
        (90_061_000, "1 d 1 h"),
    ],
)
def test_an_age_is_shown_by_its_two_largest_units(milliseconds: int, text: str) -> None:
    assert show_duration(milliseconds) == text


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("90s", 90_000), ("15min", 900_000), ("2 h", 7_200_000), ("7d", 604_800_000)],
)
def test_a_duration_has_a_unit(text: str, milliseconds: int) -> None:
    layer = {"limits": {"hanging_transaction_after": text}}
    assert (
        Settings.from_mappings([("t", layer)]).limits.hanging_transaction_after_ms == milliseconds
    )


@pytest.mark.parametrize("value", [900, "15", "-1s", "0s", "1.5h", "1 week", "", "1000000000d"])
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(SettingsError, match=r"limits\.hanging_transaction_after"):
        Settings.from_mappings([("t", {"limits": {"hanging_transaction_after": value}})])
