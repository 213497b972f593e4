"""Which offsets damage hides, and how much damage there is."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_audit.ledger import LakePartition, PartitionLedger
from seglake.pipelines.lake_audit.quarantine_checks import Damage
from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, falsified, kinds
from support.damaged_replicas import batches_in
from support.elected_logs import ElectedLog, plain, write_elected
from support.lakes import Row, ingested, retaken

_LEDGER = PartitionLedger(LakePartition("c", PartitionKey("orders", 0, None)), ())


def _damage(*spans: tuple[int | None, int | None]) -> Damage:
    found = Damage()
    for position, (previous, following) in enumerate(spans):
        row = {
            "broker_id": 0,
            "segment": "orders-0/0.log",
            "position": position,
            "raw_sha256": "x",
            "length_bytes": 7,
            "defect_code": "crc_mismatch",
            "resolution": None,
            "previous_offset": previous,
            "next_offset": following,
            "generation": 1,
        }
        found.add(pa.Table.from_pylist([row]))
    found.finish(_LEDGER)
    return found


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 30), st.none() | st.integers(0, 30)), max_size=5),
    st.tuples(st.integers(0, 30), st.integers(1, 8)),
)
def test_damage_explains_a_gap_that_lies_where_it_hides_offsets(
    spans: list[tuple[int | None, int | None]], gap: tuple[int, int]
) -> None:
    start, stop = gap[0], sum(gap)
    damage = _damage(*spans)
    near = [
        span
        for span in spans
        if (span[0] is None or span[0] < stop) and (span[1] is None or span[1] > start)
    ]
    assert damage.explains(np.array([start]), np.array([stop])).tolist() == [bool(near)]
    assert len(damage.near(start, stop)) == len(near)


def test_a_span_that_two_runs_met_counts_twice_and_a_resolution_does_not() -> None:
    one = _damage((0, 5))
    assert one.sums()[:2] == (1, 7)
    row = {
        "broker_id": 0,
        "segment": "orders-0/0.log",
        "position": 0,
        "raw_sha256": "x",
        "length_bytes": 7,
        "defect_code": "crc_mismatch",
        "previous_offset": 0,
        "next_offset": 5,
        "generation": 1,
    }
    one.add(pa.Table.from_pylist([row | {"resolution": None}]))
    one.add(pa.Table.from_pylist([row | {"resolution": "sibling"}]))
    one.finish(_LEDGER)
    assert (one.sums().spans, one.sums().size_bytes, one.sums().resolved) == (2, 14, 1)


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
    codes = audited(lake).partitions[0].quarantine.by_code
    assert {*codes} == {"crc_mismatch", "replica_conflict"}
    assert kinds(audited(lake)) == {"no_evidence", "bytes"}


def _is_of_winner(row: Row) -> bool:
    return (row["broker_id"], row["defect_code"]) == (1, "crc_mismatch")
