"""Splits SQL text into statements, and decides from their text whether they only read.

No engine's parser is used, so a wrong statement is rejected before an engine starts.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from seglake.pipelines.lake_query.errors import WrongQueryError

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<text>'(?:[^']|'')*(?:'|\Z))
      | (?P<quoted>"(?:[^"]|"")*(?:"|\Z))
      | (?P<backticks>`(?:[^`]|``)*(?:`|\Z))
      | (?P<operator><=>|(?i:\bnot\s+(?:rlike|regexp)\b))
      | (?P<word>[^\W\d]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<space>\s+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_UNSEEN = frozenset({"comment", "space"})
_READING = frozenset(
    {
        *("SELECT", "WITH", "VALUES", "FROM", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN"),
        *("PIVOT", "PIVOT_WIDER", "UNPIVOT", "PIVOT_LONGER", "SUMMARIZE"),
    }
)
_EXPLAIN_OPTIONS = frozenset(
    {"ANALYZE", "ANALYSE", "VERBOSE", "FORMAT", "EXTENDED", "CODEGEN", "COST", "FORMATTED"}
)
_OPENING = "("


class Token(NamedTuple):
    """Piece of a statement; `kind` names the group of `_TOKEN` that it matches."""

    kind: str
    text: str


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text; joined, they are the whole text."""
    for found in _TOKEN.finditer(text):
        yield Token(found.lastgroup or "other", found[0])


def split_statements(text: str) -> list[str]:
    """Return the statements between semicolons, without empty ones."""
    return _split(text)[0]


def is_finished(text: str) -> bool:
    """Return whether only space and comments follow the last semicolon."""
    return not _split(text)[1]


def _split(text: str) -> tuple[list[str], bool]:
    """Return the statements, and whether the last one has no semicolon."""
    statements: list[str] = []
    pieces: list[str] = []
    has_content = False
    for token in (*tokens(text), Token("other", ";")):
        if token == ("other", ";"):
            if has_content:
                statements.append("".join(pieces).strip())
            is_open, has_content, pieces = has_content, False, []
        else:
            pieces.append(token.text)
            has_content |= token.kind not in _UNSEEN
    return statements, is_open


def require_query(statement: str) -> None:
    """Require that a statement begins like a query; the engine's parser checks the rest.

    Args:
        statement: one statement.

    Raises:
        WrongQueryError: the statement does not begin with a word for reading, such as SELECT.
    """
    first = next((word for word in _explained(_words(statement)) if word != _OPENING), "")
    if first not in _READING:
        raise refused(first)


def shows_names(statement: str) -> bool:
    """Return whether a statement is a SHOW, apart from comments before it."""
    return _words(statement)[:1] == ["SHOW"]


def _words(statement: str) -> list[str]:
    return [token.text.upper() for token in tokens(statement) if token.kind not in _UNSEEN]


def _explained(words: list[str]) -> list[str]:
    """Return the words of a statement after EXPLAIN.

    These words decide whether the statement only reads, because EXPLAIN ANALYZE runs it.
    """
    while words[:1] == ["EXPLAIN"]:
        words = words[1:]
        if words[:1] == [_OPENING] and words[1:2] and words[1] in _EXPLAIN_OPTIONS:
            words = words[words.index(")") + 1 :] if ")" in words else []
        while words and words[0] in _EXPLAIN_OPTIONS:
            words = words[1:]
    return words


def refused(kind: str) -> WrongQueryError:
    """Return the error for a statement that does more than read."""
    return WrongQueryError(
        f"`seglake sql` only reads, and does not run {kind}: give a SELECT, WITH, SHOW,"
        " DESCRIBE or EXPLAIN"
    )
