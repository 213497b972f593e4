"""Reads the events of a remote tier from all copies of their topic.

Copies of one partition of `__remote_log_metadata` may have been made at different times, so each
may lack events that another copy has: at its start because of retention, at its end, or because of
damage.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.remote_events import RemoteLog, remote_logs
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import likely
from seglake.log_dirs.batch_walk import LogHeads
from seglake.segment_codec.formats.internal_topics.framed_message import FramedMessage
from seglake.segment_codec.formats.internal_topics.remote_log_records import remote_log_record
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.storage.storage import Storage


class _Event(NamedTuple):
    """Event with its offset and the rank of its copy; 0 is the likely leader."""

    offset: int
    rank: int
    message: FramedMessage


@dataclass(slots=True)
class _Coverage:
    """Offsets in the copies of a partition.

    Attributes:
        expected: offsets between the start and the end of each copy.
        read: offsets of all readable batches.
    """

    expected: list[OffsetRange] = field(default_factory=list)
    read: list[OffsetRange] = field(default_factory=list)

    @property
    def holes(self) -> list[OffsetRange]:
        """Return the expected offsets that no copy has."""
        read = merged(self.read)
        return [hole for part in merged(self.expected) for hole in subtracted(part, read)]


def read_events(
    storage: Storage, replicas: Sequence[Replica], unreadable: dict[str, str]
) -> dict[PartitionKey, RemoteLog]:
    """Return the uploads in the events on brokers' disks, by partition.

    Events above the high watermark are read too: their uploads are finished or deleted, even if the
    events are not replicated yet.

    Args:
        storage: storage of the disks.
        replicas: replicas of `__remote_log_metadata`.
        unreadable: receives the reason, by folder, if all copies lack the same events.
    """
    found: dict[PartitionKey, RemoteLog] = {}
    for copies in grouped((copy.key.partition, copy) for copy in replicas).values():
        coverage = _Coverage()
        logs = remote_logs(_messages(storage, copies, coverage))
        if coverage.holes:
            (start, stop), *_ = coverage.holes
            unreadable[likely(copies).folder] = (
                f"events of uploads are missing at [{start}, {stop}): uploads that only these "
                "events describe may be unfinished"
            )
        elif _is_whole(copies, merged(coverage.read)):
            logs = {key: replace(log, is_whole=True) for key, log in logs.items()}
        found |= logs
    return found


def _is_whole(copies: Sequence[Replica], read: Sequence[OffsetRange]) -> bool:
    """Return whether copies have all events from offset 0 to the end of each copy."""
    unread = [segment.base_offset for copy in copies for segment in copy.unread]
    end = read[0][1] if read else 0
    return [start for start, _ in read] == [0] and all(offset < end for offset in unread)


def _messages(
    storage: Storage, copies: Sequence[Replica], coverage: _Coverage
) -> Iterator[FramedMessage]:
    """Yield each event of a partition once, in the order of offsets.

    If several replicas have an event, the likely leader's copy is used.
    """
    leader = likely(copies)
    epochs = leader_epochs_of(leader.epochs)
    streams = [_events(storage, leader, 0, OFFSET_MAX, coverage)]
    for rank, copy in enumerate(copies, start=1):
        if copy is not leader and copy.key.topic_id in (None, leader.key.topic_id):
            lost_from = epochs.divergence_offset(leader_epochs_of(copy.epochs))
            streams.append(_events(storage, copy, rank, min(lost_from, OFFSET_MAX), coverage))
    reached = -1
    for event in heapq.merge(*streams, key=lambda event: event[:2]):
        if event.offset > reached:
            reached = event.offset
            yield event.message


def _events(
    storage: Storage, copy: Replica, rank: int, stop_offset: int, coverage: _Coverage
) -> Iterator[_Event]:
    """Yield the events of one copy below an offset, and record which offsets it has.

    The copy lost an election at `stop_offset`.
    """
    heads = LogHeads(storage, copy.segments, 0, copy.durable_offset)
    batches = heads.between((0, stop_offset))
    end = start = copy.log_start_offset
    read: list[OffsetRange] = []
    try:
        for head in batches:
            records = heads.records(head)
            end = max(end, head.last_offset + 1)
            if records:
                read = merged([*read, (head.first_offset, end)])
            for record in records:
                yield _Event(record.offset, rank, remote_log_record(record.value))
    finally:
        batches.close()
    marked = min(copy.checkpoints.high_watermark or 0, stop_offset)
    if marked > end and not _has_grown(storage, copy):
        end = marked
    coverage.expected.append((start, end))
    coverage.read += read


def _has_grown(storage: Storage, copy: Replica) -> bool:
    """Return whether a running broker has written to a copy since its segments were listed."""
    last = copy.segments[-1] if copy.segments else None
    info = None if last is None else storage.info(last.path)
    return last is not None and info is not None and info.size_bytes > last.size_bytes
