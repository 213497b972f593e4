"""Salvaged rows against the damage that they come from. On the driver. Effect: reads.

No row of `records` can be one of them: each has its batch in `batches`, which a damaged batch is
not, and the sums of the ledger have no room for another (`record_checks`, `sums`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from seglake.lake.parquet_rows import read_rows
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage

_SALVAGED = ("crc_mismatch", "inner_crc_mismatch", "replica_conflict")
_PLACE = ("source_id", "topic", "partition", "broker_id", "segment", "position", "raw_sha256")
_MOST_EXAMPLES = 5


class SalvagedSums(NamedTuple):
    """Rows of `salvaged_records` and their batches, of damage that no repair has made good."""

    records: int = 0
    batches: int = 0


NOTHING_SALVAGED = SalvagedSums()


@dataclass(slots=True)
class _Batch:
    """The salvaged rows of one damaged batch, and what `quarantine` says of it."""

    topic: str
    offsets: list[int] = field(default_factory=list)
    bounds: tuple[int | None, int | None] | None = None  # None: it has no row in quarantine
    resolved_by: int = -1


def salvage_findings(
    storage: Storage, salvaged: Sequence[str], quarantine: Sequence[str]
) -> tuple[SalvagedSums, list[str]]:
    """Return what was salvaged, and the problems in words.

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
    records = sum(len(batch.offsets) for batch in standing)
    return SalvagedSums(records, len(standing)), [*_problems(batches)]


def _batches(storage: Storage, paths: Sequence[str]) -> dict[tuple[Any, ...], _Batch]:
    """Return the salvaged batches by place and generation."""
    batches: dict[tuple[Any, ...], _Batch] = {}
    columns = [*_PLACE, "generation", "offset"]
    for path in paths:
        for row in _rows(storage, path, columns):
            identity = tuple(row[name] for name in columns[:-1])
            batch = batches.setdefault(identity, _Batch(f"{row['topic']}-{row['partition']}"))
            batch.offsets.append(row["offset"])
    return batches


def _add_damage(
    storage: Storage, paths: Sequence[str], batches: Mapping[tuple[Any, ...], _Batch]
) -> None:
    """Note of each batch the sound offsets around it, and the commit that made it good."""
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
    alone, twice, outside = [], [], []
    for batch in batches.values():
        if len({*batch.offsets}) < len(batch.offsets):
            twice.append(batch.topic)
        if batch.bounds is None:
            alone.append(batch.topic)
            continue
        low, high = batch.bounds
        is_low = low is not None and min(batch.offsets) <= low
        if is_low or (high is not None and max(batch.offsets) >= high):
            outside.append(batch.topic)
    for found, words in (
        (alone, "without a row in quarantine"),
        (twice, "salvaged more than once"),
        (outside, "at offsets of the sound batches around them"),
    ):
        if found:
            names = ", ".join(sorted({*found})[:_MOST_EXAMPLES])
            yield f"salvaged_records has {len(found)} quarantined batches {words}: {names}"
