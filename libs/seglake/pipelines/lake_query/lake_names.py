"""Names of the tables and views that depend on a lake's topics."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from seglake.lake.delta_tables import LakeTables
from seglake.lake.duckdb_sql import literal
from seglake.lake.latest_tables import LatestTable, latest_tables
from seglake.lake.tables import RECORDS, TABLES, Table
from seglake.lake.typed_tables import TYPED_FOLDER, TypedTable, typed_tables
from seglake.lake.value_tables import VALUE_REJECTS, VALUE_TABLES
from seglake.pipelines.lake_query.newest_views import (
    mark_of,
    newest_typed_view,
    newest_unwrapped_view,
)
from seglake.pipelines.lake_query.topic_views import (
    ALL_ROWS,
    NEWEST,
    OF_LATEST_TABLES,
    OF_TOPICS,
    OF_TYPED_TABLES,
    UNWRAPPED,
    ViewNames,
)
from seglake.pipelines.lake_query.views import Dialect, escaped, query, topic_view
from seglake.proof.queries import typed_places
from seglake.value_codec.connect.debezium import unwrapped_sql

QUERIED_TABLES = (*TABLES, *VALUE_TABLES)
"""Tables with fixed names, in the order of commits; typed tables follow `value_rejects`."""

VALUE_VIEWS: Mapping[str, str] = {"current_value_rejects": query("current_value_rejects")}
"""Views that need the tables of `deserialize`."""


TYPED_PLACES = "typed_places"

TypedTables = Callable[[], Sequence[TypedTable]]
"""Function that returns the typed tables of a lake."""


LatestTables = Callable[[], Sequence[LatestTable]]
"""Function that returns the tables of latest state that a lake has."""


def typed_tables_of(lake: LakeTables) -> TypedTables:
    """Return a function that reads a lake's typed tables."""
    return partial(typed_tables, lake)


def latest_tables_of(lake: LakeTables) -> LatestTables:
    """Return a function that reads the tables of latest state that a lake has."""
    return partial(latest_tables, lake)


