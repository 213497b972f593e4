"""Which logs without news must be looked at all the same, to know how far they go. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from seglake.kafka_log.observation import Observation, listing_of
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import likely


def moved_logs(
    logs: Iterable[Sequence[Replica]],
    newest: Mapping[PartitionKey, Observation],
    upper_bound: UpperBound,
) -> list[Sequence[Replica]]:
    """The logs whose end is not listed as it was when it was seen last; see `listing_of`."""
    return [
        log
        for log in logs
        if any(copy.segments for copy in log)
        and not _is_known(newest.get(log[0].key), log, upper_bound)
    ]


def copy_seen(earlier: Observation, log: Sequence[Replica]) -> Replica:
    """The replica that an observation tells of, as far as that can be told."""
    same = [copy for copy in log if copy.broker_id == earlier.broker_id]
    return same[0] if len(same) == 1 else likely(log)


def _is_known(earlier: Observation | None, log: Sequence[Replica], upper_bound: UpperBound) -> bool:
    return earlier is not None and earlier.listing == listing_of(log, upper_bound)
