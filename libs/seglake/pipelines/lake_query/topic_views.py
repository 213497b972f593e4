"""A view for each topic, under a name that can mean no other topic. Pure.

SQL names have letters, digits and `_` only, and engines do not tell capitals from small letters. So
several topics may lead to one name. It is given to none of them then: a name that moved to another
topic, because that one came later, would change answers without a word.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_MOST_CHARACTERS = 255  # of a table's name in Hive's metastore
_MARK_CHARACTERS = 8

PREFIX = "topic_"
TAKEN = frozenset({"topic_configs"})
"""Names of other views that begin like a topic's; no topic's view has one of them."""


def topic_views(topics: Iterable[str]) -> dict[str, str]:
    """Return the topics by the names of their views.

    A topic has `topic_` and its name, with `_` for what SQL names cannot hold. If that could be
    another topic's, too, a mark made from the topic's own name follows.
    """
    claims = _claims(topics)
    views = {}
    for topic in {*topics}:
        free = [name for name in _names(topic) if len(claims[name.casefold()]) == 1]
        if free:
            views[free[0]] = topic
    return dict(sorted(views.items()))


def confused_names(topics: Iterable[str]) -> dict[str, list[str]]:
    """Return the topics that lead to one name, by that name in small letters, if it is no view."""
    return {name: sorted(found) for name, found in _claims(topics).items() if len(found) > 1}


def confusion(name: str, topics: Iterable[str]) -> str | None:
    """Return which topics a name could mean and what to ask instead, None if it is not confused."""
    meant = confused_names(topics).get(name.casefold())
    if meant is None:
        return None
    views = {topic: view for view, topic in topic_views(topics).items()}
    asked = (f"{views.get(topic, 'records')} for {topic}" for topic in meant)
    return (
        f"{name} could be the topic {' or '.join(meant)}, which SQL does not tell apart: ask"
        f" {', '.join(asked)}"
    )


def _names(topic: str) -> list[str]:
    """Return the names that the view of a topic may have, the better one first."""
    name = f"{PREFIX}{_NOT_IN_NAMES.sub('_', topic)}"
    mark = sha256(topic.encode()).hexdigest()[:_MARK_CHARACTERS]
    marked = f"{name[: _MOST_CHARACTERS - _MARK_CHARACTERS - 1]}_{mark}"
    is_free = len(name) <= _MOST_CHARACTERS and name.casefold() not in TAKEN
    return [name, marked] if is_free else [marked]


def _claims(topics: Iterable[str]) -> Mapping[str, set[str]]:
    """Return which topics may have a name, by the names in small letters."""
    claims: dict[str, set[str]] = {}
    for topic in {*topics}:
        for name in _names(topic):
            claims.setdefault(name.casefold(), set()).add(topic)
    return claims
