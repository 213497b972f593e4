"""Escapes names from disks and lakes so that a terminal shows them safely. Pure."""

from collections.abc import Iterable


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
