"""Calls library functions that may never return, in daemon threads."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def called(call: Callable[[], _T]) -> "Future[_T]":
    """Call a function in its own daemon thread, and return the future of its result.

    Unlike an executor's thread, a daemon thread does not delay the interpreter's exit.
    """
    answer: Future[_T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001  (raised in the caller)
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer
