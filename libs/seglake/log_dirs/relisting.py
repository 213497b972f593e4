"""Which of the partitions that were left out may be planned again in the same run. Pure.

A running broker deletes the oldest segments of a log and rewrites those of a compacted one; where
that is all that happened, a new listing is as good as the first. Any other change of a file waits
for the next run: it may be an accident that somebody is about to undo.
"""

from collections.abc import Container, Iterable
from dataclasses import replace

from seglake.kafka_log.replica import Replica


def retryable_replicas(
    before: Iterable[Replica], after: Iterable[Replica], left_out: Container[str]
) -> list[Replica]:
    """The copies of what was left out, as they are listed now; of a partition all or none, for
    which of them is read depends on the others.

    Args:
        before: as they were when they were planned.
        left_out: names of partitions.
    """
    there = {replica.folder: replica for replica in after}
    by_partition: dict[str, list[Replica]] = {}
    for replica in before:
        if str(replica.key) in left_out:
            by_partition.setdefault(str(replica.key), []).append(replica)
    return [
        replace(there[copy.folder], planned_start_offset=copy.log_start_offset)
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
    """Whether all segments are what they were; the last may have grown."""
    sizes = [(file.base_offset, file.size_bytes) for file in before.segments]
    now_sizes = [(file.base_offset, file.size_bytes) for file in now.segments[: len(sizes)]]
    if not sizes or len(now_sizes) < len(sizes):
        return len(sizes) == len(now_sizes)
    return sizes[:-1] == now_sizes[:-1] and sizes[-1] <= now_sizes[-1]


def _is_explained(before: Replica, now: Replica) -> bool:
    if not before.segments or not now.segments:
        return False
    if now.checkpoints.cleaner_offset is not None:
        return True
    return _has_lost_its_oldest(before, now)


def _has_lost_its_oldest(before: Replica, now: Replica) -> bool:
    """Whether segments are gone, the oldest, and the others are what they were; the last may have
    grown."""
    start = now.segments[0].base_offset
    kept = [file for file in before.segments if file.base_offset >= start]
    if len(kept) == len(before.segments):
        return False
    there = {file.base_offset: file.size_bytes for file in now.segments}
    last = before.segments[-1]
    return all(
        there.get(file.base_offset, -1) >= file.size_bytes
        if file is last
        else there.get(file.base_offset) == file.size_bytes
        for file in kept
    )
