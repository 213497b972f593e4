"""Request for the survey of one segment; values."""

from dataclasses import dataclass

from seglake.kafka_log.replica import SegmentFile, SnapshotFile
from seglake.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """One segment to survey, with facts from listings and settings.

    Attributes:
        is_last: no later segment exists.
        is_cleaned: the cleaner's checkpoint is above the segment's base offset.
        split_bytes: bytes after which a task should end.
        window_bytes: bytes of one read in a full walk.
        durable_offset: high watermark or recovery point, the higher.
        start_offset: lowest offset to ingest.
        run_breaks: offsets at which runs of messages must end.
        from_ms: begin of a time window in ms since 1970, None without one.
        to_ms: end of a time window in ms since 1970, None without one.
        walk_offset: the walk may skip lower offsets.
        proved_offset: see `limit_after`.
        snapshots: producer snapshots to read with this segment, the best first.
        is_final: nobody will append any more, see `SegmentBounds`.
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
