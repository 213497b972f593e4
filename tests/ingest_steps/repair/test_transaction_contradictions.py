"""Markers that come later and contradict what an earlier run took a transaction for."""

from itertools import product
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.text_report import to_text
from support.accounts import standing_gaps
from support.audits import audited, kinds
from support.cases import cases
from support.damaged_transactions import UNKNOWN_END_LOG, UNKNOWN_END_STATES, unknown_end_log_dir
from support.lakes import content, ingested, replayed
from support.transaction_logs import TransactionLog, abort, commit, damage_batch, sent, write_log


@pytest.mark.parametrize(
    ("isolation", "replays"),
    cases(
        [*product(UNKNOWN_END_STATES, [False, True])],
        telling=[("read_committed", False), ("read_uncommitted", True)],
    ),
)
def test_a_marker_that_comes_later_and_says_something_else_is_named_once(
    isolation: str, replays: bool, data: Path, lake: Path
) -> None:
    ingested(unknown_end_log_dir(data), lake, isolation=isolation)
    assert audited(lake).exit_code == 0
    before = content(lake, "records")
    write_log(data, UNKNOWN_END_LOG, (0,), has_files=False)
    summary = replayed(lake, data) if replays else ingested(data, lake, isolation=isolation)
    assert standing_gaps(lake) == []
    (text,) = summary.findings.texts(FindingKind.CONTRADICTED)
    assert text == (
        "orders-0: producer 1's transaction from offset 0 on was committed at offset 3, but an "
        "earlier run ingested it as aborted: its rows stay unchanged"
    )
    assert (summary.exit_code, f"contradicted: {text}" in summary.to_text()) == (3, True)
    assert content(lake, "records") == before
    found = audited(lake)
    assert (found.exit_code, kinds(found)) == (3, {"outcome"})
    assert (
        "transactions whose ingested end contradicts their markers: producer 1's data up to "
        "offset 2 was ingested as aborted, the marker at offset 3 says committed"
    ) in to_text(found)
    again = replayed(lake, data) if replays else ingested(data, lake, isolation=isolation)
    assert (again.exit_code, again.findings.texts(FindingKind.CONTRADICTED)) == (0, [])


def test_a_repair_elsewhere_in_the_log_does_not_name_a_contradiction_again(
    data: Path, lake: Path
) -> None:
    """Damage before and after the transaction neither hides the contradiction nor repeats it."""
    log = TransactionLog.of([sent(), sent(1), commit(1), sent(1), abort(1), sent(), sent()])
    named = []
    for name, left in (("one", [0, 2, 5]), ("two", [0, 5]), ("three", [5]), ("four", [])):
        disk = data / name
        write_log(disk, log, (0,), has_files=False)
        for index in left:
            damage_batch(disk, log, (0,), index)
        summary = ingested(disk, lake)
        named.append(len(summary.findings.texts(FindingKind.CONTRADICTED)))
    assert (named, standing_gaps(lake)) == ([0, 1, 0, 0], [])


def test_a_marker_that_comes_later_and_says_the_same_is_no_reason_to_look(
    data: Path, lake: Path
) -> None:
    log = TransactionLog.of([sent(1), abort(1), sent(1), abort(1), sent(2), commit(2), sent()])
    write_log(data, log, (0,), has_files=False)
    damage_batch(data, log, (0,), 1)
    assert ingested(data, lake).exit_code == 3
    write_log(data, log, (0,), has_files=False)
    summary = ingested(data, lake)
    assert (
        summary.exit_code,
        summary.counts.repaired_gaps,
        summary.findings.texts(FindingKind.CONTRADICTED),
    ) == (0, 1, [])


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
        assert len(summary.findings.texts(FindingKind.CONTRADICTED)) == (0 if left else 1)
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
        assert ingested(disk, lake).findings.texts(FindingKind.CONTRADICTED) == []
        assert len(standing_gaps(lake)) == len(left)
