"""What the tasks write of splits."""

from pathlib import Path

from support.encoder import Partition, Record, Segment, record_batch
from support.lakes import ingested, read_table
from support.made_logs import FIRST_MS, write_over


def test_quarantine_keeps_no_more_of_the_damaged_bytes_than_the_settings_say(
    data: Path, lake: Path
) -> None:
    batch = record_batch(0, [Record(b"k", bytes(4000), FIRST_MS)])
    damaged = batch._replace(data=batch.data[:-1] + b"\xff")
    write_over(data, [Partition("orders", 0, [Segment(0, [damaged])], high_watermark=1)])
    ingested(data, lake, quarantine={"max_raw_bytes": 1000})
    (row,) = read_table(lake, "quarantine")
    assert (row["raw"], row["raw_is_complete"]) == (damaged.data[:1000], False)
    assert row["length_bytes"] == len(damaged.data)
