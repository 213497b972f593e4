"""Compares two listings of the sources, for partitions that were left out.

A running broker changes its disk during a run. Its checkpoints may have offsets that it wrote after
its segments were listed. It deletes the oldest segments of a log, and rewrites the segments of a
compacted log. If nothing else has changed, the partition is read again by the second listing. A
file that changed in another way is left to the next run, since the change may be an accident that
somebody will undo.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from seglake.grouping import grouped
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.kafka_log.replica_selection import replicas_by_partition
from seglake.kafka_log.short_logs import ShortLog, absent_log, end_claim
from seglake.log_dirs.discovery import Discovery
from seglake.log_tables.source_ledger import SourceLedger


def retryable_replicas(
    before: Iterable[Replica], after: Iterable[Replica], left_out: Container[str]
) -> list[Replica]:
    """Return the replicas of partitions that the first attempt left out and that may be read now.

    All replicas of such a partition are returned, because the choice between them needs all.

    Args:
        before: the replicas when they were planned.
        after: the replicas of the second listing.
        left_out: names of partitions.
    """
    there = {replica.folder: replica for replica in after}
    named = ((str(replica.key), replica) for replica in before)
    by_partition = grouped((name, replica) for name, replica in named if name in left_out)
    return [
        there[copy.folder]._replace(planned_start_offset=copy.log_start_offset)
        for copies in by_partition.values()
        if all(copy.folder in there for copy in copies)
        and any(_is_explained(copy, there[copy.folder]) for copy in copies)
        and all(
            _is_explained(copy, there[copy.folder]) or _is_unchanged(copy, there[copy.folder])
            for copy in copies
        )
        for copy in copies
    ]


def _is_unchanged(before: Replica, now: Replica) -> bool:
    """Return whether all segments are unchanged, except that the last one may have grown."""
    sizes = _sizes(before)
    now_sizes = _sizes(now)[: len(sizes)]
    if not sizes or len(now_sizes) < len(sizes):
        return len(sizes) == len(now_sizes)
    return sizes[:-1] == now_sizes[:-1] and sizes[-1] <= now_sizes[-1]


def _is_explained(before: Replica, now: Replica) -> bool:
    """Return whether the log cleaner or retention has changed the segments.

    Without such a change, an unreadable file would fail again.
    """
    if not (before.segments and now.segments):
        return False
    is_compacted = now.checkpoints.cleaner_offset is not None
    is_cleaned = is_compacted and _sizes(now) != _sizes(before)
    return (
        is_cleaned
        or _has_lost_its_oldest(before.segments, now.segments)
        # The oldest segments have moved to the remote tier.
        or _has_lost_its_oldest(_on_disk(before), _on_disk(now))
    )


def _on_disk(replica: Replica) -> tuple[SegmentFile, ...]:
    return tuple(file for file in replica.segments if file.remote is None)


def _sizes(replica: Replica) -> list[tuple[int, int]]:
    return [(file.base_offset, file.size_bytes) for file in replica.segments]


def _has_lost_its_oldest(before: Sequence[SegmentFile], now: Sequence[SegmentFile]) -> bool:
    """Return whether only the oldest segments are gone; the last one may have changed, too."""
    if not (before and now):
        return False
    start = now[0].base_offset
    kept = [file for file in before if file.base_offset >= start]
    if len(kept) == len(before):
        return False
    there = {file.base_offset: file.size_bytes for file in now}
    last = before[-1]
    return all(
        there.get(file.base_offset, -1) >= file.size_bytes
        if file is last
        else there.get(file.base_offset) == file.size_bytes
        for file in kept
    )


def changed_replicas(
    names: Container[str], before: Iterable[Replica], now: Iterable[Replica]
) -> list[Replica]:
    """Return all current replicas of partitions with a replica whose segments have changed."""
    sizes = {copy.folder: copy.segments for copy in before}
    listed = [copy for copy in now if str(copy.key) in names]
    changed = {str(copy.key) for copy in listed if sizes.get(copy.folder) != copy.segments}
    return [copy for copy in listed if str(copy.key) in changed]


def confirmed(
    first: Iterable[ShortLog], now: Sequence[Replica], again: Mapping[PartitionKey, ShortLog | None]
) -> list[ShortLog]:
    """Return the short logs that the second listing confirms.

    Args:
        first: short logs of the first listing.
        now: replicas of the second listing.
        again: logs that were read again because their segments had changed; None for a log that is
            no longer short.
    """
    copies = {copy.folder: copy for log in replicas_by_partition(now) for copy in log}
    found: list[ShortLog | None] = []
    for short in first:
        if short.folder not in copies:
            continue  # the broker is deleting or moving this folder
        if short.key in again:
            later = again[short.key]
            found.append(None if later is None else later.below(short.claim.offset))
        else:
            found.append(short.below(end_claim(copies[short.folder]).offset))
    return [short for short in found if short is not None]


def absent_logs(
    discovery: Discovery, now: Discovery | None, ledger: SourceLedger
) -> list[ShortLog]:
    """Return partitions that checkpoint files name, but that neither listing has a folder of."""
    listed = () if now is None else now.absent
    again = {(absent.log_dir, absent.partition): absent for absent in listed}
    found: list[ShortLog | None] = []
    for absent in discovery.absent:
        place = absent.log_dir, absent.partition
        if now is not None and place not in again:
            continue
        stop = min(absent.next_offset, again.get(place, absent).next_offset)
        topic, partition = absent.partition
        key = ledger.latest_key(topic, partition)
        folder = f"{absent.log_dir}/{topic}-{partition}"
        covered = ledger.of(key).covered
        offsets = absent.start_offset, stop
        found.append(absent_log(key, folder, offsets, covered, absent.stated_by))
    return [short for short in found if short is not None]
