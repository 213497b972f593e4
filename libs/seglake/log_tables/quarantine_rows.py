"""Makes rows of `quarantine` for damage, and of `gaps` for missing offsets."""

import hashlib
from typing import Any, NamedTuple

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.tables import CLUSTER_METADATA, QUARANTINE
from seglake.log_tables.batch_rows import Place, name_of_codec
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.segment_codec.walk.holes import holed_source
from seglake.storage.storage import Reader

# Defects at which a starting broker truncates the log. It checks batches, but not records.
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
"""Columns that identify damaged bytes of a partition."""


class RawBytes(NamedTuple):
    """Damaged bytes to store (all, or the first part), with the hash of the stored bytes."""

    content: bytes
    is_complete: bool


def kept_bytes(defect: Defect, reader: Reader, most_bytes: int) -> RawBytes:
    """Return the first damaged bytes of a segment, at most `most_bytes`.

    For a damaged chunk of a remote tier, return the bytes stored in the tier, which may be
    compressed and encrypted.

    Args:
        defect: the damage.
        reader: reader of the segment.
        most_bytes: highest number of bytes to return.
    """
    holed = holed_source(reader) if defect.code is DefectCode.TIER_CHUNK_BAD else None
    if holed is not None:
        stop = defect.position + defect.size_bytes
        return RawBytes(*holed.stored_bytes(defect.position, stop, most_bytes))
    if defect.content is not None:
        return kept_part(defect.content, most_bytes)
    content = reader.read(defect.position, min(defect.size_bytes, most_bytes))
    return RawBytes(content, len(content) == defect.size_bytes)


def kept_part(content: bytes, most_bytes: int) -> RawBytes:
    """Return the first `most_bytes` of damaged bytes, or all, with the hash of what is stored."""
    return RawBytes(content[:most_bytes], len(content) <= most_bytes)


def most_raw_bytes(topic: str, max_raw_bytes: int) -> int:
    """Return how many damaged bytes to store.

    For the metadata log the result is 0, because that log has secrets.
    """
    return 0 if CLUSTER_METADATA.serves(topic) else max_raw_bytes


def quarantine_row(
    defect: Defect,
    raw: RawBytes,
    place: Place,
    previous_offset: int | None,
    next_offset: int | None,
) -> tuple[Any, ...]:
    """Return a row of `quarantine`, in the order of its columns.

    Args:
        defect: the damage.
        raw: the bytes to store.
        place: origin and segment.
        previous_offset: last valid offset before the damage; None if there is none.
        next_offset: first valid offset after the damage; None if there is none.
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
    """Return the columns that depend only on the damage; `position` is the position in the file."""
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
    """Return an offset that a header states; None if it is above the highest offset."""
    return claimed if claimed is None or claimed <= OFFSET_MAX else None


def hash_of(content: bytes) -> str:
    """Return the hash for the column `raw_sha256`."""
    return hashlib.sha256(content).hexdigest()


class RowStamp(NamedTuple):
    """Origin of gap rows; the ledger row of the same commit has the same `attempt_id`."""

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
    """Return a row of `gaps`, in the order of its columns."""
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
