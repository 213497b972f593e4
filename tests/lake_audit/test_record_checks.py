"""The records of a partition: their sums, and the batches that they are of."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seglake.pipelines.lake_audit.ledger import LedgerBlocks
from seglake.pipelines.lake_audit.problems import ProblemKind
from seglake.pipelines.lake_audit.record_checks import PartitionRecords
from seglake.pipelines.lake_audit.sums import RangeSums

_HIGH = 1 << 62
_BLOCKS = LedgerBlocks(
    np.array([1, 1, 1]),
    np.array([0, 10, _HIGH]),
    np.array([10, 20, _HIGH + 10]),
    np.array([True, True, True]),
)
_TYPES: dict[str, pa.DataType] = {
    "offset": pa.int64(),
    "batch_base_offset": pa.int64(),
    "key": pa.binary(),
    "value": pa.binary(),
    "timestamp_ms": pa.int64(),
    "generation": pa.int64(),
}


def _records(
    *rows: tuple[int, int], key: bytes | None = b"k", time_ms: int | None = 7
) -> PartitionRecords:
    found = PartitionRecords(_BLOCKS)
    columns = {"key": key, "value": b"vv", "timestamp_ms": time_ms, "generation": 1}
    all_rows = [columns | {"offset": offset, "batch_base_offset": base} for offset, base in rows]
    for part in (all_rows[::2], all_rows[1::2]):  # they may come in any order
        found.add(pa.Table.from_pylist(part, schema=pa.schema(_TYPES)))
    return found


def test_sums_of_large_offsets_do_not_overflow() -> None:
    assert _records((_HIGH + 1, _HIGH), (_HIGH + 9, _HIGH)).sums() == {
        (1, _HIGH): RangeSums(
            records=2,
            offset_sum=2 * _HIGH + 10,
            key_bytes=2,
            value_bytes=4,
            min_timestamp_ms=7,
            max_timestamp_ms=7,
        )
    }


def test_null_is_no_bytes_and_kafkas_minus_one_is_no_time() -> None:
    for time_ms in (None, -1):
        (found,) = _records((3, 0), key=None, time_ms=time_ms).sums().values()
        assert (found.key_bytes, found.min_timestamp_ms, found.max_timestamp_ms) == (0, None, None)


@given(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 4)), max_size=12))
def test_runs_and_problems_are_those_of_counting_row_by_row(rows: list[tuple[int, int]]) -> None:
    found = _records(*rows)
    covered = [(offset, base) for offset, base in rows if offset < 20]
    expected = {}
    for base in sorted({base for _, base in covered}):
        offsets = [offset for offset, own in covered if own == base]
        expected[base] = (len(offsets), min(offsets), max(offsets))
    runs = found.runs()
    counted = zip(runs.counts, runs.first_offsets, runs.last_offsets, strict=True)
    assert dict(zip(runs.base_offsets, counted, strict=True)) == expected
    offsets = [offset for offset, _ in covered]
    twice = {offset for offset in offsets if offsets.count(offset) > 1}
    counts = {problem.kind: problem.count for problem in found.problems()}
    assert counts.get(ProblemKind.OFFSET_TWICE, 0) == len(twice)
    assert counts.get(ProblemKind.OUTSIDE_LEDGER, 0) == len(rows) - len(covered)
