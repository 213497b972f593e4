"""Text for a person: counts, sizes and durations; names from disks that a terminal shows safely."""

from collections.abc import Iterable
from itertools import pairwise

_TIME_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))


def on_one_line(text: str) -> str:
    """Return a text with its control and unprintable characters as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def as_lines(texts: Iterable[str]) -> str:
    """Join texts into lines, each with its control characters escaped."""
    return "\n".join(map(on_one_line, texts))


def show_count(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun, for a person.

    Args:
        count: the number of things.
        one: the noun in the singular.
        many: the plural, if it is not the singular with an s.
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def show_bytes(count: float) -> str:
    """Return a number of bytes for a person, such as "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def show_duration(milliseconds: int) -> str:
    """Return a duration for a person: in its largest unit and the next smaller one."""
    for (unit, size), (smaller, part) in pairwise(_TIME_UNITS):
        if milliseconds >= size:
            rest = milliseconds % size // part
            return f"{milliseconds // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{milliseconds} ms"
