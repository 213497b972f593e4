"""Calls into libraries that may wait without end. Effect: starts a thread."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def called(call: Callable[[], _T]) -> "Future[_T]":
    """Call in a thread of its own, which nobody waits for at the end of the process.

    Unlike an executor's: that one joins its threads when the interpreter ends.
    """
    answer: Future[_T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001  (handed to the caller)
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer
