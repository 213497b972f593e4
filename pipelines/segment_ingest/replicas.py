"""Several disks may hold copies of one partition: which one is read."""

from collections.abc import Iterable
from dataclasses import replace

from pipelines.segment_ingest.partition_log import PartitionKey, Replica


def choose(replicas: Iterable[Replica]) -> tuple[list[Replica], list[str]]:
    """One copy for each partition, sorted by topic and partition, and how many others there are.

    The highest last leader epoch wins, then the longest log: copies are never mixed, so no record
    comes twice. An unfinished copy to another disk counts only where it is alone. The high
    watermark is the highest of the copies that share the winner's last epoch, since each broker
    writes its own a few seconds late.
    """
    by_key: dict[PartitionKey, list[Replica]] = {}
    for replica in replicas:
        by_key.setdefault(replica.key, []).append(replica)
    chosen: list[Replica] = []
    left: list[Replica] = []
    for key in sorted(by_key, key=lambda key: (key.topic, key.partition, key.topic_id or "")):
        copies = sorted(by_key[key], key=_rank, reverse=True)
        left += copies[1:]
        chosen.append(_with_highest_watermark(copies[0], copies))
    return chosen, _notes(left)


def _notes(left: list[Replica]) -> list[str]:
    unfinished = sum(replica.is_future for replica in left)
    others = len(left) - unfinished
    notes = []
    if others:
        notes.append(f"{others} further replicas are not read: one copy of a partition is enough")
    if unfinished:
        notes.append(f"{unfinished} unfinished copies to other disks (-future) are not read")
    return notes


def _rank(replica: Replica) -> tuple[bool, int, int, int, str]:
    last = replica.segments[-1] if replica.segments else None
    return (
        not replica.is_future,
        replica.last_epoch,
        -1 if last is None else last.base_offset,
        -1 if last is None else last.size_bytes,
        replica.folder,
    )


def _with_highest_watermark(winner: Replica, copies: list[Replica]) -> Replica:
    marks = [
        copy.checkpoints.high_watermark
        for copy in copies
        if copy.last_epoch == winner.last_epoch
        and not copy.is_future
        and copy.checkpoints.high_watermark is not None
    ]
    if winner.is_future or not marks:
        return winner
    checkpoints = replace(winner.checkpoints, high_watermark=max(marks), has_high_watermarks=True)
    return replace(winner, checkpoints=checkpoints)
