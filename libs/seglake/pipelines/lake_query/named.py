"""Which tables and views a statement may name, and what is said of one that is not there. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from seglake.lake.tables import CHECKPOINTS, TABLES, Table
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_query.errors import WrongQueryError
from seglake.pipelines.lake_query.views import VIEWS, views_of

_TOPICS = "topic_"


class Named(NamedTuple):
    """What a statement needs: opening a table takes time, and topics are many.

    Attributes:
        views: in the order to make them in.
        wants_topics: some of the views of topics too, which the ledger names.
    """

    tables: list[Table]
    views: dict[str, str]
    wants_topics: bool


def named_in(text: str, views: Mapping[str, str] = VIEWS) -> Named:
    """The tables and views that a statement names, and those that these ask; SHOW names all.

    Args:
        views: in the engine's own dialect.
    """
    asked = text.casefold()
    everything = is_everything(asked)
    wants_topics = everything or _TOPICS in asked
    needed = f"{asked} current_records {CHECKPOINTS.name}" if wants_topics else asked
    found = dict(views) if everything else views_of(needed, views)
    used = " ".join((needed, *found.values()))
    tables = [table for table in TABLES if everything or table.name in used]
    return Named(tables, found, wants_topics)


def is_everything(text: str) -> bool:
    """Whether a statement names all there is."""
    return text.lstrip().casefold().startswith("show")


def topics_in(text: str, views: Mapping[str, str]) -> dict[str, str]:
    """The views of topics that a statement names."""
    asked = text.casefold()
    everything = is_everything(asked)
    return {name: view for name, view in views.items() if everything or name.casefold() in asked}


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
