r"""Reads Java's properties format by the rules of `java.util.Properties`.

A line is `key=value`, `key: value` or `key value`; `#` and `!` begin a comment; a backslash escapes
the next character, begins `\uXXXX`, or at the end of a line joins the next line. Text is Latin-1.

Source: the class comment of java.util.Properties.load, Java SE 17.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from seglake.segment_codec.formats.errors import SegmentCodecError

_BLANK = " \t\f"
_KEY_AND_VALUE = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """Value of a property, and the number of its first line, counted from 1."""

    value: str
    line_number: int


class MalformedEscapeError(SegmentCodecError):
    r"""An escape `\u` is not followed by four hexadecimal digits."""

    def __init__(self, *, line_number: int) -> None:
        """Store the number of the line, counted from 1."""
        self.line_number = line_number
        super().__init__("an escape \\u without four hexadecimal digits")


def parse_properties(text: bytes) -> dict[str, Property]:
    """Return all properties by key; as in Java, the last value of a repeated key counts.

    Raises:
        MalformedEscapeError: an escape is invalid; the error has the number of the line.
    """
    properties: dict[str, Property] = {}
    for line_number, line in _logical_lines(text):
        match = _KEY_AND_VALUE.match(line)
        if match is None:
            continue
        key = _unescaped(match[1], line_number)
        properties[key] = Property(_unescaped(match[2], line_number), line_number)
    return properties


def _logical_lines(text: bytes) -> Iterator[tuple[int, str]]:
    """Yield logical lines with the number of their first line; skip comments and blank lines."""
    joined, joined_from = "", 0
    for line_number, raw_line in enumerate(text.splitlines(), start=1):
        line = raw_line.decode("latin-1").lstrip(_BLANK)
        if not joined_from and (not line or line[0] in "#!"):
            continue
        joined_from = joined_from or line_number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            joined += line[:-1]
            continue
        yield joined_from, joined + line
        joined, joined_from = "", 0
    if joined_from:
        yield joined_from, joined


def _unescaped(text: str, line_number: int) -> str:
    """Return a key or value with Java's escapes replaced."""

    def character(match: re.Match[str]) -> str:
        """Return the character that an escape stands for."""
        escaped = match[1]
        if len(escaped) > 1:
            return chr(int(escaped[1:], 16))
        if escaped == "u":
            raise MalformedEscapeError(line_number=line_number)
        return _CONTROLS.get(escaped, escaped)

    # Escapes are UTF-16 units, as in Java: two of them may be one character.
    units = _ESCAPE.sub(character, text).encode("utf-16-le", errors="surrogatepass")
    return units.decode("utf-16-le", errors="replace")
