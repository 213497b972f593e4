"""Finds rows of other tables that come from given records, by the records' positions."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.grouping import grouped
from seglake.lake.parquet_rows import (
    Within,
    columns_of,
    distinct_rows,
    numbers,
    plain_texts,
)
from seglake.lake.place_columns import PlaceColumns, place_columns
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import RECORDS
from seglake.pipelines.lake_erase.rewritten_files import Positions, positions_in
from seglake.storage.storage import Storage

_NUMBERS = 3  # columns: partition, generation, offset
_OF_RECORDS = place_columns(RECORDS)
_SNAPSHOT = "snapshot"  # offsets of a snapshot's rows count within the snapshot


class RecordPlaces(NamedTuple):
    """Positions of erased records of one topic, to find the rows that come from them.

    Attributes:
        by_topic: partition, generation and offset of each record, of shape (n, 3), by source and
            topic id; a topic that was created again has another id and the same offsets.
    """

    by_topic: dict[tuple[str, str | None], NDArray[np.int64]]

    @classmethod
    def of(cls, places: pa.Table) -> "RecordPlaces":
        """Make the instance from columns of `found_rows.PLACE_SCHEMA`."""
        found: dict[tuple[str, str | None], NDArray[np.int64]] = {}
        for row in distinct_rows(places, ("source_id", "topic_id")):
            topic = row["source_id"], row["topic_id"]
            found[topic] = _numbers(places, _OF_RECORDS)[_is_of(places, _OF_RECORDS, *topic)]
        return cls(found)

    def plus(self, other: "RecordPlaces") -> "RecordPlaces":
        """Return the positions of these and other records."""
        found = grouped([*self.by_topic.items(), *other.by_topic.items()])
        return RecordPlaces({topic: np.concatenate(parts) for topic, parts in found.items()})

    def may_be_in(self, file: StoredFile, columns: PlaceColumns) -> bool:
        """Return whether a file may have rows of the records, according to its statistics."""
        names = (columns.partition, columns.generation, columns.offset)
        return any(
            file.may_hold(
                Within(name, int(numbers_of.min()), int(numbers_of.max()))
                for name, numbers_of in zip(names, found.T, strict=True)
            )
            for found in self.by_topic.values()
            if len(found)
        )

    def mask(self, rows: pa.Table, columns: PlaceColumns) -> NDArray[np.bool_]:
        """Return for each row whether it comes from one of the records."""
        chosen = np.zeros(rows.num_rows, np.bool_)
        found = _numbers(rows, columns)
        for topic, requested in self.by_topic.items():
            chosen |= _is_of(rows, columns, *topic) & np.isin(_packed(found), _packed(requested))
        return chosen


def find_placed(
    storage: Storage, columns: PlaceColumns, records: RecordPlaces, file: StoredFile
) -> Positions:
    """Return the rising positions of a file's rows that come from the records.

    Raises:
        StorageError: the file cannot be read.
    """
    has_snapshots = _SNAPSHOT in columns_of(storage, file.path).names

    def mask_of(rows: pa.Table) -> NDArray[np.bool_]:
        mask = records.mask(rows, columns)
        if has_snapshots:
            is_null = [value is None for value in rows.column(_SNAPSHOT).to_pylist()]
            mask &= np.array(is_null, np.bool_)
        return mask

    names = [*columns.names(), *([_SNAPSHOT] if has_snapshots else [])]
    return positions_in(storage, file.path, names, mask_of)


def _numbers(rows: pa.Table, columns: PlaceColumns) -> NDArray[np.int64]:
    """Return partition, generation and offset of each row, of shape (n, 3)."""
    names = (columns.partition, columns.generation, columns.offset)
    return np.stack([numbers(rows, name) for name in names], axis=1)


def _packed(found: NDArray[np.int64]) -> NDArray[np.void]:
    """Return each row of the array as one comparable value."""
    kind = np.dtype([(str(index), np.int64) for index in range(_NUMBERS)])
    packed: NDArray[np.void] = np.ascontiguousarray(found).view(kind).reshape(-1)
    return packed


def _is_of(
    rows: pa.Table, columns: PlaceColumns, source_id: str, topic_id: str | None
) -> NDArray[np.bool_]:
    """Return which rows have the given source and topic id; the topic id may be null."""
    texts = plain_texts(rows.select([columns.source_id, columns.topic_id]))
    found = zip(*(column.to_pylist() for column in texts.columns), strict=True)
    return np.array([each == (source_id, topic_id) for each in found], np.bool_)
