"""What DuckDB is given in the place of a statement of Spark SQL, or why Spark has to answer. Pure.

Both engines answer most statements alike. Where the same words mean something else to DuckDB, the
statement is not for it; where only the spelling differs, it gets its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from pyarrow import types

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.statements import Token, tokens

_KEYWORD = "offset"  # to DuckDB; to Kafka, a column
_SPARK_WORDS = frozenset(
    {
        *("lateral", "rlike", "regexp", "div", "distribute", "cluster", "sort", "minus"),
        *("extended", "formatted", "codegen", "cost", "transform", "show", "columns"),
    }
)
_SPARK_SIGNS = ("<=>", "/*+", "->")
_LISTS = frozenset({"tables", "views"})
# Functions of both engines with other answers: of nulls, of days, of patterns, of bases.
_OTHER_FUNCTIONS = frozenset(
    {
        *("concat", "dayofweek", "hash", "log", "regexp_extract", "regexp_replace", "slice"),
        *("split", "weekday", "^"),
    }
)
# They make text of bytes without a cast.
_JOINING = frozenset({"||", "concat_ws", "printf"})
_CALL = {"class": "FUNCTION", "type": "FUNCTION", "function_name": "string"}
_QUOTED_WORD = re.compile(r'"(\w+)"')
_MISSING = {
    "function": re.compile(r"(?:Function with name |function matches the given name .*?')(\w+)"),
    "table": re.compile(r"Table with name (.+?) does not exist"),
    "type": re.compile(r"Type with name (\w+) does not exist"),
}
_BINARY_COLUMNS = frozenset(
    field.name for table in TABLES for field in table.schema if types.is_binary(field.type)
)


def in_duckdb(statement: str) -> str:
    """The statement without comments, its names quoted as DuckDB does, `offset` among them."""
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
        return " "  # DuckDB lets comments nest, and would see another statement than we did
    if token.kind == "backticks":
        name = token.text.strip("`").replace("``", "`").replace('"', '""')
        return f'"{name}"'
    is_clause = follower is not None and follower.kind == "number"
    if token.kind == "word" and token.text.casefold() == _KEYWORD and not is_clause:
        return f'"{token.text}"'
    return token.text


def column_name(name: str) -> str:
    """The name of a column that has none of its own, as Spark would have it."""
    if "(" not in name:
        return name
    return _QUOTED_WORD.sub(r"\1", name.replace("count_star()", "count(1)"))


def reads_texts_as_spark(statement: str) -> bool:
    """Whether a text has a backslash: an escape to Spark, and itself to DuckDB."""
    return any(token.kind == "text" and "\\" in token.text for token in tokens(statement))


def looks_like_spark(statement: str) -> bool:
    """Whether a statement that DuckDB cannot parse has words that only Spark knows."""
    words = {token.text.casefold() for token in tokens(statement) if token.kind == "word"}
    return not words.isdisjoint(_SPARK_WORDS) or any(sign in statement for sign in _SPARK_SIGNS)


def missing(kind: Literal["function", "table", "type"], message: str) -> str | None:
    """The name of what an error of DuckDB's says it lacks, None if it says nothing of that kind.

    A function counts as lacking, too, where DuckDB has it, but not for values of such types.
    """
    found = _MISSING[kind].search(message)
    return found[1].strip('"') if found else None


def casts_as_in_spark(tree: object) -> object:
    """Return a syntax tree in which casts to text are calls of `string`, as `duckdb_sql` has it.

    Spark decodes bytes that are cast to text; DuckDB would write escapes.

    Args:
        tree: DuckDB's syntax tree or a part of it, from its JSON.
    """
    if isinstance(tree, list):
        return [casts_as_in_spark(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    node = {key: casts_as_in_spark(part) for key, part in tree.items()}
    if not _is_cast_to_text(node):
        return node
    return _CALL | {"alias": node["alias"], "children": [node["child"]]}


def other_meaning(parsed: object) -> str | None:
    """What in a statement DuckDB would answer otherwise than Spark, without a word.

    Args:
        parsed: DuckDB's syntax tree, from its JSON.
    """
    for node in _nodes(parsed):
        name = str(node.get("function_name") or "").casefold()
        children = [*_nodes(node.get("children"))]
        if name in _OTHER_FUNCTIONS:
            return f"{name} is not the same in DuckDB"
        if name in _JOINING and any(_column(child) in _BINARY_COLUMNS for child in children):
            return "it joins bytes to text"
        if node.get("type") == "ARRAY_EXTRACT" and not _is_key(children[-1]):
            return "places in a list count from 0 in Spark, and from 1 in DuckDB"
    return None


def _is_key(node: Mapping[str, object]) -> bool:
    """Whether a node is a constant text, or the type of one: the key of a map."""
    kind = node.get("type")
    return (kind.get("id") if isinstance(kind, Mapping) else node.get("id")) == "VARCHAR"


def _nodes(tree: object) -> Iterator[Mapping[str, object]]:
    if isinstance(tree, Mapping):
        yield tree
        tree = [*tree.values()]
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        for below in tree:
            yield from _nodes(below)


def _is_cast_to_text(node: Mapping[str, object]) -> bool:
    cast_type = node.get("cast_type")
    return isinstance(cast_type, Mapping) and cast_type.get("id") == "VARCHAR"


def _column(node: object) -> str | None:
    """The name of the column that a node is, without its table; in small letters."""
    names = node.get("column_names") if isinstance(node, Mapping) else None
    return str(names[-1]).casefold() if isinstance(names, list) and names else None
