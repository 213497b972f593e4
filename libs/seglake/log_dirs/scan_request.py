"""What a scan of the headers of one segment is asked. Values."""

from dataclasses import dataclass

from seglake.kafka_log.replica import SegmentFile, SnapshotFile
from seglake.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """One segment to look at; everything here is known from listings and settings.

    Attributes:
        is_final: nobody will write on; see `SegmentBounds`.
        is_cleaned: the cleaner's checkpoint lies above the segment's base.
        start_offset: nothing below is wanted.
        run_breaks: offsets at which runs of messages shall end.
        from_ms, to_ms: where a time window begins and ends, None without one.
        walk_offset: the walk may leave out what lies below.
        proved_offset: as of `limit_after`.
        snapshots: producer snapshots to read with this segment, the best first.
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
