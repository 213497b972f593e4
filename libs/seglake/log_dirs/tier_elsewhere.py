"""Shows from events that a log continues below its first segment, in a tier that is no source.

Without the tier and without `remote-log-index-cache` in the log dir, such offsets look lost. Only
then the events are read: from the disks, or else from the lake.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from seglake.kafka_log.log_starts import undeleted_start
from seglake.kafka_log.remote_events import RemoteLog, RemoteState, remote_logs
from seglake.kafka_log.remote_segments import tier_log
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.log_dirs.tier_events import read_events
from seglake.log_dirs.tier_layouts import described
from seglake.segment_codec.formats.internal_topics.remote_log_records import remote_log_record
from seglake.storage.storage import Storage


def with_tiers_elsewhere(
    storage: Storage,
    replicas: Sequence[Replica],
    on_disks: Callable[[], Sequence[Replica]],
    in_lake: Callable[[], Iterable[bytes | None]],
) -> list[Replica]:
    """Return the replicas; add the tier to logs whose lost start is remote by their events.

    Args:
        storage: storage of the disks.
        replicas: selected replicas on the brokers' disks.
        on_disks: returns the replicas of `__remote_log_metadata`.
        in_lake: returns the values of `__remote_log_metadata` in the lake, by partition and offset.
    """
    doubtful = {replica.key for replica in replicas if undeleted_start(replica) is not None}
    if not doubtful:
        return [*replicas]
    logs = read_events(storage, on_disks(), {})
    if any(_log_of(key, logs) is None for key in doubtful):
        logs = remote_logs(map(remote_log_record, in_lake())) | logs
    return [
        replica if log is None else _with_tier(replica, log)
        for replica in replicas
        for log in [_log_of(replica.key, logs) if replica.key in doubtful else None]
    ]


def _log_of(key: PartitionKey, logs: Mapping[PartitionKey, RemoteLog]) -> RemoteLog | None:
    """Return a partition's uploads; without a topic id, those of the only topic with its name."""
    if key.topic_id is not None:
        return logs.get(key)
    same = [log for other, log in logs.items() if other[:2] == key[:2]]
    return same[0] if len(same) == 1 else None


def _with_tier(replica: Replica, log: RemoteLog) -> Replica:
    """Return a replica with the log start by its uploads, if an upload has its lost offsets."""
    lost = undeleted_start(replica)
    live = [copy for copy in log.copies.values() if copy.state is RemoteState.COPY_FINISHED]
    if lost is None or not any(
        copy.start_offset < lost.offsets[1] and lost.offsets[0] < copy.next_offset for copy in live
    ):
        return replica
    claimed = replica.checkpoints.log_start_offset
    tier = tier_log(
        [described(copy, None) for copy in log.copies.values() if copy.was_finished],
        log_start=min(copy.start_offset for copy in live) if claimed is None else claimed,
        local_start=lost.offsets[1],
        includes_unknown=False,
    )
    checkpoints = replica.checkpoints._replace(
        has_remote_tier=True, log_start_offset=tier.log_start
    )
    return replica._replace(checkpoints=checkpoints)
