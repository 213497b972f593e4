"""Ends a run at a step, as if its process had died."""

from collections.abc import Callable


class Died(BaseException):
    """Stands for the death of a process: the product catches it nowhere."""


def dying(step: str, *, commit: int = 1) -> Callable[[str], None]:
    """Return a listener to a run's steps that ends the run after this step of a commit."""
    left = commit

    def after(done: str) -> None:
        nonlocal left
        left -= done == step
        if done == step and left == 0:
            raise Died

    return after
