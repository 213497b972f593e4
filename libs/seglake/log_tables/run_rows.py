"""Makes rows of `batches` from arrays, for many batches; for one batch see `batch_rows`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.tables import BATCHES
from seglake.log_tables.batch_rows import BATCH_STATES, BatchState, Place, name_of_codec
from seglake.log_tables.record_rows import STATES, SharedColumns
from seglake.segment_codec.formats.record_batch import (
    CODEC_MASK,
    DELETE_HORIZON,
    LENGTH_STOP,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
)
from seglake.segment_codec.kernels.batch_run import CONTROL_TYPES, FIELD_PLACES, BatchRun

_CODECS = tuple(name_of_codec(codec_id) for codec_id in range(CODEC_MASK + 1))
_DECODED = BATCH_STATES.index(BatchState.DECODED)


class RunColumns(NamedTuple):
    """Columns that decoding adds for consecutive batches; one element per batch.

    States are indexes. A batch that was not decoded has no rows and an unknown uncompressed size.
    """

    states: NDArray[np.int8]
    transaction_states: NDArray[np.int8]
    row_counts: NDArray[np.int64]
    plain_bytes: NDArray[np.int64]


def run_rows(runs: Sequence[BatchRun], added: Sequence[RunColumns], place: Place) -> pa.RecordBatch:
    """Return the rows of `batches` for one or more runs of batches.

    Args:
        runs: one or more runs.
        added: the decoder's columns of each run.
        place: origin and segment of all runs.
    """
    column = _columns_of(runs)
    more = RunColumns(*map(np.concatenate, zip(*added, strict=True)))
    count = len(more.states)
    attributes, base_ms = column("attributes"), column("base_timestamp_ms")
    has_horizon = attributes & DELETE_HORIZON != 0
    kinds = np.concatenate([run.kinds for run in runs])
    positions = np.concatenate([run.position + run.starts for run in runs])
    plain = ("base_offset", "record_count", "max_timestamp_ms", "crc")
    known = ("producer_id", "producer_epoch", "base_sequence")
    constants = _constants(place)
    columns: dict[str, Any] = {
        **{name: column(name) for name in plain},
        **{name: _known(column(name)) for name in known},
        "last_offset": column("base_offset") + column("last_offset_delta"),
        "row_count": more.row_counts,
        "codec": pa.array(_CODECS, pa.string()).take(attributes & CODEC_MASK),
        "size_bytes": column("batch_length") + LENGTH_STOP,
        "uncompressed_bytes": pa.array(more.plain_bytes, mask=more.states != _DECODED),
        "timestamp_type": (attributes & LOG_APPEND_TIME != 0).astype(np.int32),
        "base_timestamp_ms": pa.array(base_ms, mask=has_horizon),
        "delete_horizon_ms": pa.array(base_ms, mask=~has_horizon),
        "leader_epoch": _known(np.maximum(column("partition_leader_epoch"), -1)),
        "is_transactional": attributes & TRANSACTIONAL != 0,
        "transaction_state": pa.array(STATES, pa.string()).take(more.transaction_states),
        "is_control": np.concatenate([run.is_marker for run in runs]),
        "control_type": pa.array(CONTROL_TYPES, pa.string()).take(kinds),
        "state": pa.array(BATCH_STATES, pa.string()).take(more.states),
        "position": place.origin_position + positions,
    }
    schema = BATCHES.file_schema
    arrays = [
        _column(columns[field.name], field.type)
        if field.name in columns
        else pa.repeat(pa.scalar(constants[field.name], field.type), count)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def shared_of_runs(runs: Sequence[BatchRun], added: Sequence[RunColumns]) -> SharedColumns:
    """Return, for each batch, the values that all its records share.

    Args:
        runs: one or more runs.
        added: the decoder's columns of each run.
    """
    column = _columns_of(runs)
    is_append_time = column("attributes") & LOG_APPEND_TIME != 0
    return SharedColumns(
        row_counts=np.concatenate([columns.row_counts for columns in added]),
        timestamp_types=is_append_time.astype(np.int8),
        states=np.concatenate([columns.transaction_states for columns in added]),
        batch_base_offsets=column("base_offset"),
    )


def _constants(place: Place) -> dict[str, Any]:
    """Return the values that all rows of a segment share, by column."""
    return {
        "source_id": place.origin.source_id,
        "topic_id": place.origin.key.topic_id,
        "partition": place.origin.key.partition,
        "magic": 2,
        "broker_id": place.broker_id,
        "segment": place.segment,
        "run_id": place.origin.run_id,
        "generation": place.origin.generation,
    }


def _columns_of(runs: Sequence[BatchRun]) -> Callable[[str], NDArray[np.int64]]:
    """Return a function that maps a header field to its values in all batches of the runs."""
    headers = np.concatenate([run.headers for run in runs])
    return lambda name: headers[:, FIELD_PLACES[name]]


def _known(values: NDArray[np.int64]) -> Any:
    """Convert values to Arrow, with null for -1, which Kafka writes for 'no value'."""
    return pa.array(values, mask=values == -1)


def _column(values: Any, kind: pa.DataType) -> Any:
    """Convert values to an Arrow array of this type."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return array if array.type == kind else array.cast(kind)
