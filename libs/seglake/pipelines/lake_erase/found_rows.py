"""Finds the rows to erase in a data file. Runs in tasks.

The search reads only the column of keys, or the columns that the condition needs. Further columns
are read only from row groups with a match.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seglake.lake.parquet_rows import is_one_of, plain_texts, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import RECORDS, Table
from seglake.log_tables.erasure_rules import Place, hash_of_record
from seglake.pipelines.lake_erase.condition import Condition
from seglake.storage.storage import Storage

_PLACES = ("source_id", "topic_id", "partition", "offset", "batch_base_offset", "generation")

_PAYLOADS = ("key", "value")

Mask = NDArray[np.bool_]


class Requested(NamedTuple):
    """Selection of records to erase: by key, or by a condition.

    Attributes:
        salts: salt of the hashes of records, by topic; the keys are the topics.
        with_undecodable: whether damaged bytes that cannot be searched count as requested.
    """

    key: bytes | None
    condition: Condition | None
    salts: Mapping[str, bytes]
    with_undecodable: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of `records` that the search must read."""
        return ("key",) if self.condition is None else self.condition.columns

    def matches(self, rows: pa.Table) -> Mask:
        """Return for each row of `records`, with the columns `columns`, whether it is requested."""
        if self.condition is not None:
            return self.condition.matches(plain_texts(rows))
        # Any: pyarrow's stubs do not know the column's type.
        is_equal: Any = pc.equal(
            rows.column("key").cast(pa.binary()), pa.scalar(self.key, pa.binary())
        )
        mask: Mask = is_equal.fill_null(False).to_numpy()
        return mask


class FoundRows(NamedTuple):
    """Rows of a data file to erase, with one element for each row.

    Attributes:
        rows: positions of the rows in the file, rising.
        places: `source_id`, `topic_id`, `topic`, `partition`, `offset` and `generation`, and
            `key_bytes`, `value_bytes` and `hash` of each record. The hash is null for a request by
            key.
        undecodable: number of damaged batches that could not be searched, by partition.
        failure: why the condition could not be evaluated; empty if it was.
    """

    rows: NDArray[np.int64]
    places: pa.Table
    undecodable: Mapping[str, int] = {}
    failure: str = ""


PLACE_SCHEMA = pa.schema(
    [
        *(pa.field(name, RECORDS.schema.field(name).type) for name in (*_PLACES, "topic")),
        pa.field("key_bytes", pa.int64()),
        pa.field("value_bytes", pa.int64()),
        pa.field("hash", pa.binary()),
    ]
)


def find_rows(storage: Storage, table: Table, requested: Requested, file: StoredFile) -> FoundRows:
    """Return the rows of a file that are to be erased.

    Args:
        storage: the storage of the file.
        table: `records`, or a table with its columns.
        requested: the records to erase.
        file: the file; its rows name their topics if it has none.

    Raises:
        StorageError: the file cannot be read.
        ConditionFailedError: the condition fails on a record.
    """
    found = [np.zeros(0, np.int64)]
    places = [PLACE_SCHEMA.empty_table()]
    first = 0
    of_rows = () if file.topic else ("topic",)
    of_file = [name for name in requested.columns if name in table.file_schema.names]
    columns = list(dict.fromkeys([*of_file, "offset", *of_rows]))
    for index, rows in enumerate(read_rows(storage, file.path, columns)):
        mask = requested.matches(_with_topic(rows, file.topic))
        if not file.topic:
            mask &= is_one_of(rows, "topic", requested.salts)
        if mask.any():
            found.append(np.flatnonzero(mask) + first)
            all_columns = [*_PLACES, *_PAYLOADS, *of_rows]
            (whole,) = read_rows(storage, file.path, all_columns, group=index)
            chosen = _with_topic(whole.filter(pa.array(mask)), file.topic)
            places.append(places_of(chosen, requested))
        first += rows.num_rows
    return FoundRows(np.concatenate(found), pa.concat_tables(places))


def _with_topic(rows: pa.Table, topic: str | None) -> pa.Table:
    """Return rows with the column `topic`, which files of partitioned tables lack."""
    if not topic:
        return rows
    return rows.append_column("topic", pa.array([topic] * rows.num_rows, pa.string()))


def places_of(found: pa.Table, requested: Requested) -> pa.Table:
    """Return positions, sizes and hashes of requested records, given as rows of `records`."""
    rows = plain_texts(found.select([*_PLACES, *_PAYLOADS, "topic"]))
    hashes: list[bytes | None] = [None] * rows.num_rows
    if requested.condition is not None:
        hashes = [*_hashes(rows, requested.salts)]
    # Any: columns have many types.
    columns: dict[str, Any] = {name: rows.column(name) for name in (*_PLACES, "topic")}
    columns |= {f"{name}_bytes": _lengths(rows, name) for name in _PAYLOADS}
    columns["hash"] = pa.array(hashes, pa.binary())
    return pa.table(columns).select(PLACE_SCHEMA.names).cast(PLACE_SCHEMA)


def _lengths(rows: pa.Table, name: str) -> Any:
    """Return the length of each value in bytes; 0 for null."""
    # Any: pyarrow's stubs do not know the column's type.
    column: Any = rows.column(name).cast(pa.binary())
    lengths: Any = pc.binary_length(column)
    return lengths.cast(pa.int64()).fill_null(0)


def _hashes(rows: pa.Table, salts: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield the hash of each record, with the salt of its topic."""
    for row in rows.select(["topic", "partition", "offset", "key", "value"]).to_pylist():
        place = Place(row["partition"], row["offset"])
        yield hash_of_record(salts[row["topic"]], place, row["key"], row["value"])
