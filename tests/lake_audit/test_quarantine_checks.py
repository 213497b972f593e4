"""Which offsets damage hides, and how much damage there is."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seglake.pipelines.lake_audit.quarantine_checks import Damage
from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited, falsified, kinds


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
        }
        found.add(pa.Table.from_pylist([row]))
    found.finish()
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
    }
    one.add(pa.Table.from_pylist([row | {"resolution": None}]))
    one.add(pa.Table.from_pylist([row | {"resolution": "sibling"}]))
    one.finish()
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
