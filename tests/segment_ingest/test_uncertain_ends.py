"""A transaction whose end damage hides: who is told when its records are taken all the same."""

import json
from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.text_report import to_text
from support.accounts import standing_gaps
from support.audits import audited, kinds
from support.lakes import content, ingested, read_table, replayed
from support.transaction_logs import TransactionLog, abort, commit, damage_batch, sent, write_log

# Offsets: 0-2 data of 1, 3 its end, 4-6 data of 1, 7 its end, 8-10 plain.
_LOG = TransactionLog.of([sent(1), commit(1), sent(1), abort(1), sent()])
_STATES = {"read_committed": ["none"] * 3, "read_uncommitted": ["aborted"] * 6 + ["none"] * 3}


def _disk(data: Path, *, stop: int | None = None) -> Path:
    """A log dir whose first marker is damaged, and where nothing else tells of it."""
    write_log(data, _LOG, (0,), stop=stop, has_files=False)
    damage_batch(data, _LOG, (0,), 1)
    return data


@pytest.mark.parametrize("isolation", _STATES)
def test_a_person_is_told_once_of_records_that_were_taken_by_what_is_uncertain(
    isolation: str, data: Path, lake: Path
) -> None:
    planned = ingested(_disk(data), lake, isolation=isolation, dry_run=True)
    assert (planned.exit_code, len(planned.findings.ingested_unknown_outcomes)) == (3, 1)
    summary = ingested(data, lake, isolation=isolation)
    rows = sorted(read_table(lake, "records"), key=lambda row: row["offset"])
    assert [row["transaction_state"] for row in rows] == _STATES[isolation]
    (text,) = summary.findings.ingested_unknown_outcomes
    assert text.endswith("by the next marker it counts as aborted")
    assert f"unknown outcome: {text}, and was ingested as that: look at it" in summary.to_text()
    facts = json.loads(summary.to_json())
    assert (facts["exit_code"], facts["ingested_unknown_outcomes"]) == (3, [text])
    for stop in (None, 11):
        again = ingested(_disk(data, stop=stop), lake, isolation=isolation)
        assert (again.exit_code, again.findings.ingested_unknown_outcomes) == (0, [])


def test_what_waits_for_its_end_is_no_reason_to_look(data: Path, lake: Path) -> None:
    log = TransactionLog.of([sent(), sent(1), commit(1), sent()])
    write_log(data, log, (0,), has_files=False)
    damage_batch(data, log, (0,), 2)
    summary = ingested(data, lake, isolation="read_committed")
    assert (summary.exit_code, summary.records, len(summary.findings.unknown_outcomes)) == (0, 3, 1)
    assert summary.findings.ingested_unknown_outcomes == []
    passed = ingested(
        data, lake, isolation="read_committed", limits={"hanging_transaction_after": "1s"}
    )
    assert (passed.exit_code, passed.records, len(passed.findings.ingested_unknown_outcomes)) == (
        3,
        3,
        1,
    )


def test_a_run_that_meets_the_damage_later_tells_of_what_was_taken_before(
    data: Path, lake: Path
) -> None:
    write_log(data, _LOG, (0,), stop=3, has_files=False)
    assert ingested(data, lake).exit_code == 0
    summary = ingested(_disk(data), lake)
    assert (summary.exit_code, len(summary.findings.ingested_unknown_outcomes)) == (3, 1)
    assert ingested(_disk(data), lake).exit_code == 0


@pytest.mark.parametrize("isolation", _STATES)
@pytest.mark.parametrize("replays", [False, True], ids=["ingest", "replay"])
def test_a_marker_that_comes_later_and_says_something_else_is_named_once(
    isolation: str, replays: bool, data: Path, lake: Path
) -> None:
    ingested(_disk(data), lake, isolation=isolation)
    assert audited(lake).exit_code == 0
    before = content(lake, "records")
    write_log(data, _LOG, (0,), has_files=False)
    summary = replayed(lake, data) if replays else ingested(data, lake, isolation=isolation)
    assert standing_gaps(lake) == []
    (text,) = summary.contradicted
    assert text == (
        "orders-0: producer 1's transaction from offset 0 on was committed at offset 3, and an "
        "earlier run ingested it as aborted: its rows stay as they are"
    )
    assert (summary.exit_code, f"contradicted: {text}" in summary.to_text()) == (3, True)
    assert content(lake, "records") == before
    for most_rows in (1, 1_000_000):
        found = audited(lake, most_rows=most_rows)
        assert (found.exit_code, kinds(found)) == (3, {"outcome"})
        assert (
            "transactions ingested otherwise than their markers say: producer 1's data up to "
            "offset 2 was ingested as aborted, the marker at offset 3 says committed"
        ) in to_text(found)
    again = replayed(lake, data) if replays else ingested(data, lake, isolation=isolation)
    assert (again.exit_code, again.contradicted) == (0, [])


def test_a_marker_that_comes_later_and_says_the_same_is_no_reason_to_look(
    data: Path, lake: Path
) -> None:
    log = TransactionLog.of([sent(1), abort(1), sent(1), abort(1), sent(2), commit(2), sent()])
    write_log(data, log, (0,), has_files=False)
    damage_batch(data, log, (0,), 1)
    assert ingested(data, lake).exit_code == 3
    write_log(data, log, (0,), has_files=False)
    summary = ingested(data, lake)
    assert (summary.exit_code, summary.counts.repaired_gaps, summary.contradicted) == (0, 1, [])


def test_nothing_is_contradicted_while_the_true_end_may_still_be_missing(
    data: Path, lake: Path
) -> None:
    log = TransactionLog.of([sent(1), abort(1), sent(), commit(1), sent(1), commit(1)])
    for name, left in (("one", [1, 3]), ("two", [1]), ("three", [])):
        disk = data / name
        write_log(disk, log, (0,), has_files=False)
        for index in left:
            damage_batch(disk, log, (0,), index)
        summary = ingested(disk, lake)
        assert len(standing_gaps(lake)) == len(left)
        assert len(summary.contradicted) == (0 if left else 1)
        assert audited(lake).exit_code == (0 if left else 3)


def test_rows_of_an_aborted_end_are_not_contradicted_by_a_commit_behind_another_hole(
    data: Path, lake: Path
) -> None:
    """First two ends are missing, then the second of them, then none: the first was an abort."""
    log = TransactionLog.of([sent(1), commit(1), sent(), abort(1), sent(1), commit(1)])
    for name, left in (("one", [1, 3]), ("two", [1]), ("three", [])):
        disk = data / name
        write_log(disk, log, (0,), has_files=False)
        for index in left:
            damage_batch(disk, log, (0,), index)
        assert ingested(disk, lake).contradicted == []
        assert len(standing_gaps(lake)) == len(left)
