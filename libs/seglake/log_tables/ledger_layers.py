"""Valid ranges of a partition's ledger after lost elections. Pure.

Kafka truncates a log that lost an election where it diverges from the winner. The ledger does the
same, and keeps the old rows: a row of kind `superseded` invalidates the offsets of its range in all
rows of lower generations.
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
    REFILL = "refill"  # compacted offsets, filled as far as another copy still had them
    SUPERSEDED = "superseded"  # rows of earlier generations here lost an election
    RETAKE = "retake"  # superseded offsets, ingested again
    RELEASED = "released"  # superseded offsets above the end of the winning log


INGESTED = (RangeKind.INGEST, RangeKind.RETAKE)
"""Kinds of ranges that cover offsets."""

FILLS = (RangeKind.REPAIR, RangeKind.REFILL)
"""Kinds of ranges that add rows inside covered ranges."""

ENDS_GAPS = (RangeKind.REPAIR, RangeKind.REFILL, RangeKind.SUPERSEDED)
"""Kinds of ranges that resolve the earlier gaps starting in them."""

# Order within one commit: it may retake offsets that it supersedes, and release the others.
_ORDER = {RangeKind.SUPERSEDED: -1, RangeKind.RELEASED: 1}


class Layers(NamedTuple):
    """Merged ranges with current rows, and merged ranges that are superseded and not retaken."""

    current: list[OffsetRange]
    superseded: list[OffsetRange]


def layers_of(rows: Iterable[Row]) -> Layers:
    """Return the layers of one partition from its rows of the ledger, in any order."""
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
    """Return the sort key of rows: generation, then the order within a commit."""
    return row["generation"], _ORDER.get(row["kind"], 0)
