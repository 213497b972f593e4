"""What can go wrong with a task."""

from seglake.errors import SeglakeError


class EngineError(SeglakeError):
    """A task failed or its worker died; the Python exception, where there is one, is the cause.

    `reason` is the cause in one line, `task_index` the place in the sequence of tasks, or None
    when the engine cannot tell.
    """

    def __init__(self, *, engine: str, reason: str, task_index: int | None = None) -> None:
        self.engine = engine
        self.reason = reason
        self.task_index = task_index
        which = "a task" if task_index is None else f"task {task_index}"
        super().__init__(f"{which} failed on the {engine} engine: {reason}")
