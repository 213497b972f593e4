"""Decides the source id of log dirs: the name under which the lake stores their rows.

The source id is the cluster id in meta.properties. Brokers before Kafka 2.4 may not write a cluster
id: then the user names the source. If a cluster id appears later, the lake records that this id
belongs to the named source.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from seglake.kafka_log.known_sources import KnownSources
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.partition_replica import examples


class SourceId(NamedTuple):
    """Source id of log dirs, and their cluster id.

    Attributes:
        cluster_id: cluster id in meta.properties; None if there is none.
    """

    source_id: str
    cluster_id: str | None


def source_id_of(
    named: Mapping[str, str],
    log_dirs: Iterable[str],
    *,
    ignored: Iterable[str],
    given: str | None,
    unnamed: str | None,
    known: KnownSources,
) -> SourceId:
    """Return the source id of log dirs.

    Args:
        named: cluster ids by the path of the log dir.
        log_dirs: paths of all log dirs, for messages.
        ignored: for each damaged meta.properties, why it is ignored, for messages.
        given: the user's name for the source (--source-id); None if the user gave none.
        unnamed: source id if there is neither a cluster id nor a user's name; None to raise an
            error in this case.
        known: sources in the lake.

    Raises:
        WrongSourceError: the log dirs have several cluster ids; or there is no cluster id and no
            name; or the user's name contradicts the cluster id.
    """
    cluster_ids = sorted(set(named.values()))
    if len(cluster_ids) > 1:
        of_each = (
            f"{cluster}: {examples(path for path in named if named[path] == cluster)}"
            for cluster in cluster_ids
        )
        raise WrongSourceError(
            "the sources belong to different clusters: make one call for each cluster. "
            + "; ".join(of_each)
        )
    if cluster_ids:
        return SourceId(_of_cluster(cluster_ids[0], given, known), cluster_ids[0])
    found = given or unnamed
    if found is None and not [*log_dirs]:
        raise WrongSourceError(
            "a remote tier does not name its cluster: give --source-id, the cluster's id or a "
            "name of your own, the same in every run; or give a log dir of one of its brokers, too"
        )
    if found is None:
        raise WrongSourceError(
            "no meta.properties has a cluster id: give --source-id, the same in every run. The id"
            " is in ZooKeeper at /cluster/id, and kafka-cluster.sh cluster-id prints it; any name"
            f" that you choose works too. Searched: {'. '.join([examples(log_dirs), *ignored])}"
        )
    return SourceId(known.joined.get(found, found), None)


def _of_cluster(cluster_id: str, given: str | None, known: KnownSources) -> str:
    """Return the source id of a cluster; reject a user's name that contradicts the cluster id."""
    own = known.joined.get(cluster_id, cluster_id)
    if given in (None, own, cluster_id):
        return own
    wrong = f"meta.properties names cluster {cluster_id}, --source-id is {given}"
    if own != cluster_id:
        raise WrongSourceError(f"{wrong}, and the lake has that cluster as {own}: omit --source-id")
    if given not in known.sources:
        raise WrongSourceError(f"{wrong}: omit --source-id")
    if cluster_id in known.sources:
        raise WrongSourceError(
            f"{wrong}, and the lake has rows of both, which cannot be joined. Omit --source-id, "
            "or start another lake"
        )
    others = [cluster for cluster, name in known.joined.items() if name == given]
    if others:
        raise WrongSourceError(
            f"{wrong}, which is cluster {others[0]} in this lake: omit --source-id"
        )
    return given
