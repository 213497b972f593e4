"""The progress line on a terminal. Effect: writes to a stream."""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TextIO

_LEAST_SECONDS = 0.2
_TIME_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))


class RunReporter:
    """Shows what a run is doing: one line that is overwritten, on a terminal only.

    Args:
        stream: usually standard error.
        verbosity: below 0 nothing is shown; above 0 each step gets a line of its own.
    """

    def __init__(self, stream: TextIO, *, verbosity: int = 0) -> None:
        self._stream = stream
        self._verbosity = verbosity
        self._is_live = verbosity >= 0 and stream.isatty()
        self._shown_at = 0.0
        self._width = 0

    def step(self, text: str) -> None:
        """A new step begins."""
        if self._verbosity > 0:
            self.clear()
            self._stream.write(f"{text}\n")
            self._stream.flush()
        self._show(text)

    def say(self, text: str) -> None:
        """A person should know this now, and not only at the end."""
        if self._verbosity >= 0:
            self.clear()
            self._stream.write(f"seglake: {text}\n")
            self._stream.flush()

    def counting(self, text: str, sizes: Sequence[int]) -> Callable[[int], None]:
        """A callback for an engine: how many of the tasks are done, with their bytes.

        Tasks end in any order, so the bytes shown are those of the first tasks: an estimate.
        """
        total = sum(sizes)
        started = time.monotonic()

        def on_done(count: int) -> None:
            now = time.monotonic()
            if not self._is_live or (now - self._shown_at < _LEAST_SECONDS and count < len(sizes)):
                return
            done = sum(sizes[:count])
            rate = done / max(now - started, 1e-3)
            self._show(
                f"{text}: {count} of {show_count(len(sizes), 'task')}, "
                f"{show_bytes(done)} of {show_bytes(total)}"
                f", {show_bytes(rate)}/s"
            )
            self._shown_at = now

        return on_done

    def clear(self) -> None:
        """Take the line away, before something else is printed."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def _show(self, text: str) -> None:
        if not self._is_live:
            return
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)


def show_count(count: int, one: str, many: str | None = None) -> str:
    """A number of things for a person; `many` where an s is not enough."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def show_bytes(count: float) -> str:
    """A number of bytes for a person."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def show_duration(milliseconds: int) -> str:
    """A duration for a person: its largest unit and the one below."""
    for (unit, size), (smaller, part) in pairwise(_TIME_UNITS):
        if milliseconds >= size:
            rest = milliseconds % size // part
            return f"{milliseconds // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{milliseconds} ms"
