"""Adds missing topic ids to replicas, and finds topics that were created again."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from seglake.kafka_log.replica import PartitionKey, Replica


def with_known_topic_ids(replicas: Sequence[Replica]) -> list[Replica]:
    """Return the replicas; a missing id becomes the only id of the topic's other folders."""
    return [*_with_only_ids(replicas, _ids_by_topic(replicas))]


def made_again_notes(replicas: Iterable[Replica]) -> list[str]:
    """Return a note for each topic that was created again: its logs have several topic ids."""
    return [
        f"topic {topic} has {len(ids)} topic ids: it was created again"
        for topic, ids in sorted(_ids_by_topic(replicas).items())
        if len(ids) > 1
    ]


def _ids_by_topic(replicas: Iterable[Replica]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for replica in replicas:
        if replica.key.topic_id is not None:
            known.setdefault(replica.key.topic, set()).add(replica.key.topic_id)
    return known


def with_ids_of_tiers(
    replicas: Sequence[Replica], events: Sequence[PartitionKey], tiers: Sequence[PartitionKey]
) -> list[Replica]:
    """Return the replicas with topic ids, so that local and remote segments belong to one log.

    Args:
        replicas: replicas on the brokers' disks.
        events: partitions that events of a remote tier name; their ids are used if there are any.
        tiers: partitions in the remote tiers.
    """
    known: dict[str, set[str | None]] = {}
    for keys in (events, tiers):
        named = {key.topic for key in keys} - known.keys()
        for key in keys:
            if key.topic in named:
                known.setdefault(key.topic, set()).add(key.topic_id)
    return [*_with_only_ids(replicas, known)]


def _with_only_ids(
    replicas: Iterable[Replica], known: Mapping[str, Collection[str | None]]
) -> Iterator[Replica]:
    """Yield the replicas; one without a topic id gets the only known id of its topic."""
    for replica in replicas:
        ids = known.get(replica.key.topic, ())
        if replica.key.topic_id is None and len(ids) == 1:
            replica = replica._replace(key=replica.key._replace(topic_id=next(iter(ids))))
        yield replica
