"""Damaged markers in a dead broker's last segment: its index proves how transactions ended."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import NoLoss
from seglake.task_engine.engine import Engine
from support.audits import audited, kinds
from support.broker_disks import log_dir
from support.damaged_replicas import resolutions_in
from support.found import unknown_outcomes
from support.lakes import ingested, read_table
from support.oracle import Isolation, expected_records
from support.views import viewed

_COMMIT_BYTES = 4670, 4748  # of offset 61, which ends what producer 3 sent from offset 19 on
_ABORT_BYTES = 6807, 6885  # of offset 81, which ends what it sent from offset 71 on


_GAPS = "SELECT start_offset, next_offset, cause FROM current_gaps"
_SUMS = "SELECT marker, quarantined FROM completeness"
_READ = {"upper_bound": "log_end"}


def _flip(batch: bytearray) -> None:
    batch[-4] ^= 8


def _blank(batch: bytearray) -> None:
    batch[21:] = bytes(len(batch) - 21)  # all that the checksum covers


def _disk(folder: Path, place: tuple[int, int], damage: Callable[[bytearray], None]) -> Path:
    shutil.copytree(log_dir("06_transactions", "live"), folder, copy_function=shutil.copyfile)
    log = folder / "tx-lat-0" / "00000000000000000000.log"
    content = bytearray(log.read_bytes())
    batch = content[place[0] : place[1]]
    damage(batch)
    content[place[0] : place[1]] = batch
    log.write_bytes(content)
    return folder


@pytest.mark.parametrize("damage", [_flip, _blank])
@pytest.mark.parametrize("place", [_COMMIT_BYTES, _ABORT_BYTES], ids=["commit", "abort"])
def test_a_damaged_marker_of_a_real_broker_costs_no_record_of_its_transaction(
    place: tuple[int, int],
    damage: Callable[[bytearray], None],
    tmp_path: Path,
    lake: Path,
    engine: Engine,
) -> None:
    summary = ingested(
        _disk(tmp_path / "disk", place, damage),
        lake,
        isolation="read_committed",
        engine=engine,
        read=_READ,
        select={"topics": ["tx-lat"]},
    )
    true = expected_records("06_transactions", "live", "tx-lat", 0, Isolation.READ_COMMITTED)
    found = sorted(row["offset"] for row in read_table(lake, "records"))
    assert found == [record.offset for record in true]
    assert unknown_outcomes(summary) == []
    assert not any("disagree" in note for note in summary.findings.texts(FindingKind.NOTE))
    offset = 61 if place is _COMMIT_BYTES else 81
    assert viewed(lake, _GAPS) == [
        {"start_offset": offset, "next_offset": offset + 1, "cause": "marker"}
    ]
    assert viewed(lake, _SUMS) == [{"marker": 1, "quarantined": 0}]
    assert "NOT recovered" not in summary.to_text()
    assert "1 offset of damaged transaction markers, which have no record" in summary.to_text()
    assert summary.exit_code == 3  # the damage itself is worth a look
    audit = audited(lake)
    assert audit.recovery.no_loss[NoLoss.MARKER] == 1
    assert (audit.recovery.lost, kinds(audit)) == ({}, set())


@pytest.mark.parametrize(("damage", "is_proved"), [(_flip, True), (_blank, False)])
def test_without_its_index_a_damaged_marker_is_one_if_its_bytes_prove_it(
    damage: Callable[[bytearray], None], *, is_proved: bool, tmp_path: Path, lake: Path
) -> None:
    disk = _disk(tmp_path / "disk", _ABORT_BYTES, damage)
    for path in (disk / "tx-lat-0").glob("*.txnindex"):
        path.unlink()
    select = {"topics": ["tx-lat"]}
    summary = ingested(disk, lake, isolation="read_committed", read=_READ, select=select)
    assert ("NOT recovered: 1 offset" not in summary.to_text()) is is_proved
    causes = {gap["cause"] for gap in viewed(lake, _GAPS) if gap["start_offset"] == 81}
    assert causes == {"marker" if is_proved else "quarantined"}
    sound = log_dir("06_transactions", "live")
    ingested(sound, lake, isolation="read_committed", read=_READ, select=select)
    assert viewed(lake, _GAPS) == []
    assert resolutions_in(lake) == ["None", "replayed"]
    assert kinds(audited(lake)) == set()


@pytest.mark.parametrize("damage", [_flip, _blank])
@pytest.mark.parametrize(
    ("offset", "place"), [(60, (4522, 4670)), (80, (6714, 6807))], ids=["plain", "transactional"]
)
def test_a_damaged_batch_of_one_record_is_no_marker(
    offset: int,
    place: tuple[int, int],
    damage: Callable[[bytearray], None],
    tmp_path: Path,
    lake: Path,
) -> None:
    disk = _disk(tmp_path / "disk", place, damage)
    select = {"topics": ["tx-lat"]}
    summary = ingested(disk, lake, isolation="read_committed", read=_READ, select=select)
    assert viewed(lake, _GAPS) == [
        {"start_offset": offset, "next_offset": offset + 1, "cause": "quarantined"}
    ]
    assert "NOT recovered: 1 offset hidden by damaged bytes" in summary.to_text()
