"""A view for each topic, under a name that can mean no other topic. Pure.

SQL names have only letters, digits and `_`, and engines ignore their case. So several topics may
lead to one name. Then none of them gets it: if the name moved to another topic that came later,
answers would change silently.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_MOST_CHARACTERS = 255  # limit of a table's name in Hive's metastore
_MARK_CHARACTERS = 8

PREFIX = "topic_"
RESERVED = frozenset({"topic_configs"})
"""Names of other views that begin like a topic's view; no topic's view gets one of them."""


def topic_views(topics: Iterable[str]) -> dict[str, str]:
    """Return the topics by the names of their views.

    A view's name is `topic_` and the topic's name, with `_` for characters that SQL names lack. If
    the name could also mean another topic, a part of the topic's hash follows.
    """
    claims = _claims(topics)
    views = {}
    for topic in {*topics}:
        free = [name for name in _names(topic) if len(claims[name.casefold()]) == 1]
        if free:
            views[free[0]] = topic
    return dict(sorted(views.items()))


def confused_names(topics: Iterable[str]) -> dict[str, list[str]]:
    """Return the names that several topics lead to, in lower case, with these topics."""
    return {name: sorted(found) for name, found in _claims(topics).items() if len(found) > 1}


def confusion(name: str, topics: Iterable[str]) -> str | None:
    """Return an explanation of a name that could mean several topics; None for other names."""
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
    """Return the possible names of a topic's view, the preferred one first."""
    name = f"{PREFIX}{_NOT_IN_NAMES.sub('_', topic)}"
    mark = sha256(topic.encode()).hexdigest()[:_MARK_CHARACTERS]
    marked = f"{name[: _MOST_CHARACTERS - _MARK_CHARACTERS - 1]}_{mark}"
    is_free = len(name) <= _MOST_CHARACTERS and name.casefold() not in RESERVED
    return [name, marked] if is_free else [marked]


def _claims(topics: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the topics that lead to each name, by the name in lower case."""
    claims: dict[str, set[str]] = {}
    for topic in {*topics}:
        for name in _names(topic):
            claims.setdefault(name.casefold(), set()).add(topic)
    return claims
