"""Damage above a bound: it is said when the bound passes it, and of a dead disk at once."""

from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import Loss
from seglake.pipelines.lake_report.model import Level
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.encoder import Header, Partition, Producer, Record, Segment, record_batch
from support.lakes import ingested, read_table
from support.made_logs import FIRST_MS, made_batches, write_over
from support.reports import reported

_TO_LOG_END = {"upper_bound": "log_end"}


def _damaged_disk(folder: Path, *, high_watermark: int, is_open: bool) -> Path:
    """Offsets 0 to 39, in batches of five; the one from 25 on has a flipped bit."""
    batches = made_batches("orders", 0, range(40))
    if is_open:
        records = [Record(b"k", b"v", FIRST_MS) for _ in range(5)]
        batches[2] = record_batch(
            10, records, Header(is_transactional=True, producer=Producer(7, 0, 0))
        )
    partition = Partition("orders", 0, [Segment(0, batches)], high_watermark=high_watermark)
    disk = write_over(folder, [partition])
    log = disk / "orders-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[content.index(batches[5].data) + len(batches[5].data) - 3] ^= 1
    log.write_bytes(content)
    return disk


def _position(disk: Path) -> int:
    """Where the damaged batch begins."""
    content = (disk / "orders-0" / f"{0:020d}.log").read_bytes()
    return content.index((25).to_bytes(8, "big"))


@pytest.mark.parametrize(
    ("high_watermark", "is_open", "waits"),
    [(20, False, Loss.HIGH_WATERMARK), (40, True, Loss.OPEN_TRANSACTION)],
    ids=["high watermark", "open transaction"],
)
def test_damage_above_a_bound_is_quarantined_once_nothing_bounds_the_log(
    high_watermark: int, is_open: bool, waits: Loss, tmp_path: Path, engine: Engine
) -> None:
    disk = _damaged_disk(tmp_path / "disk", high_watermark=high_watermark, is_open=is_open)
    lake = tmp_path / "lake"
    summary = ingested(disk, lake, engine=engine, isolation="read_committed")
    report = reported(lake)
    assert [*summary.recovery.lost] == [*report.recovery.lost] == [waits]
    said = f"crc_mismatch at byte {_position(disk)} of orders-0/{0:020d}.log"
    assert (summary.exit_code, said in summary.to_text()) == (3, True)
    (partition,) = report.partitions
    assert (FindingKind.DAMAGED_ABOVE, said) in [(f.kind, f.text) for f in partition.findings]
    assert partition.level is Level.LOOK
    again = ingested(disk, lake, engine=engine, isolation="read_committed")
    assert (again.exit_code, said in again.to_text()) == (3, True)
    summary = ingested(disk, lake, engine=engine, isolation="read_committed", read=_TO_LOG_END)
    assert (summary.exit_code, summary.damaged) == (3, {"orders-0": 1})
    (row,) = read_table(lake, "quarantine")
    assert (row["previous_offset"], row["next_offset"]) == (24, 30)
    report = reported(lake)
    (partition,) = report.partitions
    assert partition.recovery.lost[Loss.QUARANTINED].ranges == ((25, 30),)
    assert FindingKind.QUARANTINED in [found.kind for found in partition.findings]
    assert Loss.QUARANTINED in summary.recovery.lost
    assert audited(lake).recovery.to_mapping() == report.recovery.to_mapping()


def test_damage_in_one_partition_is_said_beside_sound_ones(tmp_path: Path) -> None:
    disk = _damaged_disk(tmp_path / "disk", high_watermark=40, is_open=False)
    sound = write_over(
        tmp_path / "sound",
        [Partition("pay", 0, [Segment(0, made_batches("pay", 0, range(9)))], high_watermark=9)],
        broker_id=1,
    )
    summary = ingested([disk, sound], tmp_path / "lake")
    assert summary.recovery.lost[Loss.QUARANTINED]["orders-0"].ranges == ((25, 30),)
    assert (
        "NOT recovered: 5 offsets hidden by damaged bytes (quarantined) in orders-0 [25, 30)"
        in (summary.to_text().splitlines())
    )


@pytest.mark.parametrize("high_watermark", [25, 27, 30])
def test_damage_at_a_bound_is_said_once(high_watermark: int, tmp_path: Path) -> None:
    disk = _damaged_disk(tmp_path / "disk", high_watermark=high_watermark, is_open=False)
    summary = ingested(disk, tmp_path / "lake")
    said = summary.findings.of(FindingKind.DAMAGED_ABOVE)
    assert (summary.exit_code, len(said) + len(summary.damaged)) == (3, 1)


def test_an_end_that_its_writer_may_complete_is_no_damage(tmp_path: Path) -> None:
    disk = _damaged_disk(tmp_path / "disk", high_watermark=20, is_open=False)
    log = disk / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[: _position(disk) + 100])
    summary = ingested(disk, tmp_path / "lake")
    assert summary.findings.of(FindingKind.DAMAGED_ABOVE) == []
