"""Damage that another copy fills in the same run: what is left to do, and what is not."""

import json
import shutil
from pathlib import Path

import pytest

from seglake.pipelines.lake_report.model import Level
from support.encoder import DEFAULT_CLUSTER_ID, meta_properties
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.reports import reported

_MENDED = "another copy filled all of it, so no replay is needed, but check the disk"


def _damage(disk: Path, *base_offsets: int) -> None:
    for base_offset in base_offsets:
        path = disk / "orders-0" / f"{base_offset:020}.log"
        data = bytearray(path.read_bytes())
        data[80] ^= 0xFF
        path.write_bytes(data)


@pytest.fixture
def disks(tmp_path: Path) -> list[Path]:
    first = make_log_dir(tmp_path / "a", {("orders", 0): [0, 40, 80, 120]})
    second = shutil.copytree(first, tmp_path / "b")
    (second / "meta.properties").write_text(meta_properties(1, DEFAULT_CLUSTER_ID))
    return [first, second]


def test_damage_that_another_copy_filled_needs_no_replay(disks: list[Path], tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    _damage(disks[0], 0, 40)
    _damage(disks[1], 80)
    summary = ingested(disks, lake)
    assert summary.recovery.is_whole
    (line,) = (each for each in summary.to_text().splitlines() if "quarantined: " in each)
    assert line.endswith(_MENDED)
    assert summary.exit_code == 3
    assert json.loads(summary.to_json())["mended"] == summary.damaged
    assert reported(lake).level is Level.FINE


def test_damage_that_no_copy_filled_is_told_apart(disks: list[Path], tmp_path: Path) -> None:
    _damage(disks[0], 0, 40)
    _damage(disks[1], 40, 80)
    summary = ingested(disks, tmp_path / "lake")
    assert summary.exit_code == 3
    assert "5 offsets hidden by damaged bytes" in summary.recovery.headline
    damaged = summary.damaged["orders-0"]
    assert f"another copy filled 1 of {damaged}, so no replay is needed" in summary.to_text()


def test_damage_alone_is_not_called_filled(disks: list[Path], tmp_path: Path) -> None:
    _damage(disks[0], 0)
    summary = ingested(disks[0], tmp_path / "lake")
    assert (summary.exit_code, summary.mended) == (3, {})
    assert "another copy filled" not in summary.to_text()


def test_damage_of_an_earlier_run_is_not_counted(disks: list[Path], tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    _damage(disks[0], 0)
    ingested(disks[0], lake)
    summary = ingested(disks[1], lake)
    assert (summary.exit_code, summary.mended, summary.counts.repaired_gaps) == (0, {}, 1)
