"""Rows of `quarantine` and `gaps`: what is damaged, and which offsets are not there."""

import hashlib
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.tables import CLUSTER_METADATA, GAPS, QUARANTINE, Table
from seglake.segment_codec.codec import Codec
from seglake.segment_codec.errors import DefectCode
from seglake.segment_codec.segment import Defect

_STOPS_RECOVERY = frozenset(
    {
        DefectCode.BAD_LENGTH,
        DefectCode.ZERO_FILLED,
        DefectCode.TRUNCATED_BATCH,
        DefectCode.UNSUPPORTED_MAGIC,
        DefectCode.CRC_MISMATCH,
    }
)


class RawBytes(NamedTuple):
    """The damaged bytes as far as they are kept; the hash is of what is kept."""

    content: bytes
    is_complete: bool


def most_raw_bytes(topic: str, max_raw_bytes: int) -> int:
    """How many bytes of a batch are kept: none of the metadata log's, which may be secrets."""
    return 0 if CLUSTER_METADATA.serves(topic) else max_raw_bytes


class QuarantinePlace(NamedTuple):
    """Where damage was found, and when."""

    source_id: str
    key: PartitionKey
    broker_id: int | None
    segment: str
    origin_position: int  # of the file that was read, in its segment
    run_id: str
    quarantined_at_us: int


def quarantine_row(
    defect: Defect,
    raw: RawBytes,
    place: QuarantinePlace,
    previous_offset: int | None,
    next_offset: int | None,
) -> tuple[Any, ...]:
    """The row's values in the order of the table's columns.

    Args:
        previous_offset: last sound offset before the damage, None when there is none.
        next_offset: first sound offset behind it, None when there is none.
    """
    return (
        place.source_id,
        place.key.topic_id,
        place.key.topic,
        place.key.partition,
        place.broker_id,
        place.segment,
        place.origin_position + defect.position,
        defect.size_bytes,
        defect.code,
        defect.detail,
        defect.base_offset,
        defect.last_offset,
        defect.record_count,
        defect.magic,
        _codec_name(defect.codec_id),
        defect.expected_crc,
        defect.computed_crc,
        previous_offset,
        next_offset,
        raw.content,
        hash_of(raw.content),
        raw.is_complete,
        defect.code in _STOPS_RECOVERY,
        None,
        place.run_id,
        place.quarantined_at_us,
    )


def hash_of(content: bytes) -> str:
    """What `raw_sha256` has of the bytes that are kept."""
    return hashlib.sha256(content).hexdigest()


def _codec_name(codec_id: int | None) -> str | None:
    if codec_id is None or codec_id > Codec.ZSTD:
        return None
    return Codec(codec_id).name.lower()


class RowStamp(NamedTuple):
    """Whose rows these are; `attempt_id` ties a gap to the ledger row of the same commit."""

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
    """The row's values in the order of the table's columns."""
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


def quarantine_table(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """The collected rows as Arrow."""
    return _table(QUARANTINE, rows)


def gaps_table(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """The collected rows as Arrow."""
    return _table(GAPS, rows)


def _table(table: Table, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    schema = table.file_schema
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
