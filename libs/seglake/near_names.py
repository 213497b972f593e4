"""Suggestions of existing names for a misspelled one."""

from collections.abc import Iterable
from difflib import SequenceMatcher

_MOST_NAMES = 3
_LEAST_ALIKE = 0.6  # least similarity of a near name, as in difflib
_MOST_LESS_ALIKE = 0.1  # most difference in similarity to the nearest name


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are spelled like a name, the nearest first; case is ignored."""
    alike = [
        (SequenceMatcher(None, name.casefold(), other.casefold()).ratio(), other) for other in known
    ]
    least = max(_LEAST_ALIKE, max((ratio for ratio, _ in alike), default=0) - _MOST_LESS_ALIKE)
    near = [(-ratio, other) for ratio, other in alike if ratio >= least]
    return [other for _, other in sorted(near)[:_MOST_NAMES]]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return an end for an error message that suggests similar names; empty if none is near."""
    found = near_names(name, known)
    if not found:
        return ""
    *others, last = found
    return f"; did you mean {', '.join(others)} or {last}?" if others else f"; did you mean {last}?"
