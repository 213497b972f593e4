"""Sends many requests to a place, in parallel if the place is remote. Effect."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from seglake.storage.storage import Storage

T = TypeVar("T")
R = TypeVar("R")


def each(function: Callable[[T], R], items: Sequence[T], *, storage: Storage, path: str) -> list[R]:
    """Return the function's results for all items, in their order.

    Args:
        function: asks the storage about an item; called from several threads if the path is remote.
            The first error ends the call, once running requests have ended; Ctrl-C does not wait
            for them.
        items: the items.
        storage: the storage that the function asks.
        path: path that tells where the requests go.
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
