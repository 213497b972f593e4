"""Chooses the encoding of each column of a Parquet file, from its table and its first rows.

A dictionary makes repeated values small. Of values that do not repeat, Parquet's writer would hash
all and then write most of them without it, in a larger file. So the values of the first row group
are sampled, except in columns whose best encoding is known. Spark's reader has to know an encoding:
it refuses `BYTE_STREAM_SPLIT`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from seglake.lake.tables import Table

# Measured: numbers that grow in small steps compress best as deltas, payloads without encoding.
_DELTA_COLUMNS = {
    "records": "offset timestamp timestamp_ms",
    "batches": (
        "base_offset last_offset record_count row_count size_bytes uncompressed_bytes "
        "base_timestamp_ms max_timestamp_ms base_sequence crc position"
    ),
    "quarantine": "position length_bytes base_offset last_offset previous_offset next_offset",
    "gaps": "start_offset next_offset",
    "consumer_offsets": "offset commit_timestamp commit_timestamp_ms "
    "record_offset record_timestamp record_timestamp_ms",
    "transaction_state": "last_update_timestamp last_update_timestamp_ms "
    "record_offset record_timestamp record_timestamp_ms",
    "cluster_metadata": "record_offset",
    "remote_log_metadata": "start_offset end_offset max_timestamp max_timestamp_ms "
    "event_timestamp event_timestamp_ms record_offset record_timestamp record_timestamp_ms",
    "checkpoints": "start_offset next_offset",
    "salvaged_records": "offset timestamp timestamp_ms",
    "typed": "_offset _timestamp _timestamp_ms",
}
_PLAIN_COLUMNS = {
    "records": "key value headers.list.element.value",
    "quarantine": "raw raw_sha256",
    "consumer_offsets": "key value",
    "transaction_state": "key value",
    "remote_log_metadata": "custom_metadata key value",
    "salvaged_records": "key value headers.list.element.value",
}
_SAMPLE = 1 << 14  # values that are sampled
_FEW = 1 << 10  # of fewer values, a dictionary costs nothing
# Measured: with fewer distinct values among the sampled ones, files with a dictionary are smaller.
_MOST_DISTINCT = 0.9


def encodings(table: Table, rows: pa.RecordBatch) -> tuple[list[str], list[str]]:
    """Return the columns for dictionaries, and those for deltas, as Parquet's paths of leaves.

    Args:
        table: the table.
        rows: the first rows of a file.
    """
    deltas = _DELTA_COLUMNS.get(table.name.partition("/")[0], "").split()
    known = {*deltas, *_PLAIN_COLUMNS.get(table.name, "").split()}
    dictionaries = []
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        for leaf, values in _leaves(name, column):
            if leaf in known or pa.types.is_boolean(values.type):
                continue
            if not _are_distinct(values):
                dictionaries.append(leaf)
            elif pa.types.is_integer(values.type) or pa.types.is_temporal(values.type):
                deltas.append(leaf)
    return dictionaries, deltas


# Any: columns have values of many types.
def _leaves(name: str, column: Any) -> Iterator[tuple[str, Any]]:
    """Yield the Parquet path of each primitive field of a column, and its values.

    Those of lists may include values outside a slice.
    """
    if pa.types.is_list(column.type):
        yield from _leaves(f"{name}.list.element", column.values)
    elif pa.types.is_map(column.type):
        yield from _leaves(f"{name}.key_value.key", column.keys)
        yield from _leaves(f"{name}.key_value.value", column.items)
    elif pa.types.is_struct(column.type):
        for field, values in zip(column.type, column.flatten(), strict=True):
            yield from _leaves(f"{name}.{field.name}", values)
    else:
        yield name, column


# Any: columns have values of many types.
def _are_distinct(values: Any) -> bool:
    """Return whether nearly all values differ, so that no dictionary is worth its cost."""
    if isinstance(values, pa.DictionaryArray):
        return False
    if len(values) > _SAMPLE:
        # One of each stretch, by chance: values may repeat in steps.
        edges = np.linspace(0, len(values), _SAMPLE + 1).astype(np.int64)
        chosen = np.random.default_rng(0).integers(edges[:-1], edges[1:])
        values = values.take(pa.array(chosen))
    some = values.drop_null()
    return len(some) >= _FEW and len(some.unique()) >= _MOST_DISTINCT * len(some)
