"""Which gaps still stand."""

import pyarrow as pa
import pytest

from seglake.pipelines.lake_audit.gap_rows import GapCollector, are_current, generations
from seglake.pipelines.lake_audit.ledger import LedgerRange


@pytest.mark.parametrize(
    ("gap", "is_current"),
    [
        ((0, 5, "first"), True),  # no repair holds its start
        ((10, 20, "first"), False),  # a later repair does
        ((12, 14, "second"), True),  # of that repair
        ((12, 14, "third"), True),  # of a later one
        ((12, 14, "unknown"), False),  # nobody knows how old it is, and it was repaired
        ((22, 25, "unknown"), True),
    ],
)
def test_a_gap_is_current_unless_a_later_repair_holds_its_start(
    gap: tuple[int, int, str], *, is_current: bool
) -> None:
    ranges = (
        LedgerRange(0, 30, "ingest", 1, "first"),
        LedgerRange(10, 20, "repair", 2, "second"),
        LedgerRange(12, 14, "ingest", 3, "third"),
    )
    start, stop, attempt = gap
    collector = GapCollector()
    collector.add(
        pa.table(
            {
                "start_offset": [start],
                "next_offset": [stop],
                "cause": ["missing"],
                "detail": pa.array([None], pa.string()),
                "attempt_id": [attempt],
            }
        )
    )
    rows = collector.rows()
    assert are_current(rows, generations(rows, ranges), ranges).tolist() == [is_current]
