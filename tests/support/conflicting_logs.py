"""Replicas that contradict each other, and the rows that list what they contradict."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.encoder import Header, Partition, Record, Segment, record_batch
from support.lakes import Row, read_table
from support.made_logs import TOPIC_IDS, write_over


def conflict_rows(lake: Path) -> list[Row]:
    rows = [r for r in read_table(lake, "quarantine") if r["defect_code"] == "replica_conflict"]
    return sorted(rows, key=lambda r: (r["broker_id"], r["partition"], r["base_offset"]))


def places_of(rows: Iterable[Row]) -> list[tuple[object, ...]]:
    return [(r["broker_id"], r["partition"], r["base_offset"], r["last_offset"]) for r in rows]


def segment_of(
    values: Iterable[bytes], *, epoch: int = 0, first: int = 0, size: int = 5
) -> Segment:
    records = [Record(None, value) for value in values]
    header = Header(leader_epoch=epoch)
    return Segment(
        first,
        [
            record_batch(first + start, records[start : start + size], header)
            for start in range(0, len(records), size)
        ],
    )


def orders_partition(segments: list[Segment], **facts: Any) -> Partition:
    return Partition("orders", 0, segments, topic_id=TOPIC_IDS["orders"], **facts)


def numbered_values(count: int, *changed: int) -> list[bytes]:
    return [b"%d%s" % (n, b" changed" if n in changed else b"") for n in range(count)]


def two_copies(folder: Path, one: Partition, other: Partition) -> list[Path]:
    return [
        write_over(folder / f"broker{broker_id}", [partition], broker_id=broker_id)
        for broker_id, partition in enumerate((one, other))
    ]
