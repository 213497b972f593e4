"""Finds ranges between a disk's segments that the disk has lost and a tier may have.

By its file names, a local log that has lost a segment looks complete. So if the tier has a segment
at an offset without a local segment, the end of the local segment below it is read: brokers may
divide the same offsets into different segments. Effect: may read the end of a segment.
"""

from collections.abc import Iterator
from itertools import pairwise

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.tiered_replicas import TierReplica
from seglake.log_dirs.tier_layouts import end_of
from seglake.storage.storage import Storage


def lost_ranges(storage: Storage, local: Replica, tier: TierReplica) -> list[OffsetRange]:
    """Return the ranges between a replica's segments that only the tier may have.

    Each range begins at the start of a segment of the tier.

    Args:
        storage: storage of the disk.
        local: a replica on a broker's disk.
        tier: the log in the tier.

    Raises:
        StorageError: a local segment cannot be read.
    """
    return [*_lost(storage, local, tier)]


def _lost(storage: Storage, local: Replica, tier: TierReplica) -> Iterator[OffsetRange]:
    ends = {
        file.base_offset: file.remote.next_offset
        for file in tier.segments
        if file.remote is not None
    }
    ends |= {gap.start_offset: gap.next_offset for gap in tier.gaps}
    files = {file.base_offset: file for file in local.segments}
    unread = {segment.base_offset for segment in local.unread}
    for base, following in pairwise(sorted({*files, *unread})):
        start = ends.get(base, following)
        is_uploaded = base in files and base < start < following and start in ends
        if is_uploaded and end_of(storage, files[base]) <= start:
            yield start, following
