"""Chooses rejected records that decode now, and makes rows that resolve their rejects."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.parquet_rows import numbers
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.value_decoding.decoded_parts import DecodedPart
from seglake.value_decoding.rows_task import RecordOffsets
from seglake.value_decoding.typed_rows import Stamp, record_places

RESOLVED = "decoded"


def are_of(rows: pa.Table, offsets: RecordOffsets) -> NDArray[np.bool_]:
    """Return which records have one of these offsets in their attempt."""
    found = np.zeros(rows.num_rows, np.bool_)
    ids = np.array(rows.column("topic_id").cast(pa.string()).to_pylist(), object)
    places = {name: numbers(rows, name) for name in ("partition", "generation", "offset")}
    for attempt, some in offsets.items():
        own = (places["partition"] == attempt.partition) & (ids == attempt.topic_id)
        own &= places["generation"] == attempt.generation
        found |= own & np.isin(places["offset"], [*some])
    return found


def decode_by_now(value: DecodedPart) -> NDArray[np.bool_]:
    """Return which values have no reason for a reject."""
    return ~value.are_rejected


def resolved_rows(
    rows: pa.Table, part: str, chosen: NDArray[np.bool_], stamp: Stamp
) -> pa.RecordBatch | None:
    """Return the rows that resolve the rejects of the chosen records; None if there are none."""
    if not chosen.any():
        return None
    some = rows.filter(pa.array(chosen))
    schema, count = VALUE_REJECTS.file_schema, some.num_rows
    # Any: columns have values of many types.
    columns: Mapping[str, Any] = {
        **record_places(some),
        "part": pa.array([part] * count, pa.string()),
        "resolution": pa.array([RESOLVED] * count, pa.string()),
        "run_id": pa.array([stamp.run_id] * count, pa.string()),
        "generation": pa.array([stamp.generation] * count, pa.int64()),
    }
    arrays = [
        columns[field.name] if field.name in columns else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)
