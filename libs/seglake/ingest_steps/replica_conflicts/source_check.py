"""Refuses disks whose rows the lake has under another source's name."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from seglake.ingest_steps.planning.isolation import check_isolation
from seglake.ingest_steps.replica_conflicts.log_check import FoundLog, found_logs
from seglake.ingest_steps.run_context import RunContext, is_unjoined, published
from seglake.kafka_log.log_identity import difference
from seglake.kafka_log.replica import Replica
from seglake.kafka_log.replica_selection import likely, replicas_by_partition
from seglake.log_dirs.discovery import Discovery
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.known_sources import LakeSources, join_source
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_codec.formats.side_files.tier_names import is_uuid

_AT_ONCE = 64


class _Answer(NamedTuple):
    """Result of a comparison: a log that is both on disk and in the lake, or one that differs."""

    same: FoundLog | None
    other: FoundLog | None


def check_source(discovery: Discovery, known: LakeSources, context: RunContext) -> None:
    """Refuse disks whose rows the lake has under another source's name.

    There are two cases. If a person names a cluster whose id is new to the lake, the disks must
    have the logs that the lake has under that name. If the lake has rows, but none of this source,
    the disks must not have logs that the lake has of another source.

    Args:
        discovery: the listed sources.
        known: sources of the lake.
        context: the run.

    Raises:
        WrongSourceError: the message names a batch that disks and lake have, or a batch that
            differs.
        IsolationConflictError: the lake has a topic under that name with another isolation level.
    """
    if is_unjoined(discovery, known):
        _check_name(discovery, context)
        topics = {replica.key.topic for replica in discovery.replicas}
        check_isolation(sorted(topics), published(context, [])[1], context.settings)
        return
    is_named = discovery.cluster_id is not None and context.settings.source.source_id is not None
    if context.tables.exists() and not is_named:
        _check_others(discovery, known, context)


def joined_source(discovery: Discovery, known: LakeSources, context: RunContext) -> list[str]:
    """Record that a cluster id and a name are one source; return a note on it.

    Args:
        discovery: the listed sources.
        known: sources of the lake.
        context: the run.

    Raises:
        WrongSourceError: another run has joined the id or the name to something else.
    """
    cluster_id, source_id = discovery.cluster_id, discovery.source_id
    if cluster_id is None or not is_unjoined(discovery, known):
        return []
    if not context.is_dry_run:
        check = partial(_check_joined, cluster_id, source_id)
        join_source(context.tables, cluster_id, source_id, check)
    return [
        f"cluster {cluster_id} has the logs that this lake has as {source_id}: they keep this "
        "name, and later runs need no --source-id"
    ]


def _check_joined(cluster_id: str, source_id: str, joined: Mapping[str, str]) -> None:
    """Refuse to join a cluster id and a name if another run has joined either to something else.

    Args:
        cluster_id: the cluster id.
        source_id: the name.
        joined: the names that runs have joined with a cluster id so far, by cluster id.

    Raises:
        WrongSourceError: the message names the id and the name that the other run joined.
    """
    pairs = [pair for pair in joined.items() if cluster_id == pair[0] or source_id == pair[1]]
    for other_id, name in pairs:
        if (other_id, name) != (cluster_id, source_id):
            raise WrongSourceError(
                f"another run has joined cluster {other_id} with {name}: cluster {cluster_id} "
                f"cannot be joined with {source_id}. Omit --source-id"
            )


def _check_name(discovery: Discovery, context: RunContext) -> None:
    cluster_id, source_id = discovery.cluster_id, discovery.source_id
    found = _compared(discovery.replicas, source_id, context)
    if found.same is not None:
        return
    wrong = f"cluster {cluster_id} cannot be joined with {source_id}"
    if found.other is not None:
        replica, ingested, batch = found.other.replica, found.other.ingested, found.other.found
        raise WrongSourceError(
            f"{wrong}: of {replica.key} {difference(ingested, batch)} in {replica.folder}. It "
            "is another cluster: omit --source-id"
        )
    raise WrongSourceError(
        f"{wrong}: the lake has no batch of these disks under that name, so nothing shows that "
        "both are one cluster. Omit --source-id, or begin another lake"
    )


def _check_others(discovery: Discovery, known: LakeSources, context: RunContext) -> None:
    """If this source has no rows, require that the lake has these logs of no other source.

    Two sources that each have a cluster id from Kafka are different clusters.
    """
    source_id, is_named = discovery.source_id, discovery.cluster_id is not None
    others = [
        name
        for name in sorted(context.ledger.sources() - {source_id})
        if not (is_named and (is_uuid(name) or name in known.joined.values()))
    ]
    if not others:
        return
    own = SourceLedger(context.ledger.rows(source_id))
    fresh = [copy for copy in discovery.replicas if not own.of(own.named(copy).key).covered]
    for name in others:
        found = _compared(fresh, name, context).same
        if found is not None:
            raise WrongSourceError(
                f"{found.replica.folder} is a log that this lake has as {name}, not as "
                f"{source_id}: both have the batch at offset {found.found.base_offset} with "
                f"checksum {found.found.crc:#010x}. {_advice(discovery, name, found, own)}"
            )


def _advice(discovery: Discovery, name: str, found: FoundLog, own: SourceLedger) -> str:
    if own.topics:
        return (
            "The lake has rows of both, and cannot join them: leave the topic out with --topics "
            f"'!{found.replica.key.topic}', or begin another lake"
        )
    if discovery.cluster_id is None:
        return f"Give --source-id {name}, as in the runs before"
    return (
        f"Give --source-id {name}, which joins the two; later runs need no --source-id. If it is "
        f"another cluster, say so with --source-id {discovery.cluster_id}"
    )


def _compared(replicas: Iterable[Replica], source_id: str, context: RunContext) -> _Answer:
    """Return the first log that disks and lake have in common, under the source's name.

    If there is none, return a log that differs from the lake's.
    """
    other = replace(context, source_id=source_id)
    _, ledger = published(other, [])
    lake = IngestedBatches(context.tables, source_id, ledger)
    logs = replicas_by_partition(map(ledger.named, replicas))
    chosen = [likely(log) for log in logs if log[0].segments]
    differs: FoundLog | None = None
    for start in range(0, len(chosen), _AT_ONCE):
        for found in found_logs(chosen[start : start + _AT_ONCE], ledger, lake, other):
            if found.is_same:
                return _Answer(found, None)
            differs = differs or found
    return _Answer(None, differs)
