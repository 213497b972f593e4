"""Damage as the columns of `quarantine`. Effect: reads the damaged bytes."""

import hashlib

from seglake.pipelines.segment_inspect.batch_facts import claimed_batch, codec_name
from seglake.pipelines.segment_inspect.findings import BatchFound, DefectFound, Origin
from seglake.segment_codec.errors import DefectCode
from seglake.segment_codec.segment import Defect
from seglake.storage.storage import Reader

MOST_RAW_BYTES = 1 << 20  # as many of a defect's bytes as a quarantine row keeps by default

# A starting broker looks at frames, not into them: here it would cut the log.
_STOPS_RECOVERY = frozenset(
    {
        DefectCode.BAD_LENGTH,
        DefectCode.ZERO_FILLED,
        DefectCode.TRUNCATED_BATCH,
        DefectCode.UNSUPPORTED_MAGIC,
        DefectCode.CRC_MISMATCH,
    }
)


def defect_facts(
    defect: Defect, origin: Origin, segment: str, previous_offset: int | None, reader: Reader
) -> DefectFound:
    """The defect, before it is known which sound offset comes next.

    Args:
        previous_offset: last sound offset before the damage, None when there is none.
    """
    raw = reader.read(defect.position, min(defect.size_bytes, MOST_RAW_BYTES))
    return DefectFound(
        source_id=origin.source_id,
        topic_id=origin.topic_id,
        topic=origin.topic,
        partition=origin.partition,
        broker_id=origin.broker_id,
        segment=segment,
        position=defect.position,
        length_bytes=defect.size_bytes,
        defect_code=defect.code,
        defect_detail=defect.detail,
        base_offset=defect.base_offset,
        last_offset=defect.last_offset,
        record_count=defect.record_count,
        magic=defect.magic,
        codec=codec_name(defect.codec_id),
        expected_crc=defect.expected_crc,
        computed_crc=defect.computed_crc,
        previous_offset=previous_offset,
        next_offset=None,
        raw=raw,
        raw_sha256=hashlib.sha256(raw).hexdigest(),
        raw_is_complete=len(raw) == defect.size_bytes,
        kafka_would_truncate=defect.code in _STOPS_RECOVERY,
    )


def claims_of(defect: Defect, origin: Origin, segment: str, reader: Reader) -> BatchFound | None:
    """What the header of a damaged batch claims; None where the damage is not one whole batch."""
    claims = claimed_batch(reader, defect.position, defect.size_bytes, origin, segment)
    if claims is None or claims.size_bytes != defect.size_bytes:
        return None  # its length is ignored as implausible, or these are several messages
    return claims
