"""What the report of a run says of transactions whose end damage hides."""

import json
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from support.damaged_transactions import UNKNOWN_END_LOG, UNKNOWN_END_STATES, unknown_end_log_dir
from support.found import unknown_outcomes
from support.lakes import ingested, read_table
from support.transaction_logs import TransactionLog, commit, damage_batch, sent, write_log


@pytest.mark.parametrize("isolation", UNKNOWN_END_STATES)
def test_a_person_is_told_once_of_records_that_were_taken_by_what_is_uncertain(
    isolation: str, data: Path, lake: Path
) -> None:
    planned = ingested(unknown_end_log_dir(data), lake, isolation=isolation, dry_run=True)
    assert (planned.exit_code, len(planned.findings.texts(FindingKind.DOUBTFUL_OUTCOME))) == (3, 1)
    summary = ingested(data, lake, isolation=isolation)
    rows = sorted(read_table(lake, "records"), key=lambda row: row["offset"])
    assert [row["transaction_state"] for row in rows] == UNKNOWN_END_STATES[isolation]
    (text,) = summary.findings.texts(FindingKind.DOUBTFUL_OUTCOME)
    is_left_out = isolation == "read_committed"
    said = "its records are not ingested" if is_left_out else "its records were ingested"
    assert text.endswith(f"by the next marker it counts as aborted, and {said}: check them")
    assert ("its records would not be ingested" in planned.to_text()) == is_left_out
    assert summary.to_text().count("unknown outcome: ") == 1
    assert f"unknown outcome: {text}" in summary.to_text()
    facts = json.loads(summary.to_json())
    texts = [found["text"] for found in facts["findings"] if found["kind"] == "doubtful_outcome"]
    assert (facts["exit_code"], texts) == (3, [text])
    for stop in (None, 11):
        again = ingested(unknown_end_log_dir(data, stop=stop), lake, isolation=isolation)
        assert (again.exit_code, again.findings.texts(FindingKind.DOUBTFUL_OUTCOME)) == (0, [])


@pytest.mark.parametrize(
    ("read", "states", "said"),
    [
        ({}, {"none"}, "its records are not ingested"),
        ({"undecided_transactions": "rows"}, {"none", "open"}, "its records were ingested"),
        ({"isolation": "read_uncommitted"}, {"none", "open"}, "its records were ingested"),
    ],
)
def test_what_counts_as_open_is_said_to_be_ingested_only_if_it_is(
    read: dict[str, str], states: set[str], said: str, data: Path, lake: Path
) -> None:
    log = TransactionLog.of([sent(1), sent(1), commit(1), sent()])
    write_log(data, log, (0,), has_files=False)
    damage_batch(data, log, (0,), 2)
    choice = {"isolation": "read_committed", "upper_bound": "log_end", **read}
    summary = ingested(data, lake, read=choice)
    assert {row["transaction_state"] for row in read_table(lake, "records")} == states
    assert f"so it counts as open, and {said}: check them" in summary.to_text()


def test_a_committed_transaction_in_doubt_is_ingested_in_both_isolations(
    data: Path, lake: Path
) -> None:
    log = TransactionLog.of([sent(1), commit(1), sent(1), commit(1)])
    write_log(data, log, (0,), has_files=False)
    damage_batch(data, log, (0,), 1)
    summary = ingested(data, lake, isolation="read_committed")
    assert summary.records == 6
    assert "counts as committed, and its records were ingested: check them" in summary.to_text()


def test_damage_that_a_transaction_waits_for_is_said_before_it_counts(
    data: Path, lake: Path
) -> None:
    log = TransactionLog.of([sent(), sent(1), commit(1), sent()])
    write_log(data, log, (0,), has_files=False)
    damage_batch(data, log, (0,), 2)
    summary = ingested(data, lake, isolation="read_committed")
    assert (summary.exit_code, summary.records, len(unknown_outcomes(summary))) == (3, 3, 1)
    assert summary.findings.texts(FindingKind.DOUBTFUL_OUTCOME) == []
    passed = ingested(
        data, lake, isolation="read_committed", limits={"hanging_transaction_after": "1s"}
    )
    assert (passed.exit_code, passed.records) == (3, 3)
    assert len(passed.findings.texts(FindingKind.DOUBTFUL_OUTCOME)) == 1


def test_a_run_that_meets_the_damage_later_tells_of_what_was_taken_before(
    data: Path, lake: Path
) -> None:
    write_log(data, UNKNOWN_END_LOG, (0,), stop=3, has_files=False)
    assert ingested(data, lake).exit_code == 0
    summary = ingested(unknown_end_log_dir(data), lake)
    assert (summary.exit_code, len(summary.findings.texts(FindingKind.DOUBTFUL_OUTCOME))) == (3, 1)
    assert ingested(unknown_end_log_dir(data), lake).exit_code == 0
