"""Packs items into tasks."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def packed(
    items: Iterable[T],
    size_of: Callable[[T], int],
    most: int,
    *,
    most_items: int | None = None,
) -> list[list[T]]:
    """Items in order, as many a group as their sizes allow; one that is too large stands alone."""
    groups: list[list[T]] = []
    room = 0
    for item in items:
        size = size_of(item)
        if not groups or size > room or len(groups[-1]) == most_items:
            groups.append([])
            room = most
        groups[-1].append(item)
        room -= size
    return groups
