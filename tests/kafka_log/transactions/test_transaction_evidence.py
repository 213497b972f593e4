"""What .txnindex and .snapshot add to the markers in the log, and that the log decides."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.broker_disks import log_dir
from support.cases import cases
from support.corrupt_cases import corrupt_case
from support.encoder import producer_snapshot
from support.found import unknown_outcomes
from support.lakes import content, ingested, read_table
from support.surveyed import log_bounds
from support.transaction_logs import TransactionLog, commit, sent, write_log


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        pytest.param(
            lambda path: path.write_bytes(bytes(path.stat().st_size)), marks=pytest.mark.matrix
        ),
        pytest.param(
            lambda path: path.write_bytes(path.read_bytes()[:-5]), marks=pytest.mark.matrix
        ),
        lambda path: path.write_bytes(path.read_bytes()[::-1]),
    ],
    ids=["missing", "zeros", "cut", "garbage"],
)
@pytest.mark.parametrize(
    "isolation", cases(["read_committed", "read_uncommitted"], telling=["read_committed"])
)
def test_without_usable_files_the_rows_are_the_same(
    spoil: Callable[[Path], None], isolation: str, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(log_dir("06_transactions", "stopped"), disk)
    spoiled = [*disk.rglob("*.txnindex"), *disk.rglob("*.snapshot")]
    for path in spoiled:
        spoil(path)
    select = {"internal_topics": True}
    summary = ingested(disk, tmp_path / "spoiled", isolation=isolation, select=select)
    ingested(
        log_dir("06_transactions", "stopped"),
        tmp_path / "whole",
        isolation=isolation,
        select=select,
    )
    for table in ("records", "batches", "quarantine", "gaps", "checkpoints"):
        assert content(tmp_path / "spoiled", table) == content(tmp_path / "whole", table)
    is_there = any(path.exists() for path in spoiled)
    assert any(".txnindex is not used" in note for note in summary.notes) == is_there
    assert any(".snapshot is not used" in note for note in summary.notes) == is_there
    assert not any("disagree" in note for note in summary.notes)


def test_a_snapshot_knows_of_transactions_from_before_the_first_segment(tmp_path: Path) -> None:
    log = TransactionLog.of([sent(1), sent(2), commit(2), sent(), sent(3), commit(3), sent()])
    write_log(tmp_path / "d", log, (7, 10), has_end_snapshot=False)
    bounds = log_bounds(tmp_path / "d")
    assert [
        (transaction.producer_id, transaction.first_offset)
        for transaction in bounds.open_transactions
    ] == [(1, 0)]
    assert bounds.next_offset == bounds.last_stable_offset == 7  # Kafka's: not below the log start
    write_log(tmp_path / "d", log, (7, 10), has_files=False)
    assert log_bounds(tmp_path / "d").open_transactions == ()


def test_a_snapshot_older_than_the_first_segment_tells_nothing(tmp_path: Path) -> None:
    log = TransactionLog.of([sent(1), sent(), commit(1), sent(), sent()])
    partition = write_log(tmp_path / "d", log, (10,), has_files=False)
    (partition / "00000000000000000006.snapshot").write_bytes(producer_snapshot(log.snapshot(6)))
    bounds = log_bounds(tmp_path / "d")
    assert bounds.open_transactions == ()
    assert bounds.next_offset == log.next_offset


@pytest.mark.parametrize(
    ("name", "expected", "said"),
    [
        ("torn_write__tx", {115: "committed", 124: "aborted"}, "the abort of producer 2"),
        ("txn_marker_lost__tx", {115: "committed", 124: "aborted"}, "the end of producer 1"),
        ("snapshot_garbage__tx", {115: "committed", 124: "aborted"}, ".txnindex is not used"),
    ],
)
def test_a_damaged_marker_of_a_real_broker_is_known_from_the_files(
    name: str, expected: dict[int, str], said: str, tmp_path: Path
) -> None:
    summary = ingested(corrupt_case(name).log_dir, tmp_path / "lake")
    rows = read_table(tmp_path / "lake", "records")
    states = {row["offset"]: row["transaction_state"] for row in rows}
    assert {offset: states[offset] for offset in expected} == expected
    assert states[102] == "open"
    assert unknown_outcomes(summary) == []
    assert [said in note for note in summary.notes].count(True) >= 1


def test_a_damaged_marker_without_files_is_uncertain_and_said_so(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(corrupt_case("txn_marker_lost__tx").log_dir, disk)
    for path in [*disk.rglob("*.txnindex"), *disk.rglob("*.snapshot")]:
        path.unlink()
    summary = ingested(disk, tmp_path / "lake")
    assert len(unknown_outcomes(summary)) == 2
    assert "producer 1's transaction from offset 115 on" in unknown_outcomes(summary)[1]
    assert (
        "(offset 123); no later marker ends it, so it counts as open"
        in (unknown_outcomes(summary)[1])
    )
    assert "unknown outcome: tx-a-0: producer 6's transaction" in summary.to_text()
