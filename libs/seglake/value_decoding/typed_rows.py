"""Rows of the typed tables and of `value_rejects`, from records and their decoded parts."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seglake.lake.arranged import arranged
from seglake.lake.parquet_rows import whole_column
from seglake.lake.tables import HEADERS_TYPE, Table
from seglake.lake.typed_tables import PLACE_FIELDS
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.value_decoding.decoded_parts import DecodedPart
from seglake.value_decoding.rows_task import those
from seglake.value_decoding.typings import KEY_COLUMN

RECORD_COLUMNS = (
    *("topic_id", "timestamp", "timestamp_ms", "transaction_state", "headers", "key", "value"),
)
"""Columns of `records` that rows of typed tables and of `value_rejects` are made of."""

_REJECT_PLACES = ("source_id", "topic_id", "partition", "offset", "timestamp")


class Stamp(NamedTuple):
    """Run and commit of rows."""

    run_id: str
    generation: int


def typed_rows(
    rows: pa.Table,
    table: Table,
    chosen: NDArray[np.bool_],
    parts: tuple[DecodedPart | None, DecodedPart],
    index: int,
    stamp: Stamp,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a typed table, in the order of the records.

    Args:
        rows: records.
        table: the table.
        chosen: flags of the records that belong to the table.
        parts: the records' values, and their keys (None if keys are not decoded).
        index: index of the table among those of the topic.
        stamp: the run and the commit.
    """
    if not chosen.any():
        return
    key, value = parts
    some = those(rows, chosen)
    columns = _places(some, value, chosen, stamp)
    columns["_key_schema_id"] = _ids(key, chosen)
    columns["_key_raw"] = _raw_keys(some, key, chosen)
    if key is None:
        columns[KEY_COLUMN] = whole_column(some.column("key"))
    else:
        columns |= _spread(key.values[0], key.tables == 0, chosen)
    columns |= _spread(value.values[index], value.tables == index, chosen)
    arrays = [
        _of_type(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(some.num_rows, field.type)
        for field in table.schema
    ]
    yield pa.RecordBatch.from_arrays(arrays, names=table.schema.names)


# Any: columns have values of many types.
def _of_type(column: Any, kind: Any) -> Any:
    """Return a column with the fields of a type; a dictionary stays one, since files have them."""
    return column if pa.types.is_dictionary(column.type) else arranged(column, kind)


# Any: columns have values of many types.
def _places(
    some: pa.Table, value: DecodedPart, chosen: NDArray[np.bool_], stamp: Stamp
) -> dict[str, Any]:
    """Return the columns that locate the records."""
    names = {field.name for field in PLACE_FIELDS}
    found: dict[str, Any] = {
        f"_{name}": whole_column(some.column(name))
        for name in some.column_names
        if f"_{name}" in names
    }
    found["_headers"] = whole_column(some.column("headers")).cast(HEADERS_TYPE)
    found["_run_id"] = constant(stamp.run_id, some.num_rows)
    found["_tombstone"] = pa.array(value.is_null[chosen])
    found["_schema_id"] = _ids(value, chosen)
    found["_schema_guid"] = _guids(value, chosen)
    return found


def constant(text: str, count: int) -> Any:
    """Return an array with a text that often, as a dictionary."""
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [text])


def _ids(part: DecodedPart | None, chosen: NDArray[np.bool_]) -> Any:
    if part is None:
        return pa.nulls(int(chosen.sum()), pa.int32())
    ids = part.ids[chosen]
    return pa.array(ids.astype(np.int32), pa.int32(), mask=ids < 0)


def _guids(part: DecodedPart, chosen: NDArray[np.bool_]) -> Any:
    rows = np.flatnonzero(chosen)
    if not part.guids:
        return pa.nulls(len(rows), pa.string())
    return pa.array([part.guids.get(row) for row in rows.tolist()], pa.string())


def _raw_keys(some: pa.Table, key: DecodedPart | None, chosen: NDArray[np.bool_]) -> Any:
    """Return the bytes of keys that do not decode; null for other keys."""
    if key is None:
        return pa.nulls(some.num_rows, pa.binary())
    is_bad = key.are_rejected[chosen]
    whole = whole_column(some.column("key"))
    return pc.if_else(pa.array(is_bad), whole, pa.scalar(None, pa.binary()))


def _spread(
    values: Any, has_values: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> dict[str, Any]:
    """Return columns for the chosen records; null for those without a value."""
    if has_values.all() and chosen.all():
        return {field.name: values.field(number) for number, field in enumerate(values.type)}
    places = np.cumsum(has_values) - 1
    indexes = pa.array(places[chosen], mask=~has_values[chosen])
    return {
        field.name: values.field(number).take(indexes) for number, field in enumerate(values.type)
    }


def reject_rows(
    rows: pa.Table, part: str, found: DecodedPart, stamp: Stamp, max_raw_bytes: int
) -> pa.RecordBatch | None:
    """Return the rows of `value_rejects` for keys or values; None if all decode."""
    is_bad = found.are_rejected
    if not is_bad.any():
        return None
    some = rows.filter(pa.array(is_bad))
    raw = whole_column(some.column(part)).to_pylist()
    positions = found.positions[is_bad]
    columns = {
        "reason": pa.array(found.reject_reasons(), pa.string()),
        "position": pa.array(positions, mask=positions < 0),
        "schema_id": _ids(found, is_bad),
        "schema_guid": _guids(found, is_bad),
        "raw": pa.array([value[:max_raw_bytes] for value in raw], pa.binary()),
        "raw_is_complete": pa.array([len(value) <= max_raw_bytes for value in raw]),
    }
    return rows_of_rejects(some, part, stamp, columns)


# Any: columns have values of many types.
def rows_of_rejects(
    some: pa.Table, part: str, stamp: Stamp, columns: Mapping[str, Any]
) -> pa.RecordBatch:
    """Return rows of `value_rejects` for the keys or values of records.

    Args:
        some: the records.
        part: "key" or "value".
        stamp: the run and the commit.
        columns: the columns that say something of each reject; others are null.
    """
    count = some.num_rows
    columns = {
        **{name: whole_column(some.column(name)) for name in _REJECT_PLACES},
        "record_generation": whole_column(some.column("generation")),
        "part": constant(part, count),
        "run_id": constant(stamp.run_id, count),
        "generation": pa.array(np.full(count, stamp.generation)),
        **columns,
    }
    arrays = [columns.get(f.name, pa.nulls(count, f.type)) for f in VALUE_REJECTS.file_schema]
    return pa.RecordBatch.from_arrays(arrays, names=VALUE_REJECTS.file_schema.names)
