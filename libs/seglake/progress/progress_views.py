"""Shows a run's progress: as a line on a terminal, a line a minute, or events. Effect: writes.

tqdm draws on a terminal. Its import waits for the first line: a run with nothing new needs none.
"""

import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from seglake.printable import on_one_line

if TYPE_CHECKING:
    from tqdm.std import tqdm

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 60.0
_TIME_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
_USUAL_COLUMNS = 80
_FEWEST_COLUMNS = 75
_INTERRUPT_COLUMNS = len("^C")  # as the terminal shows it behind the line
_ENDLESS = "{desc} [{elapsed}]"
_NARROW = "{desc}: {percentage:.0f}%, {remaining} left"


class Unit(StrEnum):
    """Unit of the amounts in a position."""

    BYTES = "bytes"
    ROWS = "rows"
    BATCHES = "batches"
    FILES = "files"
    QUERIES = "queries"


class Position(NamedTuple):
    """Progress of a run's current step.

    Attributes:
        seconds: since the step began, or since work on the total began, if there is one.
        total: amount of work in `unit`; 0 if unknown.
    """

    text: str
    seconds: float
    done: int = 0
    total: int = 0
    unit: Unit = Unit.BYTES

    @property
    def percent(self) -> float:
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
        if not self.total:
            return f"{self.text}: {_show_seconds(self.seconds)} so far"
        is_bytes = self.unit is Unit.BYTES
        shown = show_bytes if is_bytes else "{:,.0f}".format
        of = f"{shown(self.total)}" if is_bytes else f"{shown(self.total)} {self.unit}"
        left = self.seconds_left
        rest = "" if left is None else f", {_show_seconds(left)} left"
        return f"{self.text}: {self.percent:.0f}% of {of}, {shown(self.rate)}/s{rest}"


class View:
    """Base of a reporter's views: shows nothing; without `every_seconds`, gets no positions."""

    every_seconds: float | None = None

    def step(self, text: str) -> None: ...

    def say(self, text: str) -> None: ...

    def debug(self, module: str, text: str) -> None: ...

    def show(self, position: Position) -> None: ...

    def close(self) -> None: ...


def view_of(stream: TextIO, *, verbosity: int) -> View:
    """Return a view that redraws a line on a terminal, else adds one a minute; silent below 0."""
    if verbosity < 0:
        return View()
    return (TerminalView if stream.isatty() else LogView)(stream, has_steps=verbosity > 0)


class LogView(View):
    """View as lines of text for a log: notices at once, and a position each minute."""

    every_seconds = _LOG_SECONDS

    def __init__(self, stream: TextIO, *, has_steps: bool = False) -> None:
        self._stream = stream
        self._has_steps = has_steps

    def step(self, text: str) -> None:
        if self._has_steps:
            self._write(text)

    def say(self, text: str) -> None:
        self._write(text)

    def debug(self, module: str, text: str) -> None:
        self._write(f"{module}: {text}")

    def show(self, position: Position) -> None:
        self._write(str(position))

    def _write(self, text: str) -> None:
        self._stream.write(f"seglake: {on_one_line(text)}\n")
        self._stream.flush()


class TerminalView(LogView):
    """View as a line on a terminal, redrawn every half second and erased at the end."""

    every_seconds = _TERMINAL_SECONDS

    def __init__(self, stream: TextIO, *, has_steps: bool = False) -> None:
        super().__init__(stream, has_steps=has_steps)
        self._bar: tqdm[Any] | None = None

    def show(self, position: Position) -> None:
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

    tqdm.monitor_interval = 0  # we draw when it is time, so nobody must watch over that
    tqdm.set_lock(threading.RLock())  # its own is shared between processes, which costs
    return tqdm(file=stream, leave=False, unit_scale=True, smoothing=0, delay=1e-9)


class EventLog:
    """Log of one JSON object a line: time, level, event, and the run's fields.

    Args:
        fields: values for every line.
    """

    def __init__(self, stream: TextIO, fields: Mapping[str, object]) -> None:
        self._stream = stream
        self._fields = fields

    # Any: what JSON can hold.
    def write(self, event: str, *, level: str = "info", **facts: Any) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": now, "level": level, "event": event, **self._fields, **facts}
        self._stream.write(f"{json.dumps(line)}\n")
        self._stream.flush()


class EventView(View):
    """View as JSON events: each step, notices, and a position each minute."""

    def __init__(self, log: EventLog, *, verbosity: int = 0) -> None:
        self._log = log
        self.every_seconds = None if verbosity < 0 else _LOG_SECONDS
        self._step = ""

    def step(self, text: str) -> None:
        self._step = text
        if self.every_seconds is not None:
            self._log.write("step", step=text)

    def say(self, text: str) -> None:
        self._log.write("notice", level="warning", step=self._step, message=text)

    def debug(self, module: str, text: str) -> None:
        self._log.write("debug", level="debug", step=self._step, module=module, message=text)

    def show(self, position: Position) -> None:
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


def show_count(count: int, one: str, many: str | None = None) -> str:
    """Return a number of things for a person; `many` is the plural if an s is not enough."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def show_bytes(count: float) -> str:
    """Return a number of bytes for a person."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def show_duration(milliseconds: int) -> str:
    """Return a duration for a person: in its largest unit and the next smaller."""
    for (unit, size), (smaller, part) in pairwise(_TIME_UNITS):
        if milliseconds >= size:
            rest = milliseconds % size // part
            return f"{milliseconds // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{milliseconds} ms"
