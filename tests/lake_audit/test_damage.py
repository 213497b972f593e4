"""Which offsets damage hides, and how much damage there is."""

import shutil
from pathlib import Path

from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, falsified, kinds
from support.damaged_replicas import batches_in
from support.elected_logs import ElectedLog, plain, write_elected
from support.lakes import Row, ingested, retaken


def test_damage_that_is_no_longer_in_quarantine_is_missed(damaged: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    falsified(lake, "quarantine", lambda rows: [])
    found = audited(lake)
    assert kinds(found) == {"no_evidence", "bytes"}
    assert "quarantined_batches: 1 in the ledger, 0 in quarantine" in to_text(found)


def test_damage_that_is_resolved_explains_no_gap_and_is_counted_once(
    damaged: Path, tmp_path: Path
) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    falsified(lake, "quarantine", lambda rows: [*rows, rows[0] | {"resolution": "sibling"}])
    found = audited(lake)
    assert kinds(found) == {"no_evidence"}
    (partition,) = found.partitions
    assert (partition.quarantine.spans, partition.quarantine.resolved) == (1, 1)


def test_the_damage_of_another_copy_is_not_counted(damaged: Path, tmp_path: Path) -> None:
    lake = shutil.copytree(damaged, tmp_path / "lake")
    conflict = {"defect_code": "replica_conflict", "position": 17}
    falsified(lake, "quarantine", lambda rows: [*rows, rows[0] | conflict])
    (found,) = audited(lake).partitions
    assert (found.problems, found.quarantine.spans) == ((), 1)
    assert found.quarantine.by_code["replica_conflict"].spans == 1


def test_what_is_of_a_log_that_lost_an_election_explains_no_gap_of_the_one_that_won(
    tmp_path: Path,
) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    write_elected(disk, ElectedLog.of(*plain(1, 8)))
    batches_in(disk / "orders-0")[5].damage()
    ingested(disk, lake)
    write_elected(disk, ElectedLog.of(*plain(1, 4), *plain(3, 6)), broker_id=1)
    batches_in(disk / "orders-0")[5].damage()
    ingested(disk, lake)
    retaken(lake, disk)
    found = audited(lake)
    assert kinds(found) == set()
    (gap,) = found.partitions[0].shown_gaps
    assert (gap.start_offset, gap.next_offset) == (25, 30)
    assert len(str(gap.evidence).split("; ")) == 1
    falsified(lake, "quarantine", lambda rows: [row for row in rows if not _is_of_winner(row)])
    found = audited(lake)
    codes = found.partitions[0].quarantine.by_code
    assert {*codes} == {"crc_mismatch", "replica_conflict"}
    assert kinds(found) == {"no_evidence", "bytes"}


def _is_of_winner(row: Row) -> bool:
    return (row["broker_id"], row["defect_code"]) == (1, "crc_mismatch")
