"""Shows a run's steps and progress to a person or in a log. Writes to a stream.

This module decides what is shown and when; the views in `progress_views` decide the form.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Self, TextIO, TypeVar

from seglake.progress.debug_lines import debug_lines
from seglake.progress.progress_views import Position, Unit, View, view_of
from seglake.task_engine.engine import Engine
from seglake.task_engine.task_progress import TaskProgress, run_watched

_LOG = logging.getLogger(__name__)
_DEBUG = 2
T = TypeVar("T")
R = TypeVar("R")


class RunReporter:
    """Reporter of a run's steps and progress.

    Positions are shown only inside a `with` block, which clears the terminal's line at its end.
    Steps are also shown outside the block.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        verbosity: int = 0,
        view: View | None = None,
        hint: Callable[[], str] = lambda: "",
    ) -> None:
        """Prepare the reporter; nothing is shown yet.

        Args:
            stream: usually standard error; it stays open.
            verbosity: below 0 nothing is shown; above 0 each step gets a separate line; above 1 the
                debug log is shown, too.
            view: the form; None for one line on a terminal, elsewhere one line each minute.
            hint: returns another reason why tasks that read bytes are slow, or an empty text.
        """
        self._view = view or view_of(stream, verbosity=verbosity)
        self._hint = hint
        self._has_debug = verbosity >= _DEBUG
        # The lock is reentrant, because a Ctrl-C handler may run while this thread holds it.
        self._lock = threading.RLock()
        self._text = ""
        self._begun = time.monotonic()
        self._measure: _Measure | None = None
        self._has_tasks = False
        self._ended = threading.Event()
        self._ended.set()
        self._thread: threading.Thread | None = None

    def step(self, text: str) -> None:
        """Begin a new step of the run, and show it."""
        with self._lock:
            self._text, self._begun = text, time.monotonic()
            self._view.step(text)
        # The thread starts with the first step.
        if self._thread is None and not self._ended.is_set():
            self._thread = threading.Thread(target=self._show_regularly, daemon=True)
            self._thread.start()

    def debug(self, module: str, text: str) -> None:
        """Show a line of the debug log, unless it belongs to another run in this process."""
        # A thread without a current reporter may belong to this run.
        if _CURRENT.get() in (None, self):
            with self._lock:
                self._view.debug(module, text)

    @contextmanager
    def within(self, text: str) -> Iterator[None]:
        """Show a step that interrupts another step, which continues afterwards.

        The time of the step does not count for the rate of the interrupted step.
        """
        before, measure = (self._text, self._begun), self._measure
        began = time.monotonic()
        self._measure = None
        self.step(text)
        yield
        with self._lock:
            self._text, self._begun = before
            self._measure = measure
            if measure is not None:
                measure.begun += time.monotonic() - began

    @contextmanager
    def measuring(self, total: int, unit: Unit = Unit.BYTES) -> Iterator["_Measure"]:
        """Show the work in the block as parts of one whole, with a percentage.

        Args:
            total: amount of all work.
            unit: unit of the amount.

        Yields:
            The measure that receives finished work, which is the outer measure if there is one.
        """
        if self._measure is not None:
            yield self._measure  # the block's work is a part of the outer step's work
            return
        self._measure = _Measure(total, unit)
        try:
            yield self._measure
        finally:
            self._measure = None

    def run_tasks(
        self,
        engine: Engine,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        sizes: Sequence[int],
        text: str,
        unit: Unit = Unit.BYTES,
        is_small: bool | None = None,
    ) -> list[R]:
        """Run tasks, and show how much of their sizes is done; see `Engine.run`.

        Args:
            engine: runs the tasks.
            function: runs in a worker, with one task as its argument.
            tasks: arguments of the calls.
            sizes: amount of work of each task, in `unit`.
            text: the step's name.
            unit: unit of the sizes.
            is_small: whether to run the tasks in this process, because starting an engine would
                take longer. False always uses the engine, for example because later tasks need it.
                None lets the engine decide.

        Returns:
            The results in the order of the tasks.
        """
        if not tasks:
            return []
        self.step(text)
        self._has_tasks = unit is Unit.BYTES
        began = time.monotonic()
        try:
            if is_small:
                return [function(task) for task in tasks]
            if is_small is not None:
                engine.start()
            if self._ended.is_set():  # a closed reporter shows nothing
                return engine.run(function, tasks, on_done=lambda count: None)
            with self.measuring(sum(sizes), unit) as whole, TaskProgress(sizes) as progress:
                whole.parts.append(progress)
                return run_watched(engine, function, tasks, progress)
        finally:
            self._has_tasks = False
            seconds, place = time.monotonic() - began, "the driver" if is_small else "the engine"
            counts = (len(tasks), unit, sum(sizes), max(sizes))
            _LOG.debug(
                "%s: tasks=%d %s=%d largest=%d seconds=%.3f in %s", text, *counts, seconds, place
            )

    def close(self) -> None:
        """Erase the progress line, before other output."""
        self._ended.set()
        with self._lock:
            self._view.close()

    def __enter__(self) -> Self:
        """Begin to show positions, and make this the current reporter."""
        self._token = _CURRENT.set(self)
        self._debug = debug_lines(self.debug) if self._has_debug else nullcontext()
        self._debug.__enter__()
        if self._view.every_seconds is not None:
            self._ended.clear()
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop showing positions."""
        _CURRENT.reset(self._token)
        self._debug.__exit__(None, None, None)
        self.close()

    def _show_regularly(self) -> None:
        with suppress(OSError):  # the stream has lost its reader
            while not self._ended.wait(self._view.every_seconds):
                with self._lock:
                    if self._text and not self._ended.is_set():
                        self._view.show(self._position())

    def _position(self) -> Position:
        hint = self._hint() if self._has_tasks else ""
        text = f"{self._text} ({hint})" if hint else self._text
        now, measure = time.monotonic(), self._measure
        if measure is None or not measure.total:
            return Position(text, now - self._begun)
        seconds = now - measure.begun
        return Position(
            text, seconds, min(measure.done, measure.total), measure.total, measure.unit
        )


class _Measure:
    """Amount of work whose parts are done one after the other."""

    def __init__(self, total: int, unit: Unit) -> None:
        self.total = total
        self.unit = unit
        self.begun = time.monotonic()
        self.parts: list[TaskProgress] = []
        self._counted = 0

    def advance(self) -> None:
        """Count one finished unit that belongs to no task."""
        self._counted += 1

    @property
    def done(self) -> int:
        return self._counted + sum(part.done for part in self.parts)


_CURRENT: ContextVar[RunReporter | None] = ContextVar("reporter", default=None)


def step_within(text: str) -> AbstractContextManager[None]:
    """Return a context that shows a step of the current run, for code that has no reporter.

    For example, Spark's start uses it.
    """
    reporter = _CURRENT.get()
    return nullcontext() if reporter is None else reporter.within(text)


def leave_terminal() -> None:
    """Erase the current run's line before the process ends at once."""
    reporter = _CURRENT.get()
    if reporter is not None:
        reporter.close()
