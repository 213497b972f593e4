"""Request for the survey of one segment."""

from typing import NamedTuple

from seglake.kafka_log.replica import SegmentFile, SnapshotFile
from seglake.storage.storage import Storage


class SurveyRequest(NamedTuple):
    """Request to survey one segment, with facts from listings and settings.

    Attributes:
        is_last: whether it is the last segment of the log.
        is_cleaned: whether the cleaner's checkpoint is above the segment's base offset.
        split_bytes: size of a task, in bytes of the segment.
        window_bytes: size of a read if the segment is read in full.
        durable_offset: the high watermark or the recovery point, whichever is higher.
        start_offset: lowest offset to ingest.
        run_breaks: offsets at which a new run of messages must begin.
        from_ms: start of a time window in ms since 1970; None if there is none.
        to_ms: end of a time window in ms since 1970; None if there is none.
        walk_offset: first offset that must be read; batches below it may be skipped.
        proved_offset: offset that the log certainly reaches; see `limit_after`.
        snapshots: producer snapshots to read with this segment, the best first.
        is_final: whether no broker will append to the log any more; see `SegmentBounds`.
    """

    storage: Storage
    file: SegmentFile
    is_last: bool
    is_cleaned: bool
    split_bytes: int
    window_bytes: int
    durable_offset: int = 0
    start_offset: int = 0
    run_breaks: tuple[int, ...] = ()
    from_ms: int | None = None
    to_ms: int | None = None
    walk_offset: int = 0
    proved_offset: int = 0
    snapshots: tuple[SnapshotFile, ...] = ()
    is_final: bool = False
