"""Calls into libraries that may never return. Effect: starts a thread."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def called(call: Callable[[], _T]) -> "Future[_T]":
    """Call a function in its own daemon thread, and return the future of its result.

    Unlike an executor's threads, it is not joined when the interpreter ends.
    """
    answer: Future[_T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001  (handed to the caller)
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer
