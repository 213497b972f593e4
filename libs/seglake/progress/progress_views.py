"""Views of a run's progress: a line on a terminal, a line each minute, or events.

tqdm draws the line on a terminal. tqdm is imported only when the first line is drawn, so a short
run does not wait for the import.
"""

import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from seglake.printable import on_one_line, show_bytes, show_duration

if TYPE_CHECKING:
    from tqdm.std import tqdm

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 60.0
_USUAL_COLUMNS = 80
_FEWEST_COLUMNS = 75
_INTERRUPT_COLUMNS = len("^C")  # a terminal prints these characters at Ctrl-C
_ENDLESS = "{desc} [{elapsed}]"
_NARROW = "{desc}: {percentage:.0f}%, {remaining} left"


class Unit(StrEnum):
    """Unit in which a step's work is counted."""

    BYTES = "bytes"
    ROWS = "rows"
    BATCHES = "batches"
    FILES = "files"
    QUERIES = "queries"


class Position(NamedTuple):
    """Progress of a run's current step.

    Attributes:
        text: the step's name.
        seconds: time since the step began, or since work on the total began, if there is one.
        done: amount of finished work in `unit`.
        total: amount of all work in `unit`; 0 if unknown.
        unit: unit of the amounts.
    """

    text: str
    seconds: float
    done: int = 0
    total: int = 0
    unit: Unit = Unit.BYTES

    @property
    def percent(self) -> float:
        """Return the finished share of the work, from 0 to 100; 0 if the total is unknown."""
        return 100 * self.done / self.total if self.total else 0.0

    @property
    def rate(self) -> float:
        """Return the average amount done in a second; 0 at the start."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds left at the average rate; None before anything is done."""
        return (self.total - self.done) / self.rate if self.done and self.rate else None

    def __str__(self) -> str:
        """Return the progress as one line for a person."""
        if not self.total:
            return f"{self.text}: {_show_seconds(self.seconds)} so far"
        is_bytes = self.unit is Unit.BYTES
        shown = show_bytes if is_bytes else "{:,.0f}".format
        of = f"{shown(self.total)}" if is_bytes else f"{shown(self.total)} {self.unit}"
        left = self.seconds_left
        rest = "" if left is None else f", {_show_seconds(left)} left"
        return f"{self.text}: {self.percent:.0f}% of {of}, {shown(self.rate)}/s{rest}"


class View:
    """Base class of views: shows nothing, and gets positions only if `every_seconds` is set."""

    every_seconds: float | None = None

    def step(self, text: str) -> None:
        """Show that the run begins a step."""

    def debug(self, module: str, text: str) -> None:
        """Show a line of the debug log."""

    def show(self, position: Position) -> None:
        """Show the run's position; called every `every_seconds`."""

    def close(self) -> None:
        """End the view; leave nothing on a terminal."""


def view_of(stream: TextIO, *, verbosity: int) -> View:
    """Return a view for a stream: one line on a terminal, else one line each minute.

    Args:
        stream: usually standard error.
        verbosity: below 0 nothing is shown; above 0 each step gets a separate line.
    """
    if verbosity < 0:
        return View()
    return (TerminalView if stream.isatty() else LogView)(stream, has_steps=verbosity > 0)


class LogView(View):
    """View as lines of text for a log, with a position each minute."""

    every_seconds = _LOG_SECONDS

    def __init__(self, stream: TextIO, *, has_steps: bool = False) -> None:
        """Prepare the view.

        Args:
            stream: the log; it stays open.
            has_steps: whether to write a line for each step, too.
        """
        self._stream = stream
        self._has_steps = has_steps

    def step(self, text: str) -> None:
        """Write a line for a step, if steps are shown."""
        if self._has_steps:
            self._write(text)

    def debug(self, module: str, text: str) -> None:
        """Write a line of the debug log."""
        self._write(f"{module}: {text}")

    def show(self, position: Position) -> None:
        """Write the run's position, as a line."""
        self._write(str(position))

    def _write(self, text: str) -> None:
        self._stream.write(f"seglake: {on_one_line(text)}\n")
        self._stream.flush()


