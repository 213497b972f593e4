"""Many requests to a place: side by side where each is a way through the network. Effect."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from seglake.storage.storage import Storage

T = TypeVar("T")
R = TypeVar("R")


def each(function: Callable[[T], R], items: Sequence[T], *, storage: Storage, path: str) -> list[R]:
    """Return what a function says of each item, in their order.

    Args:
        function: asks the storage about an item; called from several threads if the path is far
            away. The first error ends it all: what is under way is waited for, but not by Ctrl-C.
    """
    at_once = min(storage.requests_at_once(path), len(items))
    if at_once < 2:
        return [function(item) for item in items]
    pool, waits = ThreadPoolExecutor(at_once), True
    try:
        return list(pool.map(function, items))
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=True)
