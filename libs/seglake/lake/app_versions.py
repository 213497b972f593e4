"""Reads the generations of a topic in the tables, and checks that they are consistent.

A topic's generation counts its commits. It is the version in Delta's `txn` action for the topic's
application id. Each commit advances the generation in the deciding table first and in the
publishing table last, and the topic's next commit begins only then. So publishing <= followers <=
deciding <= publishing + 1, where the followers are the other tables.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from seglake.lake.commit_port import NOW, CommitPort, Steps
from seglake.lake.errors import TablesDisagreeError

MAINTAIN_APP = "seglake/maintain"
"""Application id whose generation advances with each replacement of a table's files."""


class AppVersions(NamedTuple):
    """Generations of a topic: in the first table, the last table, and the lowest of the others."""

    deciding: int
    followers: int
    publishing: int

    @property
    def is_settled(self) -> bool:
        """Return whether all tables have the newest generation."""
        return self.deciding == self.publishing


def app_id(source_id: str, topic: str) -> str:
    """Return the topic's application id in Delta's `txn` actions."""
    return f"seglake/{source_id}/{topic}"


def version_steps(
    port: CommitPort, source_id: str, topics: Iterable[str]
) -> Steps[dict[str, AppVersions]]:
    """Return the newest generations of each topic.

    Other drivers may commit at the same time. A commit goes from table to table; the tables are
    read in the reverse order, so no table seems to lag behind a table that is committed later. If
    the first table is two generations above the last table, the last table has advanced meanwhile,
    and all tables are read again. All generations in one table come from the same snapshot.

    Raises:
        TablesDisagreeError: the generations cannot come from seglake's commits.
    """
    chosen = list(topics)
    found = yield from _read_once(port, source_id, chosen)
    while True:
        ahead = [topic for topic in chosen if found[topic].deciding > found[topic].publishing + 1]
        if not ahead:
            return found
        # Read all versions again: those of one commit must be from one snapshot of a table.
        before = found
        found = yield from _read_once(port, source_id, chosen)
        for topic in ahead:
            if before[topic].publishing == found[topic].publishing:
                first, last = port.commits_to.deciding.name, port.commits_to.publishing.name
                reason = f"{first} may be one ahead of {last}"
                raise TablesDisagreeError(topic=topic, versions=found[topic], reason=reason)


# Any: columns have many types.
def published_steps(
    port: CommitPort, source_id: str, topics: Iterable[str]
) -> Steps[tuple[dict[str, int], list[dict[str, Any]]]]:
    """Return each topic's published generation, and the ledger; the ledger is read later."""
    found = yield from version_steps(port, source_id, topics)
    yield NOW
    ledger = port.ledger(source_id)
    return {topic: version.publishing for topic, version in found.items()}, ledger


def _read_once(
    port: CommitPort, source_id: str, chosen: Sequence[str]
) -> Steps[dict[str, AppVersions]]:
    """Return the generations of topics after reading each table once."""
    by_table: dict[str, dict[str, int]] = {}
    for table in reversed(port.commits_to.of(chosen)):
        yield NOW
        view = port.newest(table)
        by_table[table.name] = {t: view.generation(app_id(source_id, t)) for t in chosen}
    found = {}
    for topic in chosen:
        # Tables in the order in which a commit writes them.
        chain = [by_table[table.name][topic] for table in port.commits_to.of([topic])]
        found[topic] = AppVersions(chain[0], min(chain[1:-1], default=chain[-1]), chain[-1])
        if chain != sorted(chain, reverse=True):
            reason = (
                f"no table may be ahead of one that is committed before it, but they are {chain}"
            )
            raise TablesDisagreeError(topic=topic, versions=found[topic], reason=reason)
    return found
