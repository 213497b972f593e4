"""Finds the tables and views that a statement names, and suggests names for missing tables."""

from collections.abc import Mapping

from seglake.lake.rule_table import ERASURES
from seglake.lake.tables import CHECKPOINTS, Table
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.lake_names import (
    QUERIED_TABLES,
    TYPED_PLACES,
    VALUE_VIEWS,
    LakeNames,
)
from seglake.pipelines.lake_query.statements import shows_names, tokens
from seglake.pipelines.lake_query.topic_views import (
    ALL_ROWS,
    NEWEST,
    OF_LATEST_TABLES,
    OF_TOPICS,
    OF_TYPED_TABLES,
)
from seglake.pipelines.lake_query.views import Dialect, view_names, views, views_of


def tables_in(text: str, names: LakeNames, dialect: Dialect) -> dict[str, Table]:
    """Return the tables that a statement or its views read, by their SQL names; for SHOW, all.

    The tables are in the order of commits.
    """
    found = {table.name: table for table in fixed_tables_in(text, dialect)}
    asked = text.casefold()
    prefixes = OF_TYPED_TABLES.prefix, OF_LATEST_TABLES.prefix
    if not (shows_names(text) or any(prefix in asked for prefix in prefixes)):
        return found
    asked += " ".join(_newest_in(text, names, dialect).values()).casefold()
    are_all = shows_names(text) or TYPED_PLACES in asked
    return {
        name: table
        for name, table in names.tables.items()
        if name in found
        or (
            name.startswith(ALL_ROWS)
            and (are_all or name.removeprefix(ALL_ROWS).casefold() in asked)
        )
    }


def fixed_tables_in(text: str, dialect: Dialect) -> list[Table]:
    """Return the tables that a statement or its views read, without those of single topics."""
    needed = _needed(text)
    used = " ".join((needed, *views_of(needed, _views(dialect)).values()))
    is_everything = shows_names(text)
    return [table for table in QUERIED_TABLES if is_everything or table.name in used]


def views_in(text: str, names: LakeNames, dialect: Dialect) -> dict[str, str]:
    """Return the views that a statement reads, directly or through views, in creation order.

    Args:
        text: the statement.
        names: topics and their tables, read only if the statement may name them.
        dialect: the SQL of the views.

    Returns:
        SQL by name.

    Raises:
        WrongQueryError: a name could mean several topics or tables.
    """
    is_everything = shows_names(text)
    needed = _needed(text)
    known = _views(dialect)
    found = dict(known) if is_everything else views_of(needed, known)
    _require_clear(text, names)
    found |= {
        name: sql
        for name, _, sql in names.views(
            dialect, lambda prefix: prefix != NEWEST and (is_everything or prefix in needed)
        )
        if is_everything or name.casefold() in needed
    }
    return {**found, **_newest_in(text, names, dialect)}


def _newest_in(text: str, names: LakeNames, dialect: Dialect) -> Mapping[str, str]:
    """Return the views that a statement reads with the newest rows of decoded keys."""
    if shows_names(text):
        return names.newest(dialect)
    return views_of(text, names.newest(dialect)) if NEWEST in text.casefold() else {}


def _views(dialect: Dialect) -> dict[str, str]:
    """Return the views with fixed names."""
    return {**views(dialect), **VALUE_VIEWS}


def _require_clear(text: str, names: LakeNames) -> None:
    """Raise WrongQueryError if a name in a statement could mean several sources."""
    for name in sorted({token.text.strip('`"') for token in tokens(text)}):
        confused = names.confusion(name)
        if confused is not None:
            raise WrongQueryError(confused)


def _needed(text: str) -> str:
    """Return the text, with what the views need that it may name."""
    asked = text.casefold()
    needed = asked
    if OF_TOPICS.prefix in asked:
        needed += f" current_records {CHECKPOINTS.name}"
    if OF_TYPED_TABLES.prefix in asked:
        needed += f" superseded_ranges {CHECKPOINTS.name}"
    if TYPED_PLACES in asked:
        needed += f" {VALUE_REJECTS.name}"
    return needed


def known_names() -> list[str]:
    """Return the names of all tables and views, except those of single topics."""
    return [*(table.name for table in QUERIED_TABLES), *view_names(), *VALUE_VIEWS, TYPED_PLACES]


def no_such_table(name: str, names: LakeNames) -> WrongQueryError:
    """Return the error for a name that no table or view has, or that is not shown.

    Args:
        name: the missing name.
        names: topics and their tables in the lake, for suggestions.
    """
    if name.casefold() == ERASURES.name:
        return WrongQueryError(
            f"`seglake sql` does not show the table {name}: its salted hashes can confirm guessed"
            " keys. `seglake report` lists the erasures; any reader of Delta tables can show"
            f" the rules: open LAKE/{ERASURES.name}"
        )
    known = known_names()
    of_lake = [*OF_TOPICS.views(names.topics), *names.typed, *names.latest]
    of_lake += [*names.unwrapped(Dialect.DUCKDB), *names.newest(Dialect.DUCKDB)]
    near = did_you_mean(name, [*known, *of_lake])
    return WrongQueryError(
        f"the lake has no table or view {name}{near or '.'} There are {', '.join(known)},"
        " topic_<name> for each topic, typed_<name> for each typed table, and latest_<name> for"
        " each table of latest state"
    )
