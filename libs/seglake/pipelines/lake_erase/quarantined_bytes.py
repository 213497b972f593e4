"""Finds damaged batches in `quarantine` with records to erase. Runs in tasks.

A batch that decodes is judged by its records. If a batch does not decode and is uncompressed, its
bytes are searched for the bytes of the key.
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_rows import plain_texts, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.log_tables.record_rows import Origin
from seglake.pipelines.lake_erase.found_rows import (
    PLACE_SCHEMA,
    FoundRows,
    Requested,
    places_of,
)
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_decoding.erased_rows import batch_rows
from seglake.storage.storage import Storage

_COLUMNS = (
    *("source_id", "topic_id", "topic", "partition"),
    *("defect_code", "base_offset", "generation"),
)
_LEAST_KEY_BYTES = 4
"""Shorter keys are in most bytes by chance, so undecodable batches are not searched for them."""


def find_bytes(
    storage: Storage, requested: Requested, most_bytes: int, file: StoredFile
) -> FoundRows:
    """Return the rows of a file of `quarantine` whose bytes have a requested record.

    Args:
        storage: the storage of the file.
        requested: the records to erase.
        most_bytes: highest accepted size of an uncompressed batch.
        file: the file.

    Raises:
        StorageError: the file cannot be read.
        ConditionFailedError: the condition fails on a record.
    """
    found: list[int] = []
    places = [PLACE_SCHEMA.empty_table()]
    undecodable: Counter[str] = Counter()
    first = 0
    for rows in read_rows(storage, file.path, [*_COLUMNS, "raw"]):
        topics = plain_texts(rows.select(["topic"])).column("topic").to_pylist()
        for index in (at for at, topic in enumerate(topics) if topic in requested.salts):
            raw: bytes | None = rows.column("raw")[index].as_py()
            if not raw or not raw.strip(b"\0"):
                continue
            row = {name: rows.column(name)[index].as_py() for name in _COLUMNS}
            records = _requested_records(raw, row, requested, most_bytes)
            if records is not None:
                places.append(records)
            is_requested = requested.with_undecodable or _has_key(raw, requested.key)
            if records is None and not is_requested:
                undecodable[f"{row['topic']}-{row['partition']}"] += 1
            elif records is None or records.num_rows:
                found.append(first + index)
        first += rows.num_rows
    return FoundRows(np.array(found, np.int64), pa.concat_tables(places), undecodable)


def _has_key(raw: bytes, key: bytes | None) -> bool:
    """Return whether undecodable bytes contain a key."""
    return key is not None and len(key) >= _LEAST_KEY_BYTES and key in raw


# Any: a row's columns have many types.
def _requested_records(
    raw: bytes, row: dict[str, Any], requested: Requested, most_bytes: int
) -> pa.Table | None:
    """Return the positions of a batch's requested records; None if it does not decode."""
    key = PartitionKey(row["topic"], row["partition"], row["topic_id"])
    inner = row["base_offset"] if row["defect_code"] == DefectCode.INNER_CRC_MISMATCH else None
    try:
        decoded = batch_rows(raw, Origin(row["source_id"], key, "", 0), most_bytes, inner)
    except DefectError:
        return None
    rows = _plain(pa.Table.from_batches([decoded]))
    rows = rows.append_column("topic", pa.array([key.topic] * rows.num_rows, pa.string()))
    return places_of(rows.filter(pa.array(requested.matches(rows))), requested)


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows with payloads as plain binary columns, which can be filtered."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_binary_view(field.type):
            # Any: pyarrow's stubs do not know the column's type.
            column: Any = rows.column(index).cast(pa.binary())
            rows = rows.set_column(index, field.name, column)
    return plain_texts(rows)
