"""The batches of a partition: what they sum to, and whether records has their rows."""

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_rows import HIGHEST, LOWEST
from seglake.pipelines.lake_audit.batch_checks import PartitionBatches
from seglake.pipelines.lake_audit.ledger import LedgerBlocks
from seglake.pipelines.lake_audit.problems import ProblemKind
from seglake.pipelines.lake_audit.record_checks import BatchRuns
from seglake.pipelines.lake_audit.sums import RangeSums

_COLUMNS = ("base_offset", "last_offset", "row_count", "size_bytes", "state")
_BLOCKS = LedgerBlocks(
    np.array([1, 1]), np.array([0, 10]), np.array([10, 30]), np.array([True, True])
)


def _batches(
    *rows: tuple[int, int, int, int, str], cell: tuple[int, int] = (LOWEST, HIGHEST)
) -> PartitionBatches:
    found = PartitionBatches(_BLOCKS, *cell)
    for row in reversed(rows):  # they may come in any order
        found.add(pa.Table.from_pylist([dict(zip(_COLUMNS, row, strict=True)) | {"generation": 1}]))
    found.finish()
    return found


def _runs(*runs: tuple[int, int, int, int]) -> BatchRuns:
    return BatchRuns(*np.array(runs, np.int64).reshape(-1, 4).T)


def test_each_block_has_the_sums_of_the_batches_that_end_in_it() -> None:
    found = _batches(
        (0, 4, 3, 50, "decoded"), (5, 9, 5, 60, "aborted"), (10, 19, 10, 70, "decoded")
    )
    assert found.sums() == {
        (1, 0): RangeSums(batches=2, batch_bytes=110, decoded_rows=3, other_span=5, lacking=2),
        (1, 10): RangeSums(batches=1, batch_bytes=70, decoded_rows=10),
    }


def test_a_batch_that_begins_before_its_block_counts_from_the_block_on() -> None:
    assert _batches((7, 12, 0, 9, "aborted")).sums() == {
        (1, 10): RangeSums(batches=1, batch_bytes=9, other_span=3)
    }


def test_a_batch_is_counted_in_the_cell_where_it_begins() -> None:
    row = (3, 8, 6, 9, "decoded")
    assert _batches(row, cell=(5, 9)).sums() == {}
    assert [_batches(row, cell=cell).row_count for cell in ((0, 4), (5, 9))] == [1, 0]


def test_a_batch_whose_rows_are_not_those_it_counts_is_named() -> None:
    found = _batches((0, 4, 5, 1, "decoded"), (5, 9, 2, 1, "decoded"), (40, 49, 0, 1, "decoded"))
    problems = found.problems(_runs((0, 4, 0, 5), (7, 1, 7, 7)))
    said = {problem.kind: problem.examples for problem in problems}
    assert said == {
        ProblemKind.OUTSIDE_LEDGER: ("batches has offsets 40 to 49",),
        ProblemKind.ROW_COUNT: (
            "batch 0 to 4 counts 5 and has 4",
            "batch 5 to 9 counts 2 and has 0",
        ),
        ProblemKind.ROW_WITHOUT_BATCH: ("batch_base_offset 7 has offsets 7 to 7",),
        ProblemKind.ROW_OUTSIDE_BATCH: ("batch_base_offset 0 has offsets 0 to 5",),
    }
    assert _batches((0, 4, 5, 1, "decoded")).problems(_runs((0, 5, 0, 4))) == []
