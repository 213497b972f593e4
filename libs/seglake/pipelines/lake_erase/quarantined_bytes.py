"""Finds damaged batches in `quarantine` with records to erase. Runs in tasks.

A batch that decodes is judged by its records. If a batch does not decode and is uncompressed, its
bytes are searched for the bytes of the key.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_rows import plain_texts, read_rows
from seglake.log_tables.record_rows import Origin
from seglake.pipelines.lake_erase.condition import ConditionFailedError
from seglake.pipelines.lake_erase.found_rows import PLACE_SCHEMA, Requested, places_of
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_decoding.erased_rows import batch_rows
from seglake.storage.storage import Storage

_COLUMNS = (
    "source_id",
    "topic_id",
    "topic",
    "partition",
    "defect_code",
    "base_offset",
    "generation",
)
_LEAST_KEY_BYTES = 4
"""Shorter keys are in most bytes by chance, so undecodable batches are not searched for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineTask:
    """A data file of `quarantine`.

    Attributes:
        most_bytes: highest accepted size of an uncompressed batch.
    """

    storage: Storage
    path: str
    requested: Requested
    most_bytes: int


class FoundBytes(NamedTuple):
    """Rows of `quarantine` whose bytes have a requested record.

    Attributes:
        rows: positions of the rows in the file, rising.
        undecodable: number of batches that could not be searched, by partition.
        places: positions of the requested records, see `found_rows.PLACE_SCHEMA`.
        failure: why the condition could not be evaluated; empty if it was.
    """

    rows: NDArray[np.int64]
    undecodable: Counter[str]
    places: pa.Table
    failure: str = ""


def find_bytes(task: QuarantineTask) -> FoundBytes:
    """Search a file of `quarantine` for records to erase; see `found_rows.find` for failures."""
    try:
        return _found(task)
    except ConditionFailedError as error:
        return FoundBytes(np.zeros(0, np.int64), Counter(), PLACE_SCHEMA.empty_table(), str(error))


def _found(task: QuarantineTask) -> FoundBytes:
    """Search the bytes in a file of `quarantine` for records to erase."""
    found: list[int] = []
    places = [PLACE_SCHEMA.empty_table()]
    undecodable: Counter[str] = Counter()
    first = 0
    for rows in read_rows(task.storage, task.path, [*_COLUMNS, "raw"]):
        topics = plain_texts(rows.select(["topic"])).column("topic").to_pylist()
        for index in (at for at, topic in enumerate(topics) if topic in task.requested.salts):
            raw: bytes | None = rows.column("raw")[index].as_py()
            if not raw or not raw.strip(b"\0"):
                continue
            row = {name: rows.column(name)[index].as_py() for name in _COLUMNS}
            records = _requested_records(raw, row, task)
            if records is not None:
                places.append(records)
            is_requested = task.requested.with_undecodable or _has_key(raw, task.requested.key)
            if records is None and not is_requested:
                undecodable[f"{row['topic']}-{row['partition']}"] += 1
            elif records is None or records.num_rows:
                found.append(first + index)
        first += rows.num_rows
    return FoundBytes(np.array(found, np.int64), undecodable, pa.concat_tables(places))


def _has_key(raw: bytes, key: bytes | None) -> bool:
    """Return whether undecodable bytes contain a key."""
    return key is not None and len(key) >= _LEAST_KEY_BYTES and key in raw


# Any: a row's columns have many types.
def _requested_records(raw: bytes, row: dict[str, Any], task: QuarantineTask) -> pa.Table | None:
    """Return the positions of a batch's requested records; None if it does not decode."""
    key = PartitionKey(row["topic"], row["partition"], row["topic_id"])
    inner = row["base_offset"] if row["defect_code"] == DefectCode.INNER_CRC_MISMATCH else None
    try:
        decoded = batch_rows(raw, Origin(row["source_id"], key, "", 0), task.most_bytes, inner)
    except DefectError:
        return None
    rows = _plain(pa.Table.from_batches([decoded]))
    rows = rows.append_column("topic", pa.array([key.topic] * rows.num_rows, pa.string()))
    return places_of(rows.filter(pa.array(task.requested.matches(rows))), task.requested)


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows with payloads as plain binary columns, which can be filtered."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_binary_view(field.type):
            # Any: pyarrow's stubs do not know the column's type.
            column: Any = rows.column(index).cast(pa.binary())
            rows = rows.set_column(index, field.name, column)
    return plain_texts(rows)
