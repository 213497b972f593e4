"""Decides which source the rows of disks belong to. Pure.

The cluster id in meta.properties is the source. Brokers before 2.4 may write none: then the user
names the source, and once an id appears, the lake joins both.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.partition_replica import examples


class KnownSources(Protocol):
    """Sources that a lake knows; read only if needed."""

    @property
    def sources(self) -> Collection[str]:
        """Return the sources with rows in the lake."""

    @property
    def joined(self) -> Mapping[str, str]:
        """Return the source by cluster id, for ids with another source than the id itself."""


@dataclass(frozen=True, slots=True)
class NoSources:
    """Sources of a lake without rows, or of none."""

    sources: Collection[str] = ()
    joined: Mapping[str, str] = field(default_factory=dict)


class SourceId(NamedTuple):
    """Source of some disks.

    Attributes:
        cluster_id: cluster id in their meta.properties, None without one.
    """

    source_id: str
    cluster_id: str | None


def source_id_of(
    named: Mapping[str, str],
    log_dirs: Iterable[str],
    *,
    given: str | None,
    unnamed: str | None,
    known: KnownSources,
) -> SourceId:
    """Return the source of log dirs.

    Args:
        named: cluster ids by path, for log dirs that name one.
        log_dirs: paths of all log dirs, for messages.
        given: the user's name for the source, None without one.
        unnamed: id to use if nothing else names the source, None if something must.
        known: sources that the lake knows.

    Raises:
        WrongSourceError: there are several cluster ids, or none, or the name belongs to another.
    """
    cluster_ids = sorted(set(named.values()))
    if len(cluster_ids) > 1:
        of_each = (
            f"{cluster}: {examples(path for path in named if named[path] == cluster)}"
            for cluster in cluster_ids
        )
        raise WrongSourceError(
            "the sources belong to different clusters: make one call for each. "
            + "; ".join(of_each)
        )
    if cluster_ids:
        return SourceId(_of_cluster(cluster_ids[0], given, known), cluster_ids[0])
    found = given or unnamed
    if found is None:
        raise WrongSourceError(
            "no meta.properties names a cluster id: give --source-id, the same in every run. The id"
            " is in ZooKeeper at /cluster/id, and kafka-cluster.sh cluster-id prints it; a name of"
            f" your own will do. Looked for in {examples(log_dirs)}"
        )
    return SourceId(known.joined.get(found, found), None)


def _of_cluster(cluster_id: str, given: str | None, known: KnownSources) -> str:
    """Return the source of a cluster id; refuse a user's name that contradicts it."""
    own = known.joined.get(cluster_id, cluster_id)
    if given in (None, own, cluster_id):
        return own
    wrong = f"meta.properties names cluster {cluster_id}, --source-id says {given}"
    if own != cluster_id:
        raise WrongSourceError(f"{wrong}, and the lake has that cluster as {own}: leave it out")
    if given not in known.sources:
        raise WrongSourceError(f"{wrong}: leave --source-id out")
    if cluster_id in known.sources:
        raise WrongSourceError(
            f"{wrong}, and the lake has rows of both: they cannot be joined. Leave --source-id "
            "out, or begin another lake"
        )
    others = [cluster for cluster, name in known.joined.items() if name == given]
    if others:
        raise WrongSourceError(f"{wrong}, which is cluster {others[0]} in this lake: leave it out")
    return given
