"""Selects the segments of a log whose headers a run must read."""

from itertools import zip_longest

from seglake.ingest_steps.planning.partitions import ListedPartition
from seglake.ingest_steps.planning.pieces import piece_bytes
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import Replica, SegmentFile, SnapshotFile
from seglake.kafka_log.replica_selection import leading
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.settings.settings import Settings
from seglake.storage.storage import Storage

_MOST_SNAPSHOTS = 3  # most snapshots to try, the newest first, since some may be damaged


def is_due(listed: ListedPartition, settings: Settings) -> bool:
    """Return whether the replicas of a partition must be surveyed.

    A survey is due if a replica that may be chosen may have new offsets, or if leader epochs show
    that a replica differs from the ingested log.
    """
    leaders = leading(listed.replicas)
    if any(_may_have_news(copy, listed.ledger, settings) for copy in leaders):
        return True
    covered = listed.ledger.covered
    return bool(covered) and _part_below(listed, leaders[0], covered[-1][1])


def _part_below(listed: ListedPartition, leader: Replica, covered_offset: int) -> bool:
    leader_epochs = leader_epochs_of(leader.epochs)
    last = leader.segments[-1].base_offset if leader.segments else 0
    if listed.ledger.same_log_until(leader_epochs, last) < covered_offset:
        return True
    divergences = [
        (copy, leader_epochs.divergence_offset(leader_epochs_of(copy.epochs)))
        for copy in listed.replicas
    ]
    return any(
        divergence < covered_offset and _reaches_beyond(copy, divergence)
        for copy, divergence in divergences
    )


def _reaches_beyond(copy: Replica, offset: int) -> bool:
    """Return whether a log surely ends above an offset, or its newest epoch begins at it."""
    if copy.is_future or not copy.segments:
        return False
    has_newer_epoch = bool(copy.epochs) and copy.epochs[-1].start_offset >= offset
    last = copy.segments[-1].base_offset
    return has_newer_epoch or max(copy.checkpoints.high_watermark or 0, last) > offset


def _may_have_news(replica: Replica, ledger: PartitionLedger, settings: Settings) -> bool:
    if not replica.segments:
        return False
    start = start_offset(replica, ledger, settings)
    last = replica.segments[-1].remote
    if last is not None and last.next_offset:
        ends = [last.next_offset, *(gap.next_offset for gap in replica.remote_gaps)]
        return max(ends) > start
    high_watermark = replica.checkpoints.high_watermark
    if settings.read.upper_bound is not UpperBound.HIGH_WATERMARK or not high_watermark:
        return True
    return high_watermark > start


def survey_requests(
    replica: Replica, ledger: PartitionLedger, settings: Settings, storage: Storage
) -> list[SurveyRequest]:
    """Return requests for a replica's segments, from the first that may have requested offsets."""
    start = start_offset(replica, ledger, settings)
    stable = ledger.stable_up_to(start) if start > 0 else None
    walk_offset = _walk_offset(replica, start, stable)
    high_watermark = replica.checkpoints.high_watermark
    breaks = {start, replica.log_start_offset, high_watermark or 0}
    snapshots = _snapshots(replica, walk_offset, settings)
    segments = _segments_from(replica, walk_offset)
    return [
        SurveyRequest(
            storage=storage,
            file=file,
            is_last=file is replica.segments[-1],
            is_cleaned=file.base_offset < (replica.checkpoints.cleaner_offset or 0),
            durable_offset=replica.durable_offset,
            start_offset=start,
            run_breaks=tuple(sorted(breaks)),
            split_bytes=piece_bytes(settings.read.split_bytes),
            window_bytes=settings.read.window_bytes,
            from_ms=settings.select.from_timestamp_ms,
            to_ms=settings.select.to_timestamp_ms,
            walk_offset=walk_offset,
            proved_offset=replica.durable_offset if following is None else following.base_offset,
            snapshots=() if index else snapshots,  # only the first request needs the snapshots
            is_final=settings.read.upper_bound is UpperBound.LOG_END,
        )
        for index, (file, following) in enumerate(zip_longest(segments, segments[1:]))
    ]


def walked_bytes(request: SurveyRequest) -> int:
    """Return the bytes that a survey walks; 0 if an index leads to the offsets."""
    file = request.file
    is_begun = request.walk_offset > file.base_offset and file.index_path is not None
    return 0 if is_begun else file.size_bytes


def _segments_from(replica: Replica, offset: int) -> tuple[SegmentFile, ...]:
    segments = replica.segments
    for index, following in enumerate(segments[1:]):
        if following.base_offset > offset:
            return segments[index:]
    return segments[-1:]


def start_offset(replica: Replica, ledger: PartitionLedger, settings: Settings) -> int:
    """Return the first offset that may be ingested; with a time window, the start of the log."""
    select = settings.select
    if select.from_timestamp_ms is not None or select.to_timestamp_ms is not None:
        return replica.log_start_offset
    covered = ledger.covered
    return covered[0][1] if covered and covered[0][0] == 0 else 0


def _walk_offset(replica: Replica, start: int, stable_offset: int | None) -> int:
    """Return the offset from which headers are read, low enough to find each open transaction.

    Usually this is `start`. If an earlier run left a transaction open below `start`, it is the
    transaction's first offset, or the offset of a producer snapshot between these two offsets.

    Args:
        replica: the log to read.
        start: first offset that may be ingested.
        stable_offset: last stable offset in the earlier run; None if there is no earlier run.
    """
    if stable_offset is None or stable_offset >= start:
        return start
    snapshots = [file.offset for file in replica.snapshots if file.offset <= start]
    return max([stable_offset, *snapshots[-1:]])


def _snapshots(replica: Replica, walk_offset: int, settings: Settings) -> tuple[SnapshotFile, ...]:
    """Return the newest snapshots above the walk's start and below the high watermark."""
    high_watermark = replica.checkpoints.high_watermark
    is_bounded = settings.read.upper_bound is UpperBound.HIGH_WATERMARK
    limit = OFFSET_MAX if high_watermark is None or not is_bounded else high_watermark
    usable = [snapshot for snapshot in replica.snapshots if walk_offset <= snapshot.offset <= limit]
    return tuple(usable[::-1][:_MOST_SNAPSHOTS])
