"""Generations of a topic in each table, and the check that they can belong together. Pure.

A generation is the version in Delta's `txn` action for the topic's app. Records move first,
checkpoints last, and the next generation waits for both: `c <= b <= a <= c + 1`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from seglake.lake.commit_port import NOW, CommitPort, Steps
from seglake.lake.errors import TablesDisagreeError
from seglake.lake.tables import tables_of


class AppVersions(NamedTuple):
    """Generations of one topic, 0 for none; `followers` is the lowest of all other tables."""

    records: int
    followers: int
    checkpoints: int

    @property
    def is_settled(self) -> bool:
        """Return whether the newest generation is in every table."""
        return self.records == self.checkpoints


def app_id(source_id: str, topic: str) -> str:
    """Return the topic's application id in Delta's `txn` actions."""
    return f"seglake/{source_id}/{topic}"


def version_steps(
    port: CommitPort, source_id: str, topics: Iterable[str]
) -> Steps[dict[str, AppVersions]]:
    """Return the generations of topics, by topic, from the newest snapshots.

    Others may commit meanwhile. The tables are read in the reverse of the order in which they are
    committed, so that each is at least as new as those committed after it. If records then seem two
    ahead of checkpoints, checkpoints have moved, and another reading shows it. Generations of one
    table come from one snapshot.

    Raises:
        TablesDisagreeError: the generations cannot come from seglake's commits.
    """
    chosen = list(topics)
    found = yield from _read_once(port, source_id, chosen)
    while True:
        ahead = [topic for topic in chosen if found[topic].records > found[topic].checkpoints + 1]
        if not ahead:
            return found
        # Read all topics again, so that topics of one commit come from one snapshot of a table.
        before = found
        found = yield from _read_once(port, source_id, chosen)
        for topic in ahead:
            if before[topic].checkpoints == found[topic].checkpoints:
                reason = "records may be one ahead of checkpoints"
                raise TablesDisagreeError(topic=topic, versions=found[topic], reason=reason)


# Any: values of columns of many types.
def published_steps(
    port: CommitPort, source_id: str, topics: Iterable[str]
) -> Steps[tuple[dict[str, int], list[dict[str, Any]]]]:
    """Return the published generation of each topic, and then the ledger; see `published`."""
    found = yield from version_steps(port, source_id, topics)
    yield NOW
    ledger = port.ledger(source_id)
    return {topic: version.checkpoints for topic, version in found.items()}, ledger


def _read_once(
    port: CommitPort, source_id: str, chosen: Sequence[str]
) -> Steps[dict[str, AppVersions]]:
    """Return the generations of topics from one reading of each table."""
    by_table: dict[str, dict[str, int]] = {}
    for table in reversed(tables_of(chosen)):
        yield NOW
        view = port.newest(table)
        by_table[table.name] = {t: view.generation(app_id(source_id, t)) for t in chosen}
    found = {}
    for topic in chosen:
        # Records first, checkpoints last.
        chain = [by_table[table.name][topic] for table in tables_of([topic])]
        found[topic] = AppVersions(chain[0], min(chain[1:-1]), chain[-1])
        if chain != sorted(chain, reverse=True):
            reason = (
                f"no table may be ahead of one that is committed before it, but they are {chain}"
            )
            raise TablesDisagreeError(topic=topic, versions=found[topic], reason=reason)
    return found
