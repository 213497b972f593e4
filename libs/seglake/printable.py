"""Text with names from a disk or a lake in it, as a terminal may show it. Pure."""

from collections.abc import Iterable


def on_one_line(text: str) -> str:
    """The text with what a terminal would obey, or would not show, as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def as_lines(texts: Iterable[str]) -> str:
    """Texts as one line each, whatever they name."""
    return "\n".join(map(on_one_line, texts))
