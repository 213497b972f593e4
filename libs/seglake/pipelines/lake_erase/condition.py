"""Checks and evaluates the condition of an erasure: one SQL expression over columns of `records`.

DuckDB parses it, and evaluates it on rows in memory. It cannot read files or change settings.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.errors import SeglakeError, WrongCallError
from seglake.lake.tables import RECORDS
from seglake.pipelines.lake_erase import condition_sql

_OF_ALL_COLUMNS = frozenset({"STAR", "COLUMNS"})
_REFUSED = {
    "SUBQUERY": "a subquery",
    "PARAMETER": "a parameter",
    "WINDOW": "a window function",
}


# Parts of DuckDB's messages that have no value of a record.
_FAILED = re.compile(
    r"Could not (?:convert|parse|decode) \w+|Malformed JSON|Overflow in \w+|cannot take [a-z ]+"
    r"|[Ii]nvalid \w+ field format|\w+ field value out of range|Failure in decode|Type \w+"
)
_CAST = re.compile(
    r"['\"]( to| can't be cast to the destination type)( [A-Z0-9_(),\[\]]+)"
    r"(?: when casting from source column (\w+))?$"
)


class ConditionFailedError(SeglakeError):
    """The condition fails on a record; the message has no payload."""


class Condition(NamedTuple):
    """A checked condition.

    Attributes:
        text: the SQL expression.
        columns: columns of `records` that it needs.
    """

    text: str
    columns: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "Condition":
        """Parse and check the condition of an erasure.

        Raises:
            WrongCallError: the text is not one boolean expression over columns of `records`.
        """
        tree = _parsed(text)
        nodes = [*_nodes(tree)]
        for node in nodes:
            if node.get("class") in _REFUSED:
                raise _wrong(f"{_REFUSED[str(node['class'])]} is not possible")
            _require_text_columns(node)
        try:
            kind = condition_sql.type_of(text, RECORDS.schema.empty_table())
        except duckdb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise _wrong(f"{reason}{_known_columns(reason)}") from error
        if kind != "BOOLEAN":
            raise _wrong(f"it is of type {kind}, and must be true or false")
        return cls(text, _columns(nodes))

    def matches(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Return for each row of `records`, with the needed columns, whether the condition holds.

        Raises:
            ConditionFailedError: the condition cannot be evaluated on a record.
        """
        try:
            return condition_sql.matches(self.text, rows)
        except duckdb.Error as error:
            raise ConditionFailedError(
                f"the condition fails on a record ({_reason(error)}): use try(...) or TRY_CAST in"
                " it"
            ) from None


def _reason(error: duckdb.Error) -> str:
    """Return why the condition fails, without the record's value, which DuckDB's message may have.

    Of an unknown message only the name of the error is returned.
    """
    kind, line = type(error).__name__, str(error).splitlines()[0]
    failed = _FAILED.match(line.partition(" Error: ")[2])
    cast = _CAST.search(line)
    if failed is None:
        return kind
    where = f" in column {cast[3]}" if cast is not None and cast[3] else ""
    target = f"{cast[1]}{cast[2]}" if cast is not None else ""
    return f"{kind}: {failed[0]}{target}{where}"


# Any: a syntax tree has values of many types.
def _parsed(text: str) -> dict[str, Any]:
    """Return the syntax tree of an expression; raise WrongCallError for any other text."""
    parsed = condition_sql.parsed(text)
    if parsed["error"]:
        hint = '; write "offset" in double quotes' if '"offset"' in parsed["error_message"] else ""
        raise _wrong(f"{parsed['error_message']}{hint}")
    (statement,) = parsed["statements"] if len(parsed["statements"]) == 1 else ({},)
    node = statement.get("node", {})
    table = node.get("from_table", {})
    is_one = node.get("type") == "SELECT_NODE" and table.get("table_name") == "records"
    extras = ("group_expressions", "having", "qualify", "sample")
    if not is_one or any(node.get(name) for name in extras) or node.get("modifiers"):
        raise _wrong("the condition must be one expression")
    where: dict[str, Any] = node["where_clause"]
    return where


def _known_columns(reason: str) -> str:
    """Return the columns that a condition may name, if the reason is that it names another."""
    if not reason.startswith("Binder Error: Referenced column"):
        return ""
    texts = [f"{name}_text" for name in condition_sql.PAYLOADS]
    return f" It may name {', '.join([*RECORDS.schema.names, *texts])}"


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all nodes of the syntax tree of a condition."""
    if isinstance(tree, dict):
        yield tree
        for part in tree.values():
            yield from _nodes(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


def _require_text_columns(node: dict[str, Any]) -> None:
    """Reject a cast of a payload to text: DuckDB would write bytes above 127 as escapes."""
    cast_type = node.get("cast_type")
    is_to_text = isinstance(cast_type, dict) and cast_type.get("id") == "VARCHAR"
    name = str((node.get("child", {}).get("column_names") or [""])[-1]).casefold()
    if is_to_text and name in condition_sql.PAYLOADS:
        raise _wrong(f"{name} has bytes: {name}_text is its text, NULL if it is not UTF-8")


def _columns(nodes: "list[dict[str, Any]]") -> tuple[str, ...]:
    """Return the columns of `records` that a condition may read."""
    names = RECORDS.schema.names
    if any(node.get("class") in _OF_ALL_COLUMNS for node in nodes):
        return tuple(names)
    by_name = {name.casefold(): name for name in names}
    by_name |= {f"{name}_text": name for name in condition_sql.PAYLOADS}
    parts = [str(part) for node in nodes for part in node.get("column_names") or ()]
    found = {by_name[part.casefold()] for part in parts if part.casefold() in by_name}
    return tuple(name for name in names if name in found)


def _wrong(reason: str) -> WrongCallError:
    return WrongCallError(f"--where is refused: {reason}")
