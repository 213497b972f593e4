"""Batches as rows of their table."""

from pathlib import Path

from support.encoder import Header, Partition, Record, Segment, record_batch
from support.lakes import ingested, read_table
from support.made_logs import write_over


def test_a_batch_with_a_delete_horizon_has_no_base_time(data: Path, lake: Path) -> None:
    """The cleaner puts the one where the other was."""
    times_ms = [1_700_000_000_000, 1_700_000_000_007]
    batch = record_batch(
        0, [Record(b"k", None, ms) for ms in times_ms], Header(delete_horizon_ms=1_700_000_086_400)
    )
    write_over(data, [Partition("orders", 0, [Segment(0, [batch])])])
    ingested(data, lake)
    (row,) = read_table(lake, "batches")
    assert (row["base_timestamp_ms"], row["delete_horizon_ms"]) == (None, 1_700_000_086_400)
    assert sorted(row["timestamp_ms"] for row in read_table(lake, "records")) == times_ms
