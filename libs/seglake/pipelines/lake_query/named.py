"""Finds the tables and views that a statement names, and suggests names for missing ones. Pure."""

from collections.abc import Callable, Collection, Iterable

from seglake.lake.tables import CHECKPOINTS, TABLES, Table
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.statements import shows_names, tokens
from seglake.pipelines.lake_query.topic_views import PREFIX, confusion, topic_views
from seglake.pipelines.lake_query.views import Dialect, topic_view, view_names, views, views_of


def tables_in(text: str, dialect: Dialect) -> list[Table]:
    """Return the tables that a statement or its views read; for SHOW, all tables."""
    needed = _needed(text)
    used = " ".join((needed, *views_of(needed, views(dialect)).values()))
    is_everything = shows_names(text)
    return [table for table in TABLES if is_everything or table.name in used]


def views_in(text: str, topics: Callable[[], Collection[str]], dialect: Dialect) -> dict[str, str]:
    """Return the views that a statement reads, directly or through views, in creation order.

    Args:
        text: the statement.
        topics: returns all topics; called only if the statement may name a topic's view.
        dialect: the SQL of the views.

    Returns:
        SQL by name.

    Raises:
        WrongQueryError: a name could mean several topics.
    """
    is_everything = shows_names(text)
    needed = _needed(text)
    known = views(dialect)
    found = dict(known) if is_everything else views_of(needed, known)
    if is_everything or PREFIX in needed:
        names = topics()
        _require_clear(text, names)
        found |= {
            name: topic_view(topic)
            for name, topic in topic_views(names).items()
            if is_everything or name.casefold() in needed
        }
    return found


def _require_clear(text: str, topics: Iterable[str]) -> None:
    """Raise WrongQueryError if a name in a statement could mean several topics."""
    names = {token.text.strip('`"') for token in tokens(text)}
    for name in sorted(name for name in names if name.casefold().startswith(PREFIX)):
        confused = confusion(name, topics)
        if confused is not None:
            raise WrongQueryError(confused)


def _needed(text: str) -> str:
    """Return the statement's text; add the names that a topic's view reads if it may name one."""
    asked = text.casefold()
    return f"{asked} current_records {CHECKPOINTS.name}" if PREFIX in asked else asked


def known_names() -> list[str]:
    """Return the names of all tables, and of all views except those of topics."""
    return [*(table.name for table in TABLES), *view_names()]


def no_such_table(name: str, topics: Iterable[str]) -> WrongQueryError:
    """Return the error for a name that no table or view has.

    Args:
        name: the missing name.
        topics: all topics of the lake, for suggestions.
    """
    known = known_names()
    near = did_you_mean(name, [*known, *topic_views(topics)])
    return WrongQueryError(
        f"the lake has no table or view {name}{near or '.'} There are {', '.join(known)}, and"
        " topic_<name> for each topic"
    )
