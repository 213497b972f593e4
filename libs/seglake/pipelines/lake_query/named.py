"""Which tables and views a statement may name, and what is said of one that is not there. Pure."""

from collections.abc import Callable, Collection, Iterable

from seglake.lake.tables import CHECKPOINTS, TABLES, Table
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.statements import shows_names, tokens
from seglake.pipelines.lake_query.topic_views import PREFIX, confusion, topic_views
from seglake.pipelines.lake_query.views import Dialect, topic_view, view_names, views, views_of


def tables_in(text: str, dialect: Dialect) -> list[Table]:
    """Return the tables that a statement names or its views ask; SHOW names all."""
    needed = _needed(text)
    used = " ".join((needed, *views_of(needed, views(dialect)).values()))
    is_everything = shows_names(text)
    return [table for table in TABLES if is_everything or table.name in used]


def views_in(text: str, topics: Callable[[], Collection[str]], dialect: Dialect) -> dict[str, str]:
    """Return the views that a statement names, and those that these ask, in the order of creation.

    Args:
        topics: gives all topics, which are many, where the statement may name the view of one.

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
    """See that no name in a statement could mean several topics."""
    names = {token.text.strip('`"') for token in tokens(text)}
    for name in sorted(name for name in names if name.casefold().startswith(PREFIX)):
        confused = confusion(name, topics)
        if confused is not None:
            raise WrongQueryError(confused)


def _needed(text: str) -> str:
    """A statement, with the names that a view of a topic needs where it may name one."""
    asked = text.casefold()
    return f"{asked} current_records {CHECKPOINTS.name}" if PREFIX in asked else asked


def known_names() -> list[str]:
    """The tables, and the views that are not of a topic."""
    return [*(table.name for table in TABLES), *view_names()]


def no_such_table(name: str, topics: Iterable[str]) -> WrongQueryError:
    """The error for a name that neither a table nor a view has.

    Args:
        topics: all of them.
    """
    known = known_names()
    near = did_you_mean(name, [*known, *topic_views(topics)])
    return WrongQueryError(
        f"the lake has no table or view {name}{near or '.'} There are {', '.join(known)}, and"
        " topic_<name> for each topic"
    )
