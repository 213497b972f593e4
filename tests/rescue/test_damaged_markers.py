"""Damaged markers in a dead broker's last segment: its index proves how transactions ended."""

import shutil
from pathlib import Path

import pytest

from seglake.pipelines.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support.broker_disks import log_dir
from support.found import unknown_outcomes
from support.lakes import ingested, read_table
from support.oracle import Isolation, expected_records

_COMMIT_BYTES = 4670, 4748  # of offset 61, which ends what producer 3 sent from offset 19 on
_ABORT_BYTES = 6807, 6885  # of offset 81, which ends what it sent from offset 71 on


@pytest.mark.parametrize("place", [_COMMIT_BYTES, _ABORT_BYTES], ids=["commit", "abort"])
def test_a_damaged_marker_of_a_real_broker_costs_no_record_of_its_transaction(
    place: tuple[int, int], tmp_path: Path, lake: Path, engine: Engine
) -> None:
    disk = tmp_path / "disk"
    shutil.copytree(log_dir("06_transactions", "live"), disk, copy_function=shutil.copyfile)
    log = disk / "tx-lat-0" / "00000000000000000000.log"
    content = bytearray(log.read_bytes())
    content[place[1] - 4] ^= 8
    log.write_bytes(content)
    summary = ingested(
        disk,
        lake,
        isolation="read_committed",
        engine=engine,
        read={"upper_bound": "log_end"},
        select={"topics": ["tx-lat"]},
    )
    true = expected_records("06_transactions", "live", "tx-lat", 0, Isolation.READ_COMMITTED)
    found = sorted(row["offset"] for row in read_table(lake, "records"))
    assert found == [record.offset for record in true]
    assert unknown_outcomes(summary) == []
    assert not any("disagree" in note for note in summary.findings.texts(FindingKind.NOTE))
