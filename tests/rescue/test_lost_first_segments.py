"""A log's first segments are gone: what Kafka deleted is no loss, and all else is one."""

import shutil
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support import broker_disks
from support.audits import audited
from support.encoder import delete_segment
from support.lakes import ingested, read_table
from support.made_logs import make_log_dir
from support.oracle import expected_records
from support.taken import gaps_taken, offsets_taken

_LOST = "below the first segment, and by leader-epoch-checkpoint not deleted by Kafka"


def _remove(folder: Path, *base_offsets: int) -> None:
    for base_offset in base_offsets:
        for path in folder.glob(f"{base_offset:020}.*"):
            path.unlink()


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
    assert (summary.exit_code, gaps_taken(lake)) == (3, [(0, 40, "deleted")])


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
