"""Sends many requests to a storage, in parallel if the storage is remote."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from seglake.storage.storage import Storage

T = TypeVar("T")
R = TypeVar("R")


def each(function: Callable[[T], R], items: Sequence[T], *, storage: Storage, path: str) -> list[R]:
    """Call a function for all items, and return its results in their order.

    Args:
        function: sends a request about one item; several threads call it if the path is remote. Its
            first error is raised once running requests have ended; Ctrl-C does not wait for these
            requests.
        items: the items.
        storage: the storage that gets the requests.
        path: any path on the storage; it decides how many requests may run in parallel.
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
