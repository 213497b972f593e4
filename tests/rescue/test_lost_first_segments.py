"""A log's first segments are gone: what Kafka deleted is no loss, and all else is one."""

import shutil
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support import broker_disks
from support.audits import audited
from support.encoder import (
    Partition,
    Record,
    Segment,
    delete_segment,
    messages,
    write_checkpoint,
    write_log_dir,
)
from support.lakes import ingested, read_table
from support.made_logs import make_log_dir
from support.oracle import expected_records
from support.reports import reported
from support.taken import gaps_taken, offsets_taken
from support.views import viewed

_DOUBTFUL = (
    "offsets below the first segment: no file shows whether Kafka deleted them or they were lost"
)
_HEADLINE = (
    "80 records recovered from 1 partition; perhaps lost: 40 offsets below the first segment"
    " (deleted by retention or lost: no file on the disks says which)"
)
_LOST = (
    "offsets below the first segment: leader-epoch-checkpoint proves that Kafka did not delete them"
)


def _remove(folder: Path, *base_offsets: int) -> None:
    for base_offset in base_offsets:
        for path in folder.glob(f"{base_offset:020}.*"):
            path.unlink()


def _log_starts(disk: Path, offset: int) -> None:
    write_checkpoint(disk / "log-start-offset-checkpoint", {("orders", 0): offset})


def _old_disk(folder: Path, magic: int) -> Path:
    records = [Record(b"k", str(offset).encode()) for offset in range(80)]
    segments = [
        Segment(base, tuple(messages(base, records[base : base + 40], magic))) for base in (0, 40)
    ]
    write_log_dir(folder, [Partition("orders", 0, tuple(segments), leader_epochs=())])
    return folder


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "disk", {("orders", 0): [0, 40, 80, 120]})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def test_first_segments_that_kafka_did_not_delete_are_missing(
    disk: Path, lake: Path, engine: Engine
) -> None:
    _remove(disk / "orders-0", 0, 40)
    summary = ingested(disk, lake, engine=engine, read={"upper_bound": "log_end"})
    assert summary.exit_code == 3
    assert "80 offsets missing" in summary.recovery.headline
    assert gaps_taken(lake) == [(0, 80, "missing")]
    assert [row["detail"] for row in read_table(lake, "gaps")] == [_LOST]
    assert "80 offsets missing" in audited(lake).recovery.headline
    assert offsets_taken(lake) == list(range(80, 120))


def test_first_segments_that_retention_deleted_are_no_loss(
    disk: Path, lake: Path, engine: Engine
) -> None:
    delete_segment(disk / "orders-0", 0)
    summary = ingested(disk, lake, engine=engine)
    assert (summary.exit_code, gaps_taken(lake)) == (0, [(0, 40, "deleted")])
    assert summary.recovery.is_whole


def test_a_broker_renames_what_it_deletes_before_it_writes_the_new_log_start(
    disk: Path, lake: Path
) -> None:
    log = disk / "orders-0" / f"{0:020}.log"
    log.rename(log.with_name(f"{log.name}.deleted"))
    summary = ingested(disk, lake)
    assert (summary.exit_code, gaps_taken(lake)) == (0, [(0, 40, "deleted")])


def test_only_what_the_lake_has_not_is_lost(disk: Path, lake: Path) -> None:
    short = make_log_dir(disk.parent / "before", {("orders", 0): [0, 30]})
    ingested(short, lake)
    _remove(disk / "orders-0", 0)
    summary = ingested(disk, lake)
    assert (summary.exit_code, gaps_taken(lake)) == (3, [(30, 40, "missing")])


def test_a_damaged_list_of_leader_epochs_proves_nothing(disk: Path, lake: Path) -> None:
    _remove(disk / "orders-0", 0)
    (disk / "orders-0" / "leader-epoch-checkpoint").write_bytes(bytes(8))
    summary = ingested(disk, lake)
    assert (summary.exit_code, gaps_taken(lake)) == (3, [(0, 40, "deleted_or_lost")])


@pytest.fixture
def unproved(disk: Path) -> Path:
    """Return a disk that has lost its first segment, and has no file that proves a log start."""
    _remove(disk / "orders-0", 0)
    (disk / "orders-0" / "leader-epoch-checkpoint").unlink()
    return disk


