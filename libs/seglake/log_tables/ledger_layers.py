"""Valid ranges of a partition's ledger after lost elections. Pure.

Kafka cuts a log that lost an election where it parts from the one that won. The ledger does the
same, and keeps the old rows: a row of kind `superseded` takes the offsets of its range away from
all rows of smaller generations.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange, merged, without

Row = Mapping[str, Any]  # Any: the ledger's columns have many types


class RangeKind(StrEnum):
    """Kind of a row in the ledger."""

    INGEST = "ingest"  # offsets ingested for the first time
    REPAIR = "repair"  # a gap, filled as far as another copy could
    REFILL = "refill"  # what the cleaner removed elsewhere, as far as another copy still had it
    SUPERSEDED = "superseded"  # what earlier generations have here lost an election
    RETAKE = "retake"  # superseded offsets, ingested again
    RELEASED = "released"  # superseded offsets that the log which won does not reach


INGESTED = (RangeKind.INGEST, RangeKind.RETAKE)
"""Kinds of ranges that cover offsets."""

FILLS = (RangeKind.REPAIR, RangeKind.REFILL)
"""Kinds of ranges that add rows inside covered ranges."""

ENDS_GAPS = (RangeKind.REPAIR, RangeKind.REFILL, RangeKind.SUPERSEDED)
"""Kinds of ranges that resolve the earlier gaps starting in them."""

# Of one commit: what it supersedes it may retake, and release the rest of.
_ORDER = {RangeKind.SUPERSEDED: -1, RangeKind.RELEASED: 1}


class Layers(NamedTuple):
    """Ranges of offsets, merged: what rows stand for, and what is superseded and not retaken."""

    current: list[OffsetRange]
    superseded: list[OffsetRange]


def layers_of(rows: Iterable[Row]) -> Layers:
    """Return the layers of one partition, of which `rows` are the ledger's, in any order."""
    current: list[OffsetRange] = []
    superseded: list[OffsetRange] = []
    for row in sorted(rows, key=_order):
        offsets = row["start_offset"], row["next_offset"]
        match row["kind"]:
            case RangeKind.SUPERSEDED:
                current = without(merged(current), offsets)
                superseded = merged([*superseded, offsets])
            case RangeKind.RELEASED:
                superseded = without(superseded, offsets)
            case RangeKind.RETAKE:
                current.append(offsets)
                superseded = without(superseded, offsets)
            case RangeKind.INGEST:
                current.append(offsets)
    return Layers(merged(current), superseded)


def _order(row: Row) -> tuple[int, int]:
    return row["generation"], _ORDER.get(row["kind"], 0)
