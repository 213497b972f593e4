"""All ways to give copies of a log to runs, each as a partition of its own in one lake."""

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

Calls = tuple[tuple[int, ...], ...]  # the copies that each call is given


class Order(NamedTuple):
    """One way to give copies, the partition that has it, and the log dir of each copy."""

    calls: Calls
    partition: int
    disks: Sequence[Path]


def orders(count: int) -> list[Calls]:
    """All ways to give copies: one call after the other, each with one copy or several."""
    found: list[Calls] = []
    for order in permutations(range(count)):
        for cuts in range(1 << (count - 1)):
            calls = [order[:1]]
            for place, copy in enumerate(order[1:]):
                if cuts >> place & 1:
                    calls.append((copy,))
                else:
                    calls[-1] = (*calls[-1], copy)
            if all(call == tuple(sorted(call)) for call in calls):  # within one call all are alike
                found.append(tuple(calls))
    return found


def written(chosen: Iterable[Calls], write: Callable[[int], Sequence[Path]]) -> list[Order]:
    """Write the copies for each way to give them.

    Args:
        write: writes each copy as a log dir of a partition.
    """
    return [Order(calls, number, write(number)) for number, calls in enumerate(chosen)]


def rounds(given: Sequence[Order]) -> list[list[Path]]:
    """The log dirs of each call; the last has those of all last calls."""
    count = max(len(order.calls) for order in given)
    padded = [((),) * (count - len(order.calls)) + order.calls for order in given]
    return [
        [order.disks[copy] for order, call in zip(given, calls, strict=True) for copy in call]
        for calls in zip(*padded, strict=True)
    ]