def test_without_a_proof_first_segments_were_deleted_or_lost(
    unproved: Path, lake: Path, engine: Engine
) -> None:
    summary = ingested(unproved, lake, engine=engine)
    assert summary.exit_code == 3
    assert gaps_taken(lake) == [(0, 40, "deleted_or_lost")]
    assert [row["detail"] for row in read_table(lake, "gaps")] == [_DOUBTFUL]
    report = reported(lake)
    for recovery in (summary.recovery, audited(lake).recovery, report.recovery):
        assert recovery.headline == _HEADLINE
        assert not recovery.is_whole
        assert (recovery.no_loss, recovery.lost_offsets) == ({}, 0)
        assert recovery.to_mapping()["perhaps_lost"] == {"orders-0": 40}
    assert [f.kind for f in report.partitions[0].findings] == [FindingKind.DELETED_OR_LOST]
    assert viewed(lake, "SELECT deleted_or_lost FROM completeness") == [{"deleted_or_lost": 40}]
    assert ingested(unproved, lake).exit_code == 0  # said once, as all gaps


def test_a_limit_says_whether_such_offsets_need_a_look(unproved: Path, lake: Path) -> None:
    crossed = ingested(unproved, lake, dry_run=True)
    assert crossed.exit_code == 3
    allowed = ingested(unproved, lake, limits={"fail_on_unexplained_gap": False})
    assert (allowed.exit_code, allowed.recovery.headline) == (0, _HEADLINE)


def test_a_log_start_checkpoint_proves_what_it_reaches(unproved: Path, lake: Path) -> None:
    _log_starts(unproved, 40)
    assert ingested(unproved, lake).exit_code == 0
    assert gaps_taken(lake) == [(0, 40, "deleted")]


@pytest.mark.parametrize(
    ("log_start", "gaps"),
    [
        (25, [(0, 25, "deleted"), (25, 40, "deleted_or_lost")]),  # of before the last deletion
        (1 << 62, [(0, 40, "deleted_or_lost")]),
    ],
)
def test_a_log_start_checkpoint_that_is_behind_or_absurd_proves_no_more(
    log_start: int, gaps: list[tuple[int, int, str]], unproved: Path, lake: Path
) -> None:
    _log_starts(unproved, log_start)
    assert ingested(unproved, lake).exit_code == 3
    assert gaps_taken(lake) == gaps


@pytest.mark.parametrize("magic", [0, 1])
def test_formats_without_leader_epochs_prove_no_deletion(
    magic: int, tmp_path: Path, lake: Path
) -> None:
    disk = _old_disk(tmp_path / "disk", magic)
    _remove(disk / "orders-0", 0)
    assert ingested(disk, lake).exit_code == 3
    assert gaps_taken(lake) == [(0, 40, "deleted_or_lost")]


def test_another_copy_fills_what_was_deleted_or_lost(
    tmp_path: Path, unproved: Path, lake: Path
) -> None:
    whole = make_log_dir(tmp_path / "whole", {("orders", 0): [0, 40, 80, 120]})
    assert ingested(unproved, lake).exit_code == 3
    assert ingested(whole, lake).exit_code == 0
    assert audited(lake).recovery.is_whole


def test_a_dry_run_names_what_is_lost(disk: Path, lake: Path) -> None:
    _remove(disk / "orders-0", 0)
    summary = ingested(disk, lake, dry_run=True)
    assert {c: {n: g.ranges for n, g in of.items()} for c, of in summary.gaps.items()} == {
        "missing": {"orders-0": ((0, 40),)}
    }


def test_another_copy_fills_what_is_lost(disk: Path, lake: Path) -> None:
    other = shutil.copytree(disk, disk.parent / "other")
    _remove(disk / "orders-0", 0)
    assert ingested(disk, lake).exit_code == 3
    assert ingested(other, lake).exit_code == 0
    assert offsets_taken(lake) == list(range(120))
    assert audited(lake).recovery.is_whole


def test_segments_lost_after_retention_are_told_apart_from_it(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    data = tmp_path / "data"
    shutil.copytree(broker_disks.log_dir("07_delete_records", "stopped"), data)
    bases = sorted(int(path.stem) for path in (data / "dr-retention-0").glob("*.log"))
    assert bases[0] == 149
    _remove(data / "dr-retention-0", bases[0])
    ingested(data, lake, engine=engine, select={"topics": ["dr-retention"]})
    assert gaps_taken(lake) == [(0, 149, "deleted"), (149, bases[1], "missing")]
    consumed = expected_records("07_delete_records", "stopped", "dr-retention", 0)
    left = [record.offset for record in consumed if record.offset >= bases[1]]
    assert [row["offset"] for row in read_table(lake, "records")] == left
