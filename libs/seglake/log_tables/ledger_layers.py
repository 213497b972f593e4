"""Computes the current and superseded ranges of a partition's ledger.

After a lost election, Kafka truncates a log at the offset where it diverges from the winner's log.
The ledger keeps the old rows and adds a row of kind `superseded`. In this row's offset range, rows
of earlier commits (with lower generations) are no longer valid.

Rows of the kinds `erased` and `expired` have the sums of removed rows. Each of these rows belongs
to one range of one commit, which its `upper_bound` names, and to one side of each election. An
`expired` row that names no commit is the expired range: all rows that start in it are removed, or
will be.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange, merged, without

Row = Mapping[str, Any]  # Any: the ledger's columns have many types


class RangeKind(StrEnum):
    """Kind of a ledger row: what a run did with its offsets."""

    INGEST = "ingest"  # offsets ingested for the first time
    REPAIR = "repair"  # gap that another copy has filled, completely or in part
    REFILL = "refill"  # compacted offsets that an older copy has filled, completely or in part
    SUPERSEDED = "superseded"  # offsets whose rows of earlier commits lost an election
    RETAKE = "retake"  # superseded offsets, ingested again
    RELEASED = "released"  # superseded offsets above the end of the winning log
    # records that `seglake erase` removed, or that an ingest skipped by an erasure rule
    ERASED = "erased"
    EXPIRED = "expired"  # offsets at the log's start whose rows retention removed


INGESTED = (RangeKind.INGEST, RangeKind.RETAKE)
"""Kinds of ledger rows whose offsets count as ingested."""

FILLS = (RangeKind.REPAIR, RangeKind.REFILL)
"""Kinds of ledger rows for rows added inside covered ranges."""

REMOVALS = (RangeKind.ERASED, RangeKind.EXPIRED)
"""Kinds of ledger rows that sum up removed rows."""

ENDS_GAPS = (*FILLS, RangeKind.SUPERSEDED, RangeKind.EXPIRED)
"""Kinds of ledger rows that resolve all earlier gaps that start in their range."""

_GENERATION = "generation "

# In one commit, offsets are superseded first, then ingested again, then released.
_ORDER = {RangeKind.SUPERSEDED: -1, RangeKind.RELEASED: 1}


# Any: the ledger's columns have many types.
def empty_row(kind: RangeKind, offsets: OffsetRange) -> dict[str, Any]:
    """Return a ledger row of a range without records; its commit adds the other columns."""
    counts = ("records", "batches", "quarantined_batches", "bytes", "key_bytes", "value_bytes")
    return {
        **dict.fromkeys(counts, 0),
        "kind": str(kind),
        "start_offset": offsets[0],
        "next_offset": offsets[1],
        "offset_sum": Decimal(0),
    }


class Layers(NamedTuple):
    """Current ranges of a partition, and superseded ranges not ingested again; merged."""

    current: list[OffsetRange]
    superseded: list[OffsetRange]


def layers_of(rows: Iterable[Row]) -> Layers:
    """Compute the layers of a partition from its ledger rows, in any order."""
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


def commit_name(generation: int) -> str:
    """Return the `upper_bound` of a removal's ledger row: it names the removed rows' commit."""
    return f"{_GENERATION}{generation}"


def removed_generation(row: Row) -> int | None:
    """Return the commit that added a row's removed rows; None if the row names none."""
    name = row["upper_bound"]
    is_named = name is not None and name.startswith(_GENERATION)
    return int(name.removeprefix(_GENERATION)) if is_named else None


def removed_rows_count(row: Row, rows: Iterable[Row]) -> int:
    """Return how many current records a ledger row of a removal removed.

    Rows that had lost an election before the removal are not counted.

    Args:
        row: row of kind `erased` or `expired`.
        rows: all ledger rows of the partition.
    """
    removed = removed_generation(row)
    was_lost = removed is not None and any(
        other["kind"] == RangeKind.SUPERSEDED
        and removed < other["generation"] < row["generation"]
        and other["start_offset"] <= row["start_offset"] < other["next_offset"]
        for other in rows
    )
    count: int = row["records"] or 0
    return 0 if was_lost else count


def record_sum(rows: Sequence[Row]) -> int:
    """Return the number of records of a partition that are in the lake and lost no election.

    Args:
        rows: all ledger rows of the partition, in any order.
    """
    total = 0
    for row in rows:
        if row["kind"] in REMOVALS:
            total -= removed_rows_count(row, rows)
        else:
            total += (-1 if row["kind"] == RangeKind.SUPERSEDED else 1) * (row["records"] or 0)
    return total


def _order(row: Row) -> tuple[int, int]:
    """Return the sort key of rows: generation, then the order within a commit."""
    return row["generation"], _ORDER.get(row["kind"], 0)
