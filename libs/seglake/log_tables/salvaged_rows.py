"""Makes rows of `salvaged_records`: a damaged batch's records, with a description of the damage."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.kafka_log.transaction_markers import TransactionState
from seglake.lake.tables import SALVAGED_RECORDS
from seglake.log_tables.damaged_batch import DamagedBatch
from seglake.log_tables.record_rows import Origin, UnitRows, record_rows, shared_of
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.formats.flipped_bit import with_flipped
from seglake.segment_codec.walk.salvage import (
    CHECKSUM_FIELD,
    WholeBatch,
    header_field,
    whole_batch,
)

_COMPARED = (
    *("key", "value", "headers", "offset", "timestamp_ms"),
    *("timestampType", "transaction_state"),
)


class DamageKind(StrEnum):
    """Kind of damage of a salvaged batch."""

    CRC_FIELD = "crc_field"  # one bit of the checksum is wrong: the records are undamaged
    SINGLE_BIT = "single_bit"  # one bit of the batch is wrong
    UNKNOWN = "unknown"
    NONE = "none"  # the batch is valid, and its replica lost an election


def salvaged_rows(
    batch: DamagedBatch,
    raw: bytes,
    *,
    source_id: str,
    run_id: str,
    salvaged_at_us: int,
    max_bytes: int,
) -> pa.RecordBatch:
    """Decode a damaged batch, and return its rows.

    Args:
        batch: the batch's row of `quarantine`.
        raw: all bytes of the batch.
        source_id: source of the rows.
        run_id: id of the run.
        salvaged_at_us: time of the salvage, in microseconds since 1970.
        max_bytes: highest accepted size of the uncompressed records.

    Raises:
        DefectError: the batch cannot be decoded to its end, or overlaps offsets of valid
            neighbours.
    """
    origin = Origin(source_id, batch.key, run_id, batch.generation)
    whole = whole_batch(raw, max_bytes, inner_offset=batch.inner_offset)
    rows = _record_rows(whole, batch, origin)
    _require_between(batch, whole.columns.offsets)
    sound = _sound(whole, raw, batch, max_bytes)
    changed = {} if sound is None else _changed(rows, _record_rows(sound, batch, origin))
    columns: dict[str, Any] = dict(zip(rows.schema.names, rows.columns, strict=True))
    of_batch = {
        **_damage(whole, raw, sound, [name for name in changed if changed[name].any()]),
        "is_trusted": False,
        "broker_id": batch.broker_id,
        "segment": batch.segment,
        "position": batch.position,
        "defect_code": batch.defect_code,
        "raw_sha256": batch.raw_sha256,
        "salvaged_at": salvaged_at_us,
        "topic": batch.key.topic,
    }
    columns |= {name: [value] * rows.num_rows for name, value in of_batch.items()}
    columns["is_damaged"] = _is_damaged(whole, changed, rows.num_rows)
    if batch.is_of_loser:
        columns["damage"] = [DamageKind.NONE] * rows.num_rows
        columns["is_damaged"] = [False] * rows.num_rows
    arrays = [_plain(columns[field.name], field.type) for field in SALVAGED_RECORDS.file_schema]
    return pa.RecordBatch.from_arrays(arrays, schema=SALVAGED_RECORDS.file_schema)


def _is_damaged(
    whole: WholeBatch, changed: Mapping[str, NDArray[np.bool_]], count: int
) -> list[bool | None]:
    """Return for each row whether the damage changed any of its values; None if unknown."""
    if changed:
        return list(np.any([*changed.values()], axis=0).tolist())
    holds = whole.has_right_checksum
    return [None] * count if holds is None else [not right for right in holds.tolist()]


def _record_rows(whole: WholeBatch, batch: DamagedBatch, origin: Origin) -> pa.RecordBatch:
    """Return the columns of `records`; null for values that the batch does not have."""
    unit = UnitRows(
        len(whole.columns.offsets), whole.timestamp_type, TransactionState.NONE, whole.base_offset
    )
    rows = record_rows(whole.columns, shared_of([unit]), origin)[0]
    # the transaction's marker is in another batch
    unknown = ["transaction_state"] if whole.is_transactional else []
    if batch.is_inside_set and whole.timestamp_type >= 0:  # the type is in the set's header
        unknown.append("timestampType")
    for name in unknown:
        kind = SALVAGED_RECORDS.schema.field(name).type
        nulls = pa.nulls(rows.num_rows, kind)
        rows = rows.set_column(rows.schema.get_field_index(name), name, nulls)
    return rows


def _require_between(batch: DamagedBatch, offsets: NDArray[np.int64]) -> None:
    """Reject offsets that valid neighbours have: no checksum covers a batch's base offset."""
    low, high = batch.low_offset, batch.high_offset
    if (low is not None and offsets[0] <= low) or (high is not None and offsets[-1] >= high):
        raise DefectError(DefectCode.OFFSET_OUT_OF_ORDER, f"offsets {offsets[0]}-{offsets[-1]}")


def _damage(
    whole: WholeBatch, raw: bytes, sound: WholeBatch | None, changed: Sequence[str]
) -> dict[str, Any]:
    """Return the columns that describe the damage; `changed` has the columns that it changed."""
    flipped, kind = whole.flipped, DamageKind.UNKNOWN
    field: str | None = None
    if sound is None or flipped is None:
        flipped = None
    else:
        field = header_field(raw, flipped.position)
        kind = DamageKind.CRC_FIELD if field == CHECKSUM_FIELD else DamageKind.SINGLE_BIT
    return {
        "damage": kind,
        "damage_field": field or ", ".join(changed) or None,
        "damage_position": None if flipped is None else flipped.position,
        "damage_bit": None if flipped is None else flipped.bit,
    }


def _sound(whole: WholeBatch, raw: bytes, batch: DamagedBatch, max_bytes: int) -> WholeBatch | None:
    """Return the batch with its flipped bit corrected; None if that is not possible.

    The bit may be unknown. Or the corrected batch cannot be decoded: then the checksum fits only by
    chance, and more than one bit is damaged.
    """
    if whole.flipped is None:
        return None
    with suppress(DefectError):
        restored = with_flipped(raw, whole.flipped)
        return whole_batch(restored, max_bytes, inner_offset=batch.inner_offset)
    return None


def _changed(rows: pa.RecordBatch, sound: pa.RecordBatch) -> dict[str, NDArray[np.bool_]]:
    """Return which values the damage changed, by column and row; empty if unknown."""
    if rows.num_rows != sound.num_rows:
        return {}
    pairs = {name: (_values(rows, name), _values(sound, name)) for name in _COMPARED}
    return {
        name: np.array([a != b for a, b in zip(one, other, strict=True)])
        for name, (one, other) in pairs.items()
    }


def _values(rows: pa.RecordBatch, name: str) -> list[Any]:
    """Return the values of a column as Python objects."""
    values: list[Any] = rows.column(name).to_pylist()
    return values


def _plain(values: Any, kind: pa.DataType) -> Any:
    """Convert values to an Arrow array of the table's type, without a dictionary."""
    if isinstance(values, pa.Array):
        return values.cast(kind)
    return pa.array(values, kind)
