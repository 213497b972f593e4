"""The summary of a retake says what that of an ingest says of the same log."""

import json
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_retake.retake_summary import RetakeSummary
from support.elected_logs import ElectedLog, Written, plain, write_elected
from support.lakes import ingested, retaken

_BEFORE = plain(1, 4)
_LOSER = ElectedLog.of(*_BEFORE, *plain(1, 8))
_WINNER = ElectedLog.of(*_BEFORE, *plain(3, 8))  # [20, 60)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return tmp_path / "disk"


def _lost(lake: Path, disk: Path, winner: ElectedLog = _WINNER) -> None:
    ingested(write_elected(disk, _LOSER), lake, read={"upper_bound": "log_end"})
    write_elected(disk, winner, broker_id=1, bases=(0, 30, 40))
    ingested(disk, lake)


def _damage(disk: Path, log: ElectedLog, base: int, offset: int) -> None:
    path = disk / "orders-0" / f"{base:020d}.log"
    content = bytearray(path.read_bytes())
    batches = dict(zip((first for first, _ in log.placed()), log.encoded(), strict=True))
    content[content.index(batches[offset].data) + len(batches[offset].data) - 1] ^= 0xFF
    path.write_bytes(content)


def test_offsets_that_are_missing_ask_for_a_look(lake: Path, disk: Path) -> None:
    _lost(lake, disk)
    (disk / "orders-0" / f"{30:020d}.log").unlink()
    summary = retaken(lake, disk)
    assert summary.exit_code == 3
    text = summary.to_text()
    assert "NOT recovered: 10 offsets missing without a known cause in orders-0 [30, 40)" in text
    assert "limit crossed: limits.fail_on_unexplained_gap: 10 offsets missing" in text
    gaps = json.loads(summary.to_json())["gaps"]
    assert gaps == {"missing": {"orders-0": {"gaps": 1, "offsets": 10, "ranges": [[30, 40]]}}}


@pytest.mark.parametrize("fails", [False, True])
def test_damage_is_named(lake: Path, disk: Path, fails: bool) -> None:
    _lost(lake, disk)
    _damage(disk, _WINNER, 30, 30)
    summary = retaken(lake, disk, limits={"fail_on_quarantine": fails})
    text = summary.to_text()
    assert "quarantined: 1 crc_mismatch (120 B) in orders-0 (1)" in text
    lost = "NOT recovered: 5 offsets hidden by damaged bytes (quarantined) in orders-0 [30, 35)"
    assert lost in text
    assert ("limits.fail_on_quarantine: 1 quarantined" in text) is fails
    assert summary.exit_code == (3 if fails else 0)


def test_a_gap_that_another_replica_fills_is_none(lake: Path, disk: Path) -> None:
    _lost(lake, disk)
    (disk / "orders-0" / f"{30:020d}.log").unlink()
    sound = write_elected(disk.with_name("sound"), _WINNER, broker_id=2)
    summary = retaken(lake, disk, sound)
    assert (summary.exit_code, summary.gaps, summary.findings.texts(FindingKind.LIMIT_CROSSED)) == (
        0,
        {},
        [],
    )


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_transaction_whose_end_is_damaged_asks_for_a_look(
    lake: Path, disk: Path, dry_run: bool
) -> None:
    winner = ElectedLog.of(
        *_BEFORE, *plain(3, 3), Written(3, 3, 7), Written(3, 1, 7, "commit"), *plain(3, 5)
    )
    _lost(lake, disk, winner)
    _damage(disk, winner, 30, 38)
    summary = retaken(lake, disk, dry_run=dry_run)
    said = "would be" if dry_run else "were"
    assert f"so it counts as open, and its records {said} ingested: check them" in summary.to_text()
    told = json.loads(summary.to_json())
    assert (told["exit_code"], told["damaged"]) == (3, {} if dry_run else {"orders-0": 1})


def test_a_note_of_the_log_is_passed_on(lake: Path, disk: Path) -> None:
    _lost(lake, disk)
    summary = retaken(lake, write_elected(disk.with_name("old"), _LOSER))
    assert any("nothing more is ingested from it" in note for note in summary.notes)


@pytest.mark.parametrize(
    "kind",
    [FindingKind.DOUBTFUL_OUTCOME, FindingKind.CONTRADICTED, FindingKind.LIMIT_CROSSED],
)
def test_what_is_in_doubt_asks_for_a_look(kind: FindingKind) -> None:
    summary = RetakeSummary("run", "lake")
    summary.findings.add_texts(kind, ["what it is"])
    assert summary.exit_code == 3
    assert f"{kind.label}: what it is" in summary.to_text()
    assert json.loads(summary.to_json())["findings_by_kind"] == {str(kind): 1}
