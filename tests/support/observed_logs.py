"""Logs that grow above their bounds, and what the lake says of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from support.encoder import (
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    record_batch,
)
from support.lakes import Row, read_table
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, made_segments

if TYPE_CHECKING:
    pass


def orders(
    stop: int,
    *,
    high_watermark: int | None = None,
    partition: int = 0,
    edges: Sequence[int] = (0,),
) -> Partition:
    """A partition of `orders`, up to an offset."""
    return Partition(
        "orders",
        partition,
        made_segments("orders", partition, [*edges, stop]),
        high_watermark=high_watermark,
        topic_id=TOPIC_IDS["orders"],
    )


def blocked(stop: int) -> Partition:
    """A transaction is open from offset 5 on, and the log goes on behind it."""
    header = Header(producer=Producer(7, 0, 0), is_transactional=True)
    begun = record_batch(5, [Record(b"t", b"%d" % n, FIRST_MS) for n in range(5, 10)], header)
    batches: list[EncodedBatch] = [*made_batches("orders", 0, range(5)), begun]
    batches += made_batches("orders", 0, range(10, stop))
    return Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])


def rows_in(lake: Path) -> list[Row]:
    """The observations of a lake, in the order of their times."""
    return sorted(read_table(lake, "observations"), key=lambda row: row["observed_at"])


def ends_of(rows: Iterable[Row]) -> list[tuple[object, ...]]:
    """Return each log's end in the observations, and why the run stopped there."""
    names = ("high_watermark", "log_end_offset", "next_offset", "stopped_by")
    return [tuple(row[name] for name in names) for row in rows]


def said_in(summary: IngestSummary) -> list[str]:
    """Return the lines of a summary about offsets that are not ingested yet."""
    return [
        line for line in summary.to_text().splitlines() if line.startswith("not ingested yet: ")
    ]


def files_of(lake: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in lake.rglob("*")
        if path.is_file()
    }
