"""Logs in which one batch's header contradicts its records, though its checksum holds.

Each log has three batches of three records, and the odd one is the first, the second or the third.
"""

from itertools import product
from pathlib import Path
from typing import NamedTuple

from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    compressed,
    payload_batch,
    record_bytes,
    write_log_dir,
)
from support.lakes import Row

_FIRST_MS = 1_700_000_000_000
_COUNT = 3


class Contradiction(NamedTuple):
    """Claims of a header, and the records' offset deltas; None for a value as brokers write it."""

    last_offset_delta: int | None = None
    record_count: int | None = None
    deltas: tuple[int, ...] = (0, 1, 2)
    base_timestamp_ms: int = _FIRST_MS
    max_timestamp_ms: int = _FIRST_MS


CONTRADICTIONS: dict[str, Contradiction] = {
    "last-delta-zero": Contradiction(last_offset_delta=0),
    "last-delta-too-small": Contradiction(last_offset_delta=1),
    "last-delta-negative": Contradiction(last_offset_delta=-1),
    "last-delta-lowest": Contradiction(last_offset_delta=-(2**31)),
    "count-too-high": Contradiction(record_count=4),
    "count-highest": Contradiction(record_count=2**31 - 1),
    "count-too-low": Contradiction(record_count=2),
    "count-one": Contradiction(record_count=1),
    "count-zero": Contradiction(record_count=0),
    "count-negative": Contradiction(record_count=-1),
    "deltas-repeat": Contradiction(deltas=(0, 1, 1)),
    "deltas-all-zero": Contradiction(deltas=(0, 0, 0)),
    "deltas-go-back": Contradiction(deltas=(2, 1, 0)),
    "deltas-negative": Contradiction(deltas=(-2, 0, 1)),
    "deltas-far-negative": Contradiction(deltas=(-9, -8, -7)),
    "deltas-exceed-last": Contradiction(deltas=(0, 1, 4)),
    "deltas-exceed-next-batch": Contradiction(deltas=(0, 1, 7)),
    "deltas-exceed-and-go-back": Contradiction(deltas=(4, 2, 5)),
    "times-of-others": Contradiction(base_timestamp_ms=-5, max_timestamp_ms=7),
}
PLACES = ("first", "second", "third")
TOPIC = "odd"
LOGS = tuple(f"{name}-{place}" for name in CONTRADICTIONS for place in PLACES)
"""Name of each log of `write_contradictions`, by its partition."""


def log_of(odd: Contradiction, place: int, codec: Codec = Codec.NONE) -> list[EncodedBatch]:
    """The three batches of a log; the odd one at a place of 0, 1 or 2."""
    return [
        _batch(number, odd if number == place else Contradiction(), codec)
        for number in range(len(PLACES))
    ]


def write_contradictions(folder: Path, codec: Codec = Codec.NONE) -> None:
    """A log dir with a partition of `TOPIC` for each contradiction at each place: `LOGS`."""
    end = _COUNT * len(PLACES)
    odd_ones = product(CONTRADICTIONS.values(), range(len(PLACES)))
    partitions = [
        Partition(
            *(TOPIC, partition),
            [Segment(0, log_of(odd, place, codec), has_indexes=False)],
            high_watermark=end,
            recovery_point=end,
        )
        for partition, (odd, place) in enumerate(odd_ones)
    ]
    write_log_dir(folder, partitions)


def _batch(number: int, odd: Contradiction, codec: Codec) -> EncodedBatch:
    payload = b"".join(
        record_bytes(Record(None, f"{'abc'[number]}{place}".encode()), delta, place)
        for place, delta in enumerate(odd.deltas)
    )
    count = len(odd.deltas) if odd.record_count is None else odd.record_count
    last_delta = _COUNT - 1 if odd.last_offset_delta is None else odd.last_offset_delta
    header = Header(
        last_offset_delta=last_delta,
        record_count=count,
        base_timestamp_ms=odd.base_timestamp_ms,
        max_timestamp_ms=odd.max_timestamp_ms,
    )
    return payload_batch(number * _COUNT, compressed(payload, codec), header, codec=codec)


def shown(rows: list[Row]) -> str:
    """Offsets and values, as they stand in `GIVEN`."""
    rows = sorted(rows, key=lambda row: row["offset"])
    return " ".join(f"{row['offset']}{row['value'].decode()}" for row in rows)
