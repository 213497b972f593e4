"""Rewrites parsed Spark SQL for DuckDB.

The trees come from DuckDB's own parser, as JSON.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyarrow import types

from seglake.lake.tables import TABLES
from seglake.pipelines.lake_query.errors import WrongQueryError, ambiguous

# Any: nodes hold values of all types.
Node = Mapping[str, Any]

_BINARY_COLUMNS = frozenset(
    field.name for table in TABLES for field in table.schema if types.is_binary(field.type)
)
_RENAMED = {"<~>": "rlike", "<!~>": "not_rlike", "transform": "list_transform"}
# Functions for which Spark casts bytes to text. DuckDB would reject the bytes, or escape them.
_OF_TEXT = frozenset(
    {
        *("~~", "!~~", "~~*", "!~~*", "like_escape", "not_like_escape", "||", "concat_ws"),
        *("printf", "upper", "lower", "trim", "ltrim", "rtrim", "instr", "replace", "translate"),
        *("contains", "substring_index", "lpad", "rpad"),
    }
)
_OF_TIMES = frozenset({"to_date", "date_format", "from_unixtime", "unix_timestamp", "to_timestamp"})
_TIME_PIECE = re.compile(r"'(?P<text>[^']*)'|(?P<letters>([A-Za-z])\3*)|(?P<sign>.)", re.DOTALL)
_TIME_LETTERS = {
    letters: f"%{directive}"
    for letters, directive in (
        *(("yyyy", "Y"), ("yy", "y"), ("MMMM", "B"), ("MMM", "b"), ("MM", "m"), ("M", "-m")),
        *(("dd", "d"), ("d", "-d"), ("EEEE", "A"), ("E", "a"), ("a", "p")),
        *(("HH", "H"), ("H", "-H"), ("hh", "I"), ("h", "-I"), ("mm", "M"), ("m", "-M")),
        *(("ss", "S"), ("s", "-S"), ("SSS", "g"), ("SSSSSS", "f")),
    )
}


def as_in_spark(tree: object, *, replaces: bool) -> object:
    """Return a syntax tree changed so that DuckDB gives Spark's answer.

    Args:
        tree: a syntax tree or a part of it.
        replaces: whether functions that both engines have get Spark's meaning; casts of bytes to
            text always get it.

    Raises:
        WrongQueryError: the engines differ in a part that DuckDB cannot express.
    """
    if isinstance(tree, list):
        return [as_in_spark(part, replaces=replaces) for part in tree]
    if not isinstance(tree, dict):
        return tree
    node: dict[str, Any] = {key: as_in_spark(part, replaces=replaces) for key, part in tree.items()}
    if _is_cast_to_text(node):
        return _text_of(node["child"]) | {"alias": node["alias"]}
    if node.get("class") == "FUNCTION":
        return _call(node, replaces=replaces)
    if replaces and node.get("type") == "ARRAY_EXTRACT" and not _is_key(node["children"][-1]):
        raise ambiguous("an index in brackets, from 0 in Spark and from 1 in DuckDB,")
    return node


def _call(node: dict[str, Any], *, replaces: bool) -> dict[str, Any]:
    name = str(node["function_name"]).casefold()
    children = node["children"]
    if name in _OF_TIMES and len(children) == 2:
        children = [children[0], _time_pattern(children[1])]
    if replaces:
        if name == "hash":
            raise ambiguous("hash")
        name = {"^": "xor"}.get(name, name)
        is_of_bytes = name == "||" and all(map(_is_binary, children))
        if name in _OF_TEXT and not is_of_bytes:
            children = [_text_of(child) if _is_binary(child) else child for child in children]
        if name == "concat" and len(children) > 1:
            return _joined(node, children)
    renamed = _RENAMED.get(name, name)
    is_operator = node["is_operator"] and renamed == node["function_name"]
    return node | {"function_name": renamed, "children": children, "is_operator": is_operator}


def _joined(node: dict[str, Any], children: Sequence[Any]) -> dict[str, Any]:
    """Return a call of `concat` as `||`: the result is null if a value is null, as in Spark."""
    made: dict[str, Any] = children[0]
    for other in children[1:]:
        operator = node | {"function_name": "||", "children": [made, other], "is_operator": True}
        made = _call(operator, replaces=True)
    return made | {"alias": node["alias"]}


def _text_of(child: object) -> dict[str, Any]:
    """Return a call of the macro `string`, which casts to text as Spark does."""
    call = {"class": "FUNCTION", "type": "FUNCTION", "function_name": "string"}
    return call | {"alias": "", "children": [child]}


def _time_pattern(node: dict[str, Any]) -> dict[str, Any]:
    """Translate a text pattern of Java's DateTimeFormatter; keep other expressions."""
    value = node.get("value")
    if node.get("type") != "VALUE_CONSTANT" or not isinstance(value, dict) or value["is_null"]:
        return node
    pieces = [_time_piece(found) for found in _TIME_PIECE.finditer(str(value["value"]))]
    return node | {"value": value | {"value": "".join(pieces)}}


def _time_piece(found: re.Match[str]) -> str:
    if found["letters"] is None:
        return (found["text"] or found["sign"] or "'").replace("%", "%%")
    if found["letters"] not in _TIME_LETTERS:
        raise WrongQueryError(
            f"DuckDB cannot write {found['letters']} of a pattern of times: use --engine spark"
        )
    return _TIME_LETTERS[found["letters"]]


def _is_key(node: Node) -> bool:
    """Return whether a node is a constant text: the key of a map."""
    value = node.get("value")
    return isinstance(value, Mapping) and value["type"]["id"] == "VARCHAR"


def _is_cast_to_text(node: Node) -> bool:
    cast_type = node.get("cast_type")
    return isinstance(cast_type, Mapping) and cast_type.get("id") == "VARCHAR"


def _is_binary(node: Node) -> bool:
    """Return whether a node has the name of a column that has bytes in some table."""
    names = node.get("column_names") or [""]
    return str(names[-1]).casefold() in _BINARY_COLUMNS
