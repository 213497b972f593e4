"""Records as rows of their table."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.encoder import Partition, Record, Segment, record_batch
from support.lakes import ingested, read_table
from support.made_logs import write_over

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS = -62_135_596_800_000  # year 1


def test_times_before_1970_and_none_are_told_apart(data: Path, lake: Path) -> None:
    """-1 is Kafka's for no time; what no table can hold is only in `timestamp_ms`."""
    times_ms = [-2, _FIRST_MS, _FIRST_MS - 1, -1]
    batches = [
        record_batch(offset, [Record(b"k", b"v", time_ms)])
        for offset, time_ms in enumerate(times_ms)
    ]
    write_over(data, [Partition("orders", 0, [Segment(0, batches)])])
    ingested(data, lake)
    rows = sorted(read_table(lake, "records"), key=lambda row: row["offset"])
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert [row["timestamp"] for row in rows] == [
        _EPOCH - timedelta(milliseconds=2),
        first,
        None,
        None,
    ]
    assert [row["timestamp_ms"] for row in rows] == times_ms
