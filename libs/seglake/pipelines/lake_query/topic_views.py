"""Names of views for topics and their tables; each name means only one topic or table.

SQL names only have letters, digits and `_`, and engines ignore their case, so several topics may
lead to one name. In that case, no topic gets the name. Otherwise a later topic could get the name
of an earlier one, and answers would change silently.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_MOST_CHARACTERS = 255  # longest table name in Hive's metastore
_MARK_CHARACTERS = 8


class ViewNames(NamedTuple):
    """Names of one kind of views.

    Attributes:
        prefix: beginning of all names.
        meaning: what a name means, for messages.
        reserved: names of other views or tables that begin with the prefix; no view gets them.
        longer: number of characters by which the longest name made of a view's name exceeds it.
    """

    prefix: str
    meaning: str
    reserved: frozenset[str]
    longer: int = 0

    def views(self, sources: Iterable[str]) -> dict[str, str]:
        """Return the sources, such as topics, by the names of their views.

        A view's name is the prefix and the source's name, with `_` for characters that SQL names
        lack. If the name could also mean another source, a part of the source's hash is appended.
        """
        claims = self._claims(sources)
        views = {}
        for source in {*sources}:
            free = [name for name in self._names(source) if len(claims[name.casefold()]) == 1]
            if free:
                views[free[0]] = source
        return dict(sorted(views.items()))

    def confused(self, sources: Iterable[str]) -> dict[str, list[str]]:
        """Return the ambiguous names, in lower case, each with the sources that it could mean."""
        claims = self._claims(sources)
        return {name: sorted(found) for name, found in claims.items() if len(found) > 1}

    def confusion(self, name: str, sources: Iterable[str]) -> str | None:
        """Return an explanation of a name that could mean several sources; None for others."""
        meant = self.confused(sources).get(name.casefold())
        if meant is None:
            return None
        views = {source: view for view, source in self.views(sources).items()}
        asked = (f"{views.get(source, 'records')} for {source}" for source in meant)
        return (
            f"{name} could be the {self.meaning} {' or '.join(meant)}, which SQL does not"
            f" distinguish: query {', '.join(asked)}"
        )

    def _names(self, source: str) -> list[str]:
        """Return the possible names of a source's view, the preferred one first."""
        most = _MOST_CHARACTERS - self.longer
        name = f"{self.prefix}{_NOT_IN_NAMES.sub('_', source)}"
        mark = sha256(source.encode()).hexdigest()[:_MARK_CHARACTERS]
        marked = f"{name[: most - _MARK_CHARACTERS - 1]}_{mark}"
        is_free = len(name) <= most and name.casefold() not in self.reserved
        return [name, marked] if is_free else [marked]

    def _claims(self, sources: Iterable[str]) -> Mapping[str, set[str]]:
        """Return the possible view names of all sources, in lower case, each with its sources."""
        claims: dict[str, set[str]] = {}
        for source in {*sources}:
            for name in self._names(source):
                claims.setdefault(name.casefold(), set()).add(source)
        return claims


ALL_ROWS = "all_"
"""Prefix of the view with all rows of a typed table, including rows that its plain view omits."""

UNWRAPPED = "unwrapped_"
"""Prefix of the view that unwraps Debezium's envelopes in a typed table."""

NEWEST = "newest_"
"""Prefix of the view with the newest row of each decoded key; `UNWRAPPED` may follow."""

OF_TOPICS = ViewNames("topic_", "topic", frozenset({"topic_configs"}))
OF_TYPED_TABLES = ViewNames(
    "typed_",
    "table",
    frozenset({"typed_checkpoints", "typed_columns", "typed_places"}),
    longer=len(f"{NEWEST}{UNWRAPPED}"),
)
OF_LATEST_TABLES = ViewNames(
    "latest_", "topic", frozenset({"latest_records"}), longer=len(ALL_ROWS)
)
