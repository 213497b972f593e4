"""Chooses rejected records that decode now, and makes rows that resolve their rejects."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.parquet_rows import numbers
from seglake.value_decoding.rows_task import RecordOffsets
from seglake.value_decoding.typed_rows import Stamp, constant, rows_of_rejects

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


def resolved_rows(
    rows: pa.Table, part: str, chosen: NDArray[np.bool_], stamp: Stamp
) -> pa.RecordBatch | None:
    """Return the rows that resolve the rejects of the chosen records; None if there are none."""
    if not chosen.any():
        return None
    some = rows.filter(pa.array(chosen))
    return rows_of_rejects(some, part, stamp, {"resolution": constant(RESOLVED, some.num_rows)})
