"""What a run is doing, for a person or a log while it lasts. Effect: writes to a stream.

The views are in `progress_views`; here is what they show, and when.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Self, TextIO, TypeVar

from seglake.progress.debug_lines import debug_lines
from seglake.progress.progress_views import (
    Position,
    Unit,
    View,
    show_bytes,
    show_count,
    show_duration,
    view_of,
)
from seglake.task_engine.engine import Engine
from seglake.task_engine.task_progress import TaskProgress, run_watched

__all__ = ["RunReporter", "Unit", "show_bytes", "show_count", "show_duration", "step_within"]

_LOG = logging.getLogger(__name__)
_DEBUG = 2
T = TypeVar("T")
R = TypeVar("R")


class RunReporter:
    """Shows what a run is doing. Positions are shown in a `with` block, which leaves nothing
    on the terminal; steps also outside.

    Args:
        stream: usually standard error.
        verbosity: below 0 nothing is shown; above 0 each step gets a line of its own; above 1 the
            debug log is shown, too.
        view: how it is shown; else a line on a terminal, and elsewhere one a minute.
        hint: asked for what tasks that read bytes also wait for: the decoder's compilation.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        verbosity: int = 0,
        view: View | None = None,
        hint: Callable[[], str] = lambda: "",
    ) -> None:
        self._view = view or view_of(stream, verbosity=verbosity)
        self._hint = hint
        self._has_debug = verbosity >= _DEBUG
        self._lock = threading.RLock()  # of Ctrl-C: what handles it may hold it already
        self._text = ""
        self._begun = time.monotonic()
        self._measure: _Measure | None = None
        self._has_tasks = False
        self._ended = threading.Event()
        self._ended.set()
        self._thread: threading.Thread | None = None

    def step(self, text: str) -> None:
        """A new step begins."""
        with self._lock:
            self._text, self._begun = text, time.monotonic()
            self._view.step(text)
        if self._thread is None and not self._ended.is_set():  # from the first step on
            self._thread = threading.Thread(target=self._show_regularly, daemon=True)
            self._thread.start()

    def say(self, text: str) -> None:
        """A person should know this now, and not only at the end."""
        with self._lock:
            self._view.say(text)

    def debug(self, module: str, text: str) -> None:
        """Show a line of the debug log."""
        with self._lock:
            self._view.debug(module, text)

    @contextmanager
    def within(self, text: str) -> Iterator[None]:
        """A step inside another, which goes on behind it; its time counts for no rate."""
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
        """What is run in the block is parts of one whole, of which the percentage is shown."""
        if self._measure is not None:
            yield self._measure  # it is part of a whole already
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
            is_small: whether they are done sooner than an engine starts, and run here; where they
                are not, it is started for the tasks that follow, too. None: the engine decides.
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
            if self._ended.is_set():  # nobody looks
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
        """Take the line away, before something else is printed."""
        self._ended.set()
        with self._lock:
            self._view.close()

    def __enter__(self) -> Self:
        self._token = _CURRENT.set(self)
        self._debug = debug_lines(self.debug) if self._has_debug else nullcontext()
        self._debug.__enter__()
        if self._view.every_seconds is not None:
            self._ended.clear()
        return self

    def __exit__(self, *raised: object) -> None:
        _CURRENT.reset(self._token)
        self._debug.__exit__(None, None, None)
        self.close()

    def _show_regularly(self) -> None:
        with suppress(OSError):  # whoever read the stream has gone
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
    """A whole of which parts are done one after the other."""

    def __init__(self, total: int, unit: Unit) -> None:
        self.total = total
        self.unit = unit
        self.begun = time.monotonic()
        self.parts: list[TaskProgress] = []
        self._counted = 0

    def advance(self) -> None:
        """Count one more that is done, of what is no task's."""
        self._counted += 1

    @property
    def done(self) -> int:
        return self._counted + sum(part.done for part in self.parts)


_CURRENT: ContextVar[RunReporter | None] = ContextVar("reporter", default=None)


def step_within(text: str) -> AbstractContextManager[None]:
    """For what is far from the run's order, as the start of Spark: a step of the current run."""
    reporter = _CURRENT.get()
    return nullcontext() if reporter is None else reporter.within(text)


def leave_terminal() -> None:
    """Take the current run's line away, for what ends the process at once."""
    reporter = _CURRENT.get()
    if reporter is not None:
        reporter.close()
