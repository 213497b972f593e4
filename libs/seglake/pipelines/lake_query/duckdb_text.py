"""Rewrites the text of Spark SQL for DuckDB.

Both engines answer most statements in the same way. For the others, macros add functions
(spark_functions.sql), this module changes the text, and `duckdb_tree` changes parsed statements.
"""

import re
from itertools import pairwise

from seglake.pipelines.lake_query.errors import ambiguous
from seglake.pipelines.lake_query.statements import Token, tokens

_KEYWORD = "offset"  # a keyword of DuckDB, but the name of a column
# Spark's operators in DuckDB's spelling. DuckDB can only parse some of them; `duckdb_tree` turns
# these into calls.
_OPERATORS = {
    "rlike": "<~>",
    "regexp": "<~>",
    "not rlike": "<!~>",
    "not regexp": "<!~>",
    "div": "//",
    "<=>": "IS NOT DISTINCT FROM",
}
_LISTS = frozenset({"tables", "views"})
_CAST = re.compile(r"\bstring\(([^()]*)\)")
_QUOTED_WORD = re.compile(r'"(\w+)"')
_NO_TABLE = re.compile(r"Table with name (.+?) does not exist")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def in_duckdb(statement: str) -> str:
    """Return the statement without comments, with names and operators in DuckDB's spelling."""
    pieces = [*tokens(statement)]
    kept = [index for index, token in enumerate(pieces) if token.kind not in ("space", "comment")]
    words = [pieces[index].text.casefold() for index in kept[:2]]
    if len(kept) == 2 and words[0] == "show" and words[1] in _LISTS:
        return "SHOW TABLES"
    followers = dict(pairwise(kept))
    return "".join(
        _spelled(token, pieces[followers[index]] if index in followers else None)
        for index, token in enumerate(pieces)
    )


def _spelled(token: Token, follower: Token | None) -> str:
    if token.kind == "comment":
        return " "  # DuckDB nests comments; Spark and this pattern do not
    if token.kind == "backticks":
        name = token.text.strip("`").replace("``", "`").replace('"', '""')
        return f'"{name}"'
    if token.kind not in ("word", "operator"):
        return token.text
    word = " ".join(token.text.casefold().split())
    is_clause = follower is not None and follower.kind == "number"
    if word == _KEYWORD and not is_clause:
        return f'"{token.text}"'
    is_call = follower is not None and follower.text == "("
    return token.text if is_call else _OPERATORS.get(word, token.text)


def column_name(name: str) -> str:
    """Return the name that Spark would give an unnamed column."""
    if "(" not in name:
        return name
    plain = _QUOTED_WORD.sub(r"\1", name.replace("count_star()", "count(1)").replace("main.", ""))
    return _CAST.sub(r"CAST(\1 AS STRING)", plain)


def unescaped(statement: str) -> str:
    """Return a Spark statement with the backslash escapes in its texts replaced.

    Args:
        statement: one statement of Spark SQL.

    Raises:
        WrongQueryError: the engines would read a text differently.
    """
    return "".join(
        _plain_text(token.text, statement) if token.kind == "text" else token.text
        for token in tokens(statement)
    )


def _plain_text(text: str, statement: str) -> str:
    found = _ESCAPE.findall(text)
    plain = _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], ""), text)
    is_pattern = "\\" in plain and re.search(r"\bi?like\b", statement, re.IGNORECASE)
    if is_pattern or not _ESCAPES.keys() >= {*found}:
        raise ambiguous(f"the backslash in {text}")
    return plain


def missing_table(message: str) -> str | None:
    """Return the missing table in an error message of DuckDB; None if the message has none."""
    found = _NO_TABLE.search(message)
    return found[1].strip('"') if found else None
