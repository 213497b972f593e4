"""Keys, values and headers of records, from Arrow columns to arrays of bytes."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seglake.lake.parquet_rows import whole_column
from seglake.value_codec.bodies import Bodies
from seglake.value_codec.frames.forms import APICURIO_HEADERS, HEADERS

_LONG_ID_BYTES = 8


class RecordPart(NamedTuple):
    """Keys or values of some records.

    Attributes:
        rows: index of the record of each body; records with null are omitted.
        bodies: the keys or values.
        headers: last header with a schema id, by the index of its body.
    """

    rows: NDArray[np.int64]
    bodies: Bodies
    headers: dict[int, bytes]


def part_of(rows: pa.Table, part: str) -> RecordPart:
    """Return the keys or values of records, given the columns "headers" and "key" or "value"."""
    found, bodies = bodies_of(rows.column(part))
    by_record: dict[int, bytes] = {}
    for name in APICURIO_HEADERS[part]:
        ids = last_headers(rows.column("headers"), name)
        by_record |= {row: _with_short_id(found) for row, found in ids.items()}
    by_record |= last_headers(rows.column("headers"), HEADERS[part])
    headers = {}
    if by_record:
        records = np.fromiter(by_record, np.int64, len(by_record))
        for row in np.flatnonzero(np.isin(found, records)).tolist():
            headers[row] = by_record[int(found[row])]
    return RecordPart(found, bodies, headers)


def _with_short_id(header: bytes) -> bytes:
    """Return Apicurio's header in Confluent's form, if the id has at most 32 bits."""
    is_short = len(header) == _LONG_ID_BYTES and not any(header[:4])
    return b"\0" + (header[4:] if is_short else header)


# Any: pyarrow's stubs do not know the type of a column.
def bodies_of(values: Any) -> tuple[NDArray[np.int64], Bodies]:
    """Return the row numbers of a binary column's values that are not null, and their bytes.

    The bytes are not copied if the column has one chunk.
    """
    whole: Any = whole_column(values) if isinstance(values, pa.ChunkedArray) else values
    _, limits, content = whole.buffers()
    count = len(whole)
    edges = np.zeros(1, np.int32) if limits is None else np.frombuffer(limits, np.int32)
    limits = edges[whole.offset : whole.offset + count + 1].astype(np.int64)
    found = Bodies(np.frombuffer(content or b"", np.uint8), limits[:-1], limits[1:])
    if not whole.null_count:
        return np.arange(count), found
    rows = np.flatnonzero(whole.is_valid().to_numpy(zero_copy_only=False))
    return rows, found.of(rows)


def last_headers(headers: Any, name: str) -> dict[int, bytes]:
    """Return, by row, the value of the last header with a certain name that is not null."""
    found: dict[int, bytes] = {}
    first = 0
    for chunk in headers.chunks:
        parents = pc.list_parent_indices(chunk).to_numpy()
        pairs: Any = pc.list_flatten(chunk)
        keys: Any = pairs.field("key").cast(pa.binary())  # a name may not be UTF-8
        is_named = np.array(keys.to_pylist(), object) == name.encode()
        for index in np.flatnonzero(is_named):
            value = pairs.field("value")[int(index)].as_py()
            if value is not None:
                found[first + int(parents[index])] = value
        first += len(chunk)
    return found