class TerminalView(LogView):
    """View as a line on a terminal, redrawn every half second and erased at the end."""

    every_seconds = _TERMINAL_SECONDS

    def __init__(self, stream: TextIO, *, has_steps: bool = False) -> None:
        """Prepare the view; the line appears with the first position.

        Args:
            stream: the terminal; it stays open.
            has_steps: whether to write a line for each step, too.
        """
        super().__init__(stream, has_steps=has_steps)
        self._bar: tqdm[Any] | None = None

    def show(self, position: Position) -> None:
        """Redraw the line."""
        bar = self._bar = _bar(self._stream) if self._bar is None else self._bar
        columns = _columns(self._stream)
        bar.ncols = columns - _INTERRUPT_COLUMNS - 1
        bar.desc, bar.n, bar.total = position.text, position.done, position.total or None
        with_total = None if columns >= _FEWEST_COLUMNS else _NARROW
        bar.bar_format = with_total if position.total else _ENDLESS
        bar.unit = "B" if position.unit is Unit.BYTES else f" {position.unit}"
        bar.unit_divisor = 1024 if position.unit is Unit.BYTES else 1000
        bar.start_t = time.time() - position.seconds
        bar.refresh()

    def close(self) -> None:
        """Erase the line."""
        if self._bar is not None:
            width = _columns(self._stream) - 1
            self._bar.close()
            self._bar = None
            self._stream.write("\r" + " " * width + "\r")
            self._stream.flush()

    def _write(self, text: str) -> None:
        if self._bar is not None:
            self._bar.clear()
        super()._write(text)


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


def _bar(stream: TextIO) -> "tqdm[Any]":
    import threading

    from tqdm.std import tqdm

    # tqdm's thread for late updates is not needed: the line is redrawn at fixed times.
    tqdm.monitor_interval = 0
    # tqdm's default lock is shared between processes and slow to create
    tqdm.set_lock(threading.RLock())
    return tqdm(file=stream, leave=False, unit_scale=True, smoothing=0, delay=1e-9)


class EventLog:
    """Log with one JSON object per line: time, level, event, the run's fields, and facts."""

    def __init__(self, stream: TextIO, fields: Mapping[str, object]) -> None:
        """Prepare the log.

        Args:
            stream: the log; it stays open.
            fields: values that every line has.
        """
        self._stream = stream
        self._fields = fields

    # Any: the types that JSON can hold.
    def write(self, event: str, *, level: str = "info", **facts: Any) -> None:
        """Write one event with its facts."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": now, "level": level, "event": event, **self._fields, **facts}
        self._stream.write(f"{json.dumps(line)}\n")
        self._stream.flush()


class EventView(View):
    """View as JSON events: each step, and a position each minute."""

    def __init__(self, log: EventLog, *, verbosity: int = 0) -> None:
        """Prepare the view.

        Args:
            log: the log to write to.
            verbosity: below 0 neither steps nor positions are written.
        """
        self._log = log
        self.every_seconds = None if verbosity < 0 else _LOG_SECONDS
        self._step = ""

    def step(self, text: str) -> None:
        """Write the step's event, and remember the step for the debug log."""
        self._step = text
        if self.every_seconds is not None:
            self._log.write("step", step=text)

    def debug(self, module: str, text: str) -> None:
        """Write a line of the debug log as an event."""
        self._log.write("debug", level="debug", step=self._step, module=module, message=text)

    def show(self, position: Position) -> None:
        """Write a position; only its seconds if the total is unknown."""
        facts: dict[str, Any] = {"step": position.text, "seconds": round(position.seconds, 1)}
        if position.total:
            left = position.seconds_left
            facts |= {
                f"done_{position.unit}": position.done,
                f"total_{position.unit}": position.total,
                "percent": round(position.percent, 1),
                "seconds_left": None if left is None else round(left),
            }
        self._log.write("progress", **facts)


def _show_seconds(seconds: float) -> str:
    return show_duration(max(int(seconds), 1) * 1000)
