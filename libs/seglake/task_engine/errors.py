"""Errors of tasks."""

from seglake.errors import SeglakeError


class EngineError(SeglakeError):
    """A task failed, or its worker died; `__cause__` is the task's exception, if known.

    Attributes:
        reason: the cause in one line.
        task_index: index of the task in its run; None if the engine does not know it.
    """

    def __init__(self, *, engine: str, reason: str, task_index: int | None = None) -> None:
        """Store the engine's name, the reason and the task's index."""
        self.engine = engine
        self.reason = reason
        self.task_index = task_index
        which = "a task" if task_index is None else f"task {task_index}"
        super().__init__(f"{which} failed on the {engine} engine: {reason}")
