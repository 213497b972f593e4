"""Facts about the damage and the gaps of a split, for their rows. Effect: reads damage."""

from collections.abc import Iterator
from itertools import pairwise

from seglake.kafka_log.offset_gaps import GapCause, Hole, cause_of
from seglake.log_tables.quarantine_rows import RawBytes, most_raw_bytes
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_decoding.tasks import DecodeSettings, PartitionSplit


def damaged_bytes(defect: Defect, path: str, topic: str, settings: DecodeSettings) -> RawBytes:
    """Return the damaged bytes of a segment, as many as are kept for this topic."""
    most_bytes = most_raw_bytes(topic, settings.max_raw_bytes)
    kept = min(defect.size_bytes, most_bytes)
    if defect.content is not None:
        return RawBytes(defect.content[:kept], kept == defect.size_bytes)
    with settings.storage.open_reader(path) as reader:
        content = reader.read(defect.position, kept)
    return RawBytes(content, kept == defect.size_bytes)


def causes_in(
    hole: Hole, split: PartitionSplit, *, is_compacted: bool
) -> Iterator[tuple[int, int, GapCause]]:
    """Yield the gaps of a hole: start, stop and cause.

    A hole across the log start is two gaps, since the causes differ.

    Args:
        hole: the missing offsets.
        split: the split that has the hole.
        is_compacted: the cleaner has run on one of the segments beside the hole.
    """
    if split.gap_cause is not None:
        yield hole.start_offset, hole.next_offset, split.gap_cause
        return
    log_start = split.log_start_offset
    inside = [log_start] if hole.start_offset < log_start < hole.next_offset else []
    for start, stop in pairwise([hole.start_offset, *inside, hole.next_offset]):
        cause = cause_of(
            is_after_defect=hole.is_after_defect,
            is_compacted=is_compacted,
            next_offset=stop,
            log_start_offset=log_start,
        )
        yield start, stop, cause
