"""JSON values with every digit, and the value that a row of columns stands for."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any


class Pairs(tuple[tuple[str, Any], ...]):
    """An object's members in their order, keys that occur twice included."""

    __slots__ = ()


def exact(text: bytes | str) -> Any:
    """A JSON text's value: numbers are decimals, objects are pairs without members that are null.

    Raises:
        ValueError: it is no JSON, or no UTF-8.
    """
    return json.loads(
        text.decode("utf-8") if isinstance(text, bytes) else text,
        parse_int=_number,
        parse_float=_number,
        parse_constant=_refused,
        object_pairs_hook=lambda pairs: Pairs(pair for pair in pairs if pair[1] is not None),
    )


def _number(literal: str) -> Decimal:
    """A number of a type that no boolean is equal to."""
    return Decimal(literal)


def _refused(literal: str) -> None:
    raise ValueError(literal)


def rebuilt(row: Mapping[str, Any], *, is_object: bool = True) -> Any:
    """The exact value that a row's columns stand for, of which the last is the whole text.

    Args:
        row: the row, by the names of its fields.
        is_object: the columns are the members of an object, not one of the value.
    """
    *names, whole = row
    if row[whole] is not None:
        return exact(row[whole])
    return _cell(
        {"value__json" if name == "value__json_" else name: row[name] for name in names}
        if is_object
        else row[names[0]]
    )


def _cell(cell: Any) -> Any:
    """The exact value of a cell."""
    if isinstance(cell, bool | str | None):
        return cell
    if isinstance(cell, int | float):
        return Decimal(repr(cell))
    if isinstance(cell, list):
        return [_cell(item) for item in cell]
    pairs = []
    for name, item in cell.items():
        if item is not None and name.endswith("__json"):
            pairs.append((name.removesuffix("__json"), exact(item)))
        elif item is not None:
            is_renamed = "__json__" in name and name.rstrip("_").endswith("__json")
            pairs.append((name[:-2] if is_renamed else name, _cell(item)))
    return Pairs(pairs)


def same(first: Any, second: Any) -> bool:
    """Return whether two exact values are equal, in whatever order objects have their members."""
    if isinstance(first, Pairs) and isinstance(second, Pairs):
        if len(first) != len(second):
            return False
        ordered = sorted(first, key=lambda pair: pair[0]), sorted(second, key=lambda pair: pair[0])
        return all(a[0] == b[0] and same(a[1], b[1]) for a, b in zip(*ordered, strict=True))
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return all(map(same, first, second))
    return type(first) is type(second) and bool(first == second)


def oracle_value(value: Any) -> Any:
    """The exact value of the oracle's form of a JSON value."""
    if isinstance(value, bool | str | None):
        return value
    if isinstance(value, int | float):
        return Decimal(repr(value))
    if isinstance(value, list):
        return [oracle_value(item) for item in value]
    if [*value] == ["$num"]:
        return Decimal(value["$num"])
    pairs = value["$dup"] if [*value] == ["$dup"] else value.items()
    return Pairs((key, oracle_value(item)) for key, item in pairs if item is not None)
