"""Finds the log start of a partition with a remote tier. Effect: may read the end of a log.

A wrong log start would hide the tier's segments below it.
"""

from collections.abc import Sequence

from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.remote_segments import Upload
from seglake.kafka_log.replica import Replica
from seglake.log_dirs.tier_layouts import end_of
from seglake.storage.storage import Storage


def first_local_offset(copies: Sequence[Replica]) -> int:
    """Return the lowest offset on the brokers' disks; OPEN_END if they have no segment."""
    starts = [file.base_offset for copy in copies for file in copy.segments]
    starts += [segment.base_offset for copy in copies for segment in copy.unread]
    return min(starts, default=OPEN_END)


def stated_log_start(
    storage: Storage, copies: Sequence[Replica], uploads: Sequence[Upload], notes: list[str]
) -> int | None:
    """Return the highest plausible log start in checkpoint files; None if there is none.

    Args:
        storage: storage of the disks.
        copies: replicas on the brokers' disks.
        uploads: the partition's uploads.
        notes: receives a sentence about a log start that exceeds the log's end.
    """
    uploaded = max((upload.next_offset for upload in uploads), default=0)
    starts = [_plausible(storage, copy, uploaded, notes) for copy in copies]
    return max((start for start in starts if start is not None), default=None)


def _plausible(storage: Storage, copy: Replica, uploaded: int, notes: list[str]) -> int | None:
    """Return a copy's log start; None if it exceeds the log's end."""
    claimed, last = copy.checkpoints.log_start_offset, copy.segments[-1:]
    end = max([uploaded, copy.durable_offset, *(file.base_offset for file in last)])
    if claimed is None or not end or claimed <= end:
        return claimed
    end = max([end, *(end_of(storage, file) for file in last)])
    if claimed <= end:
        return claimed
    notes.append(
        f"{copy.key}: the log start offset {claimed} is above the log end {end} and is ignored "
        "as implausible"
    )
    return None