class LakeNames:
    """Names in a lake that depend on its topics; each list is read when it is first needed."""

    def __init__(
        self,
        topics: Callable[[], Collection[str]],
        typed: TypedTables = tuple,
        latest: LatestTables = tuple,
        *,
        has_values: bool = True,
    ) -> None:
        """Store the functions that read the lists.

        Args:
            topics: returns all topics.
            typed: returns all typed tables.
            latest: returns all tables of latest state.
            has_values: whether the lake has `VALUE_TABLES`.
        """
        self._topics = topics
        self._typed = typed
        self._latest = latest
        self.has_values = has_values

    @cached_property
    def topics(self) -> Collection[str]:
        """Return all topics."""
        return self._topics()

    @cached_property
    def typed(self) -> Mapping[str, TypedTable]:
        """Return the typed tables by the names of their views."""
        found = {name_of(each): each for each in self._typed()}
        return {view: found[name] for view, name in OF_TYPED_TABLES.views(found).items()}

    @cached_property
    def latest(self) -> Mapping[str, LatestTable]:
        """Return the tables of latest state by the names of their views."""
        found = {each.topic: each for each in self._latest()}
        return {view: found[topic] for view, topic in OF_LATEST_TABLES.views(found).items()}

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """Return all tables by their SQL names, in the order of commits."""
        found: dict[str, Table] = {}
        for table in QUERIED_TABLES if self.has_values else TABLES:
            found[table.name] = table
            if table == VALUE_REJECTS:
                found |= {f"{ALL_ROWS}{view}": each.table for view, each in self.typed.items()}
        return found | {f"{ALL_ROWS}{view}": each.table for view, each in self.latest.items()}

    def unwrapped(self, dialect: Dialect) -> Mapping[str, str]:
        """Return the views that unwrap Debezium's envelopes: SQL by name."""
        found = {
            f"{UNWRAPPED}{name}": unwrapped_sql(name, [*each.table.schema], mark_of(dialect))
            for name, each in self.typed.items()
        }
        return {name: sql for name, sql in found.items() if sql is not None}

    def newest(self, dialect: Dialect) -> Mapping[str, str]:
        """Return the views with the newest row of each decoded key: SQL by name, in order."""
        states = {each.topic: name for name, each in self.latest.items()}
        found: dict[str, str] = {}
        for name, each in self.typed.items():
            if each.topic in states:
                newest = f"{NEWEST}{name}"
                found[newest] = newest_typed_view(each, name, states[each.topic], dialect)
                unwrapped = newest_unwrapped_view(each, name, newest, dialect)
                if unwrapped is not None:
                    found[f"{NEWEST}{UNWRAPPED}{name}"] = unwrapped
        return found

    def views(
        self, dialect: Dialect, is_asked: Callable[[str], bool] = lambda prefix: True
    ) -> Iterator[tuple[str, str, str]]:
        """Yield name, description and SQL of each view, in creation order.

        Args:
            dialect: the SQL of the views.
            is_asked: whether views whose names begin with a prefix are needed.
        """
        if is_asked(OF_TOPICS.prefix):
            for name, topic in OF_TOPICS.views(self.topics).items():
                yield name, f"records of the topic {topic}", topic_view(topic)
        for name, sql in VALUE_VIEWS.items() if self.has_values else ():
            yield name, "keys and values that do not decode", sql
        if is_asked(OF_TYPED_TABLES.prefix):
            if self.has_values:
                yield TYPED_PLACES, "places of the rows of all typed tables", self.places()
            for name, each in self.typed.items():
                yield name, f"decoded values of the topic {each.topic}", typed_view(name, each)
            for name, sql in self.unwrapped(dialect).items():
                yield name, "rows in Debezium's envelopes", sql
        if is_asked(OF_LATEST_TABLES.prefix):
            for name, state in self.latest.items():
                about = f"newest record of each key of the topic {state.topic}"
                yield name, about, latest_view(name)
        for name, sql in self.newest(dialect).items() if is_asked(NEWEST) else ():
            yield name, "newest row of each decoded key", sql

    def places(self) -> str:
        """Return the SQL of the view with the place of each row of all typed tables."""
        return typed_places(
            {f"{ALL_ROWS}{name}": literal(each.topic) for name, each in self.typed.items()}
        )

    def confused(self) -> list[str]:
        """Return the names, in lower case, that could mean several topics or tables."""
        families = self._families()
        return [name for family, sources in families for name in family.confused(sources())]

    def confusion(self, name: str) -> str | None:
        """Return an explanation of a name that could mean several topics or tables."""
        for family, sources in self._families():
            if name.casefold().startswith(family.prefix):
                return family.confusion(name, sources())
        return None

    def _families(self) -> tuple[tuple[ViewNames, Callable[[], Iterable[str]]], ...]:
        """Return the views of topics and of their tables, each with a function for its sources."""
        return (
            (OF_TOPICS, lambda: self.topics),
            (OF_TYPED_TABLES, lambda: map(name_of, self._typed())),
            (OF_LATEST_TABLES, lambda: [each.topic for each in self._latest()]),
        )


def name_of(typed: TypedTable) -> str:
    """Return the name of a typed table's folder."""
    return typed.table.name.removeprefix(f"{TYPED_FOLDER}/")


def typed_view(name: str, typed: TypedTable) -> str:
    """Return the SQL of a typed table's view, given the view's name."""
    return query("current_typed", f"{ALL_ROWS}{name}", escaped(typed.topic))


def latest_view(name: str) -> str:
    """Return the SQL of the view of a topic's latest state, given the view's name."""
    columns = ", ".join(f"state.{column}" for column in RECORDS.schema.names)
    return f"SELECT {columns} FROM {ALL_ROWS}{name} AS state WHERE NOT is_deleted"
