"""Checks salvaged rows against their damage in `quarantine`. On the driver. Effect: reads.

No salvaged row can be in `records`: each record needs its batch in `batches`, which has no damaged
ones, and the ledger's sums leave no room for more (`record_checks`, `sums`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.parquet_rows import plain_texts, read_rows
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage

_SALVAGED = ("crc_mismatch", "inner_crc_mismatch", "replica_conflict")
_PLACE = ("source_id", "topic", "partition", "broker_id", "segment", "position", "raw_sha256")
_GROUP = (*_PLACE, "generation", "topic_id", "defect_code")
_AGGREGATES = ("offset_min", "offset_max", "offset_count", "offset_count_distinct")
_OF_LOSING = ("source_id", "topic", "topic_id", "partition", "raw_sha256")
_LOSING = "replica_conflict"
_MOST_EXAMPLES = 5


class SalvagedSums(NamedTuple):
    """Numbers of rows and batches in `salvaged_records` whose damage no repair has resolved."""

    records: int = 0
    batches: int = 0


NOTHING_SALVAGED = SalvagedSums()


class _Piece(NamedTuple):
    """Salvaged rows of one batch in one row group, ordered by offset."""

    least: int
    greatest: int
    row_count: int
    distinct_count: int


@dataclass(slots=True)
class _Batch:
    """The salvaged rows of one damaged batch, and its facts in `quarantine`."""

    topic: str
    once_by: tuple[Any, ...]
    pieces: list[_Piece] = field(default_factory=list)
    bounds: tuple[int | None, int | None] | None = None  # None: it has no row in quarantine
    resolved_by: int = -1


def salvage_findings(
    storage: Storage, salvaged: Sequence[str], quarantine: Sequence[str]
) -> tuple[SalvagedSums, list[str]]:
    """Return the sums of salvaged rows, and the problems in words.

    Args:
        salvaged, quarantine: data files of the two tables.
    """
    try:
        batches = _batches(storage, salvaged)
        if batches:
            _add_damage(storage, quarantine, batches)
    except StorageError as error:
        return NOTHING_SALVAGED, [str(error)]
    standing = [
        batch for (*_, generation), batch in batches.items() if batch.resolved_by < generation
    ]
    records = sum(piece.row_count for batch in standing for piece in batch.pieces)
    return SalvagedSums(records, len(standing)), [*_problems(batches)]


def _batches(storage: Storage, paths: Sequence[str]) -> dict[tuple[Any, ...], _Batch]:
    """Return the salvaged batches by place and generation."""
    batches: dict[tuple[Any, ...], _Batch] = {}
    for path in paths:
        for rows in read_rows(storage, path, [*_GROUP, "offset"]):
            for row in _grouped(rows):
                place = tuple(row[name] for name in (*_PLACE, "generation"))
                topic = f"{row['topic']}-{row['partition']}"
                batch = batches.setdefault(place, _Batch(topic, _once_by(place, row)))
                batch.pieces.append(_Piece(*(row[name] for name in _AGGREGATES)))
    return batches


def _once_by(place: tuple[Any, ...], row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a batch's unique values; copies of it on several losing replicas share them."""
    if row["defect_code"] != _LOSING:
        return place
    return tuple(row[name] for name in _OF_LOSING)


def _grouped(rows: pa.Table) -> list[dict[str, Any]]:
    """Return one row for each batch, with the aggregates of its offsets."""
    grouped = plain_texts(rows).group_by([*_GROUP], use_threads=False)
    aggregated = grouped.aggregate(
        [("offset", "min"), ("offset", "max"), ("offset", "count"), ("offset", "count_distinct")]
    )
    return aggregated.to_pylist()


def _add_damage(
    storage: Storage, paths: Sequence[str], batches: Mapping[tuple[Any, ...], _Batch]
) -> None:
    """Add to each batch the sound offsets around it, and the commit that resolved it."""
    by_place: dict[tuple[Any, ...], list[_Batch]] = {}
    for identity, batch in batches.items():
        by_place.setdefault(identity[:-1], []).append(batch)
    columns = [*_PLACE, "generation", "resolution", "defect_code", "previous_offset", "next_offset"]
    for path in paths:
        for row in _rows(storage, path, columns):
            place = tuple(row[name] for name in _PLACE)
            if row["resolution"] is not None:
                for batch in by_place.get(place, ()):
                    batch.resolved_by = max(batch.resolved_by, row["generation"])
            elif row["defect_code"] in _SALVAGED:
                found = batches.get((*place, row["generation"]))
                if found is not None:
                    found.bounds = row["previous_offset"], row["next_offset"]


def _rows(storage: Storage, path: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for rows in read_rows(storage, path, columns):
        yield from rows.to_pylist()


def _problems(batches: Mapping[tuple[Any, ...], _Batch]) -> Iterator[str]:
    alone, outside = [], []
    for batch in batches.values():
        if batch.bounds is None:
            alone.append(batch.topic)
            continue
        low, high = batch.bounds
        is_low = low is not None and min(piece.least for piece in batch.pieces) <= low
        if is_low or (high is not None and max(piece.greatest for piece in batch.pieces) >= high):
            outside.append(batch.topic)
    for found, words in (
        (alone, "without a row in quarantine"),
        ([*_doubled(batches.values())], "salvaged more than once"),
        (outside, "at offsets of the sound batches around them"),
    ):
        if found:
            names = ", ".join(sorted({*found})[:_MOST_EXAMPLES])
            yield f"salvaged_records has {len(found)} quarantined batches {words}: {names}"


def _doubled(batches: Iterable[_Batch]) -> Iterator[str]:
    """Yield the partition of each batch with more than one row for an offset."""
    rows: dict[tuple[Any, ...], list[_Batch]] = {}
    for batch in batches:
        rows.setdefault(batch.once_by, []).append(batch)
    for same in rows.values():
        pieces = sorted(piece for batch in same for piece in batch.pieces)
        overlap = any(second.least <= first.greatest for first, second in pairwise(pieces))
        if overlap or any(piece.distinct_count < piece.row_count for piece in pieces):
            yield same[0].topic
