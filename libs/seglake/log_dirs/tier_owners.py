"""Decides which remote tiers belong to the cluster of a run.

A tier does not name its cluster, but its folders have topic ids, which are random. If the cluster
has one of these topic ids, the tier is the cluster's. If it has none of them, but has a topic of
the same name with another id, the tier belongs to another cluster. Tiers that share an id belong to
one cluster: `key.prefix` may have changed.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from seglake.kafka_log.replica import PartitionKey
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.partition_replica import examples

_MADE_AGAIN = (
    "If all its topics were created again, --set tiered.take_other_ids=true reads the tier, too"
)

TopicIds = Mapping[str, Set[str]]
"""Ids of each topic; a topic that was created again has several."""


@dataclass(frozen=True, slots=True)
class TierOwners:
    """Remote tiers without proof that they belong to the cluster.

    Attributes:
        foreign: why a tier belongs to another cluster, by the tier's path.
        unproved: why it is unknown whether a tier belongs to the cluster, by the tier's path.
    """

    foreign: Mapping[str, str] = field(default_factory=dict)
    unproved: Mapping[str, str] = field(default_factory=dict)


class _Group(NamedTuple):
    """Tiers that share topic ids, so they belong to one cluster, and their partitions."""

    tiers: list[str]
    keys: list[PartitionKey]


def tier_owners(
    tiers: Mapping[str, Iterable[PartitionKey]],
    known: Iterable[PartitionKey],
    further: Callable[[], TopicIds],
    *,
    includes_other_ids: bool = False,
) -> TierOwners:
    """Decide by topic ids which tiers belong to the cluster.

    Args:
        tiers: partitions in each tier, by its path.
        known: partitions of the cluster.
        further: reads the other topic ids of the cluster; called only if `known` leaves a tier
            without proof.
        includes_other_ids: whether to accept tiers with other ids of the same topics, because a
            person says that the topics were created again.
    """
    ids = {key.topic_id for key in known}
    rest = [group for group in _groups(tiers) if not _has_any(group.keys, ids)]
    if not rest:
        return TierOwners()
    of_cluster: dict[str, set[str]] = {topic: {*ids} for topic, ids in further().items()}
    for key in known:
        if key.topic_id is not None:
            of_cluster.setdefault(key.topic, set()).add(key.topic_id)
    every = {topic_id for ids in of_cluster.values() for topic_id in ids}
    rest = [group for group in rest if not _has_any(group.keys, every)]
    foreign = {} if includes_other_ids else _contradicting(rest, of_cluster)
    return TierOwners(
        foreign,
        {
            tier: _unproved(tier, group.keys)
            for group in rest
            for tier in group.tiers
            if tier not in foreign
        },
    )


def _groups(tiers: Mapping[str, Iterable[PartitionKey]]) -> list[_Group]:
    """Join the tiers that share topic ids, as after a change of `key.prefix`."""
    groups: list[_Group] = []
    for tier, partitions in sorted(tiers.items()):
        keys = [*partitions]
        ids = {key.topic_id for key in keys}
        same = [group for group in groups if _has_any(group.keys, ids)]
        groups = [group for group in groups if group not in same]
        names = [name for group in same for name in group.tiers]
        groups.append(_Group([*names, tier], [key for group in same for key in group.keys] + keys))
    return groups


def _contradicting(groups: Sequence[_Group], of_cluster: TopicIds) -> dict[str, str]:
    """Return why tiers are another cluster's: a topic has another id in the cluster or a tier."""
    found: dict[str, str] = {}
    for group in groups:
        other = min((key for key in group.keys if key.topic in of_cluster), default=None)
        if other is not None:
            own = of_cluster[other.topic]
            found |= {tier: _foreign(tier, other, own) for tier in group.tiers}
    open_groups = [group for group in groups if not found.keys() & group.tiers]
    for one, other_group in combinations(open_groups, 2):
        topics = {key.topic: key for key in one.keys}
        same = min((key for key in other_group.keys if key.topic in topics), default=None)
        if same is not None:
            why = _two_clusters(one.tiers[0], topics[same.topic], other_group.tiers[0], same)
            found |= dict.fromkeys([*one.tiers, *other_group.tiers], why)
    return found


def require_own(owners: TierOwners, *, is_named: bool) -> None:
    """Require that tiers without a log dir belong to the cluster.

    Args:
        owners: the tiers without proof that they belong to the cluster.
        is_named: whether a person named the cluster, or no other cluster is possible.

    Raises:
        WrongSourceError: a tier belongs to another cluster, or only the lake names its cluster.
    """
    for reason in owners.foreign.values():
        raise WrongSourceError(reason)
    for reason in () if is_named else owners.unproved.values():
        raise WrongSourceError(f"{reason}. If the tier is the cluster's, give --source-id, too")


def _has_any(keys: Iterable[PartitionKey], topic_ids: Container[str | None]) -> bool:
    return any(key.topic_id is not None and key.topic_id in topic_ids for key in keys)


def _foreign(tier: str, key: PartitionKey, own: Set[str]) -> str:
    return (
        f"{tier} is another cluster's tier: topic {key.topic} has the id {key.topic_id}, not "
        f"{examples(own)}, and no topic's id is this cluster's. Leave it out, or give it alone "
        f"with another --source-id. {_MADE_AGAIN}"
    )


def _two_clusters(one: str, key: PartitionKey, other: str, other_key: PartitionKey) -> str:
    return (
        f"{one} and {other} are tiers of two clusters: topic {key.topic} has the id {key.topic_id} "
        f"in one and {other_key.topic_id} in the other, and they have no id in common. Give one "
        f"alone. {_MADE_AGAIN}"
    )


def _unproved(tier: str, keys: Iterable[PartitionKey]) -> str:
    return (
        f"only this call says that {tier} is the cluster's: no disk, event or earlier run has the "
        f"id of one of its topics ({examples({key.topic for key in keys})})"
    )
