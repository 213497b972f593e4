"""An engine in this process during whose work something happens to the disks."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from seglake.segment_decoding.task_functions import decode
from seglake.task_engine.engine import LocalEngine

T = TypeVar("T")
R = TypeVar("R")


class Meanwhile(LocalEngine):
    """Runs everything in this process; something happens each time when a wave is to be decoded.

    Args:
        after_tasks: so many tasks of a wave are decoded before it happens.
    """

    def __init__(self, happens: Callable[[], object], *, after_tasks: int = 0) -> None:
        super().__init__(1)
        self._happens = happens
        self._after_tasks = after_tasks

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], *, on_done: Callable[[int], None]
    ) -> list[R]:
        is_decoding = function is decode
        if not is_decoding:
            return super().run(function, tasks, on_done=on_done)
        before, behind = tasks[: self._after_tasks], tasks[self._after_tasks :]
        done = super().run(function, before, on_done=on_done)
        self._happens()
        return done + super().run(function, behind, on_done=on_done)


def once(happens: Callable[[], object]) -> Callable[[], None]:
    """Return a function that does it in its first call only."""
    done: list[None] = []

    def first() -> None:
        if not done:
            done.append(None)
            happens()

    return first
