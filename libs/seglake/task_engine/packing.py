"""Groups items into tasks by their sizes."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def packed(
    items: Iterable[T],
    size_of: Callable[[T], int],
    most: int,
    *,
    most_items: int | None = None,
) -> list[list[T]]:
    """Group consecutive items so that no group exceeds a total size.

    An item that alone exceeds the size gets its own group.

    Args:
        items: the items.
        size_of: returns the size of an item.
        most: highest total size of a group.
        most_items: highest number of items in a group; None for any number.
    """
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


def spread(
    items: Sequence[T], size_of: Callable[[T], int], most: int, *, fewest: int = 1
) -> list[list[T]]:
    """Group consecutive items into as few groups of similar size as possible.

    A group may exceed `most` by half an item.

    Args:
        items: the items.
        size_of: returns the size of an item.
        most: highest total size of a group.
        fewest: lowest number of groups to aim for.
    """
    total = sum(map(size_of, items))
    count = max(-(-total // most), fewest)
    groups: dict[int, list[T]] = {}
    reached = 0
    for item in items:
        middle = reached + size_of(item) / 2
        groups.setdefault(int(middle * count / (total or 1)), []).append(item)
        reached += size_of(item)
    return list(groups.values())
