"""Errors of tasks."""

from seglake.errors import SeglakeError


class EngineError(SeglakeError):
    """A task failed, or its worker died; `__cause__` is the task's exception, if known.

    Attributes:
        reason: the cause in one line.
    """

    def __init__(self, *, engine: str, reason: str, task_index: int | None = None) -> None:
        """Store the reason; the message also has the engine and the task's index, if known."""
        self.reason = reason
        which = "a task" if task_index is None else f"task {task_index}"
        super().__init__(f"{which} failed on the {engine} engine: {reason}")


def task_failed(error: BaseException, task_index: int) -> EngineError:
    """Return the error of a task that failed on the local engine, with its index."""
    reason = str(error) if isinstance(error, SeglakeError) else f"{type(error).__name__}: {error}"
    return EngineError(engine="local", reason=reason, task_index=task_index)
