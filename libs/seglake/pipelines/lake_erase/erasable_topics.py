"""Chooses the topics of an erasure among those of a lake."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.settings.settings import SelectSettings
from seglake.settings.topic_selection import check_selection


class ErasableTopics(NamedTuple):
    """Topics of an erasure.

    Attributes:
        topics: the chosen topics.
        left_out: topics that are not erased from, each with the reason.
        notes: notes on globs that select nothing.
    """

    topics: tuple[str, ...]
    left_out: dict[str, str]
    notes: list[str]


def erasable_topics(there: Sequence[str], select: SelectSettings) -> ErasableTopics:
    """Return the selected topics of a lake; one that begins with `_` needs a glob that does.

    Without this rule, `*` would remove the schemas of a registry, which decoded values need.

    Raises:
        WrongCallError: no topic is selected.
    """
    if not select.topics:
        raise WrongCallError("name the topics from which to erase: --topics")
    found = check_selection(there, select, place="lake")
    selected = [topic for topic in there if select.selects_topic(topic)]
    topics = tuple(topic for topic in selected if _is_named(topic, select.topics))
    spared = {
        topic: f"{topic}: it begins with _, so it needs a glob that does: add '_*' to --topics to"
        " erase from such topics, or '!_*' to leave them out"
        for topic in selected
        if topic not in topics
    }
    if not topics:
        raise WrongCallError(next(iter(spared.values()), "the lake has no topic to erase from"))
    return ErasableTopics(topics, found.missing | spared, found.notes)


def _is_named(topic: str, globs: Sequence[str]) -> bool:
    """Return whether a glob names a topic; for one that begins with `_`, the glob must too."""
    return not topic.startswith("_") or any(
        fnmatchcase(topic, glob) for glob in globs if glob.startswith("_")
    )
