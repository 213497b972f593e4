"""Reads damaged bytes for `quarantine`, and names the causes of gaps."""

from collections.abc import Iterator
from itertools import pairwise

from seglake.kafka_log.offset_gaps import GapCause, OffsetHole, cause_of
from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.segment_reader import open_segment
from seglake.log_tables.quarantine_rows import RawBytes, kept_bytes, kept_part, most_raw_bytes
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_decoding.tasks import DecodeSettings, PartitionSplit


def damaged_bytes(
    defect: Defect, file: SegmentFile, topic: str, settings: DecodeSettings
) -> RawBytes:
    """Return the damaged bytes to store, up to the size limit of the topic."""
    most_bytes = most_raw_bytes(topic, settings.max_raw_bytes)
    if defect.content is not None:
        return kept_part(defect.content, most_bytes)
    with open_segment(settings.storage, file) as reader:
        return kept_bytes(defect, reader, most_bytes)


def causes_in(
    hole: OffsetHole, split: PartitionSplit, *, is_compacted: bool
) -> Iterator[tuple[int, int, GapCause]]:
    """Yield the gaps in a range of missing offsets, each as (start, exclusive end, cause).

    If the range crosses the log start, there are two gaps with different causes.

    Args:
        hole: the missing offsets.
        split: the split with the missing offsets.
        is_compacted: whether the cleaner has run on a segment next to the missing offsets.
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
