"""Checks that the topics in a selection exist."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.kafka_log.internal_topics import is_internal_topic
from seglake.near_names import did_you_mean
from seglake.settings.settings import SelectSettings

_MOST_NAMED = 5
_WILDCARDS = re.compile(r"[*?!\[\]]")
_SEVERAL = re.compile(r"[,\s]")  # a topic's name has none of these characters


class NothingSelectedError(WrongCallError):
    """Topics exist, but the globs select none of them."""

    def __init__(self, *, place: str, globs: Sequence[str], topics: Sequence[str]) -> None:
        """Make the message, with suggestions for globs that match no topic.

        Args:
            place: "sources" or "lake".
            globs: the globs of `select.topics`.
            topics: the existing topics that could be selected.
        """
        named = ", ".join(_with_near(glob, topics) for glob in globs)
        there = ", ".join(topics[:_MOST_NAMED])
        more = f" and {len(topics) - _MOST_NAMED} more" if len(topics) > _MOST_NAMED else ""
        super().__init__(f"no topic of the {place} is selected by {named}. There are {there}{more}")


class Unmatched(NamedTuple):
    """Problems of globs that select or exclude no topic that exists.

    Attributes:
        missing: reasons by topic, for topics that were named in full but do not exist (exit code
            3).
        notes: notes on the other globs.
    """

    missing: dict[str, str]
    notes: list[str]


def check_selection(topics: Iterable[str], select: SelectSettings, *, place: str) -> Unmatched:
    """Return the problems of globs that select or exclude no existing topic.

    If no selectable topic exists yet, there is no problem.

    Args:
        topics: the existing topics.
        select: the selection to check.
        place: "sources" or "lake".

    Raises:
        NothingSelectedError: no topic is selected at all.
    """
    there = sorted(topics)
    selectable = _selectable(there, select)
    if selectable and not any(map(select.selects_topic, selectable)):
        raise NothingSelectedError(place=place, globs=select.topics, topics=selectable)
    return unmatched_globs(there, select, place=place) if selectable else Unmatched({}, [])


def unmatched_globs(topics: Iterable[str], select: SelectSettings, *, place: str) -> Unmatched:
    """Return the problems of globs like `check_selection`, without raising its error."""
    there = sorted(topics)
    selectable = _selectable(there, select)
    notes: list[str] = []
    missing: dict[str, str] = {}
    for glob in select.topics:
        if glob.startswith("!"):
            if not _matched(glob, there):
                near = _near(glob, there)
                notes.append(f"{glob} excludes no topic of the {place}{near}")
        elif not (matched := _matched(glob, selectable)):
            internal = [topic for topic in _matched(glob, there) if is_internal_topic(topic)]
            why = "; it matches internal topics" if internal else _near(glob, selectable)
            note = f"{glob} selects no topic of the {place}{why}"
            if _WILDCARDS.search(glob):
                notes.append(note)
            else:
                missing[glob] = note
        elif not any(map(select.selects_topic, matched)):
            notes.append(
                f"{glob} selects no topic of the {place}: all topics that it matches are excluded"
            )
    return Unmatched(missing, notes)


def _selectable(topics: Iterable[str], select: SelectSettings) -> list[str]:
    """Return the topics that a glob could select."""
    without_globs = replace(select, topics=())
    return [topic for topic in topics if without_globs.selects_topic(topic)]


def _matched(glob: str, topics: Iterable[str]) -> list[str]:
    return [topic for topic in topics if fnmatchcase(topic, glob.removeprefix("!"))]


def _with_near(glob: str, topics: Sequence[str]) -> str:
    near = "" if _matched(glob, topics) else _near(glob, topics)
    return f"{glob} ({near.removeprefix('; ')})" if near else glob


def _near(glob: str, topics: Iterable[str]) -> str:
    if _SEVERAL.search(glob):
        return "; give each glob separately"
    return did_you_mean(_WILDCARDS.sub("", glob), topics)
