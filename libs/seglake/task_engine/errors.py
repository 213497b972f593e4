"""Errors of tasks."""

from seglake.errors import SeglakeError


class EngineError(SeglakeError):
    """A task failed or its worker died; a Python exception, if there is one, is the cause.

    Attributes:
        reason: the cause in one line.
        task_index: index of the task in its sequence, None if the engine does not know it.
    """

    def __init__(self, *, engine: str, reason: str, task_index: int | None = None) -> None:
        """Store the engine's name and the facts about the task."""
        self.engine = engine
        self.reason = reason
        self.task_index = task_index
        which = "a task" if task_index is None else f"task {task_index}"
        super().__init__(f"{which} failed on the {engine} engine: {reason}")
