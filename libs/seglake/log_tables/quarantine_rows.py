"""Rows of `quarantine` for damage, and of `gaps` for missing offsets."""

import hashlib
from typing import Any, NamedTuple

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.tables import CLUSTER_METADATA, QUARANTINE
from seglake.log_tables.batch_rows import Place, name_of_codec
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX

# A starting broker checks batches, not records: these defects make it truncate the log.
_STOPS_RECOVERY = frozenset(
    {
        DefectCode.BAD_LENGTH,
        DefectCode.ZERO_FILLED,
        DefectCode.TRUNCATED_BATCH,
        DefectCode.UNSUPPORTED_MAGIC,
        DefectCode.CRC_MISMATCH,
    }
)


IDENTITY = ("broker_id", "segment", "position", "raw_sha256")
"""Columns that identify damaged bytes."""


class RawBytes(NamedTuple):
    """The kept part of damaged bytes; their hash covers this part."""

    content: bytes
    is_complete: bool


def most_raw_bytes(topic: str, max_raw_bytes: int) -> int:
    """Return the number of bytes to keep of a batch: 0 in the metadata log, which has secrets."""
    return 0 if CLUSTER_METADATA.serves(topic) else max_raw_bytes


def quarantine_row(
    defect: Defect,
    raw: RawBytes,
    place: Place,
    previous_offset: int | None,
    next_offset: int | None,
) -> tuple[Any, ...]:
    """Return the row's values in the order of the table's columns.

    Args:
        defect: the damage.
        raw: the kept bytes.
        place: origin and segment.
        previous_offset: last sound offset before the damage, None without one.
        next_offset: first sound offset after it, None without one.
    """
    source_id, key, run_id, generation = place.origin
    columns = {
        **damage_columns(defect, raw),
        "source_id": source_id,
        "topic_id": key.topic_id,
        "topic": key.topic,
        "partition": key.partition,
        "broker_id": place.broker_id,
        "segment": place.segment,
        "position": place.origin_position + defect.position,
        "previous_offset": previous_offset,
        "next_offset": next_offset,
        "resolution": None,
        "run_id": run_id,
        "quarantined_at": place.started_at_us,
        "generation": generation,
    }
    return tuple(columns[name] for name in QUARANTINE.schema.names)


def damage_columns(defect: Defect, raw: RawBytes) -> dict[str, Any]:
    """Return the columns from the damaged bytes alone; `position` is that in the file."""
    return {
        "position": defect.position,
        "length_bytes": defect.size_bytes,
        "defect_code": defect.code,
        "defect_detail": defect.detail,
        "base_offset": defect.base_offset,
        "last_offset": _as_offset(defect.last_offset),
        "record_count": defect.record_count,
        "magic": defect.magic,
        "codec": None if defect.codec_id is None else name_of_codec(defect.codec_id),
        "expected_crc": defect.expected_crc,
        "computed_crc": defect.computed_crc,
        "raw": raw.content,
        "raw_sha256": hash_of(raw.content),
        "raw_is_complete": raw.is_complete,
        "kafka_would_truncate": defect.code in _STOPS_RECOVERY,
    }


def _as_offset(claimed: int | None) -> int | None:
    """Return a claimed offset; None if it is too high for an offset."""
    return claimed if claimed is None or claimed <= OFFSET_MAX else None


def hash_of(content: bytes) -> str:
    """Return the `raw_sha256` of the kept bytes."""
    return hashlib.sha256(content).hexdigest()


class RowStamp(NamedTuple):
    """Origin of rows; `attempt_id` ties a gap to the ledger row of the same commit."""

    source_id: str
    run_id: str
    attempt_id: str


def gap_row(
    key: PartitionKey,
    start_offset: int,
    next_offset: int,
    cause: GapCause,
    detail: str | None,
    stamp: RowStamp,
) -> tuple[Any, ...]:
    """Return the row's values in the order of the table's columns."""
    return (
        stamp.source_id,
        key.topic_id,
        key.topic,
        key.partition,
        start_offset,
        next_offset,
        cause,
        detail,
        stamp.run_id,
        stamp.attempt_id,
    )
