"""Which tables and views a statement may name, and what is said of one that is not there. Pure."""

from collections.abc import Callable, Iterable, Mapping

from seglake.lake.tables import CHECKPOINTS, TABLES, Table
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.statements import shows_names
from seglake.pipelines.lake_query.views import VIEWS, views_of

_TOPICS = "topic_"


def tables_in(text: str, views: Mapping[str, str] = VIEWS) -> list[Table]:
    """The tables that a statement names, and those that its views ask; SHOW names all.

    Args:
        views: in the engine's own dialect.
    """
    needed = _needed(text)
    used = " ".join((needed, *views_of(needed, views).values()))
    is_everything = shows_names(text)
    return [table for table in TABLES if is_everything or table.name in used]


def views_in(
    text: str, topics: Callable[[], Mapping[str, str]], views: Mapping[str, str] = VIEWS
) -> dict[str, str]:
    """The views that a statement names, and those that these ask, in the order to make them in.

    Args:
        topics: gives the views of topics, which are many, where the statement may name one.
        views: as of `tables_in`.
    """
    if shows_names(text):
        return {**views, **topics()}
    needed = _needed(text)
    found = views_of(needed, views)
    if _TOPICS in needed:
        found |= {name: view for name, view in topics().items() if name.casefold() in needed}
    return found


def _needed(text: str) -> str:
    """A statement, with the names that a view of a topic needs where it may name one."""
    asked = text.casefold()
    return f"{asked} current_records {CHECKPOINTS.name}" if _TOPICS in asked else asked


def known_names() -> list[str]:
    """The tables, and the views that are not of a topic."""
    return [*(table.name for table in TABLES), *VIEWS]


def no_such_table(name: str, topics: Iterable[str]) -> WrongQueryError:
    """The error for a name that neither a table nor a view has.

    Args:
        topics: the views of topics.
    """
    known = known_names()
    near = did_you_mean(name, [*known, *topics])
    return WrongQueryError(
        f"the lake has no table or view {name}{near or '.'} There are {', '.join(known)}, and"
        " topic_<name> for each topic"
    )
