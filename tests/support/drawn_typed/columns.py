"""Columns of typed tables, found by the names of the schemas' fields, and compared with values."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from support.typed_rows import Row, is_of_value, is_same

_ILLEGAL = {*' ,;{}()=.`"\n\t'}


class TableColumns:
    """The columns of a typed table, found by the names that `typed_columns` gives their fields."""

    def __init__(self, rows: list[Row], place: tuple[Path, str], part: str) -> None:
        table = f"typed/{place[1]}"
        schema = DeltaTable(str(place[0] / "typed" / place[1])).to_pyarrow_table().schema
        self._fields = [field for field in schema if is_of_value(field.name)]
        self._inner: dict[tuple[str, ...], dict[str, list[str]]] = defaultdict(dict)
        for row in rows:
            if (row["table"], row["part"]) == (table, part):
                *outer, name = row["column"].split(".")
                fields = self._inner[tuple(outer)]
                columns = fields.setdefault(row["path"][-1], [])
                columns += [name] if name not in columns else []

    def differs(self, cell: Any, wanted: Any, at: tuple[str, ...] = ()) -> str:
        """How a cell differs from a value; "" if it does not."""
        match wanted:
            case {"$map": pairs}:
                if cell is None or [key for key, _ in cell] != [key for key, _ in pairs]:
                    return f"{at}: {cell} is not {wanted}"
                found = zip(cell, pairs, strict=True)
                return _first(self.differs(a[1], b[1], (*at, "value")) for a, b in found)
            case dict() if not any(name.startswith("$") for name in wanted):
                return self._record_differs(cell, wanted, at)
            case list():
                if cell is None or len(cell) != len(wanted):
                    return f"{at}: {cell} is not {wanted}"
                both = zip(cell, wanted, strict=True)
                return _first(self.differs(a, b, (*at, "element")) for a, b in both)
        return "" if is_same(cell, wanted) else f"{at}: {cell!r} is not {wanted!r}"

    def _record_differs(self, cell: Any, wanted: Any, at: tuple[str, ...]) -> str:
        if not isinstance(cell, dict):
            return f"{at}: {cell!r} is not {wanted!r}"
        left = {name: value for name, value in cell.items() if value is not None}
        for name, value in wanted.items():
            mine = [each for each in self._inner[at].get(name, ()) if each in left]
            if len(mine) > 1:
                return f"{at}: {name} is in {mine}"
            found = left.pop(mine[0]) if mine else None
            if text := self.differs(found, value, (*at, *(mine or [name]))):
                return text
        left.pop("_present", None)
        return f"{at}: {left} is in no field of {wanted}" if left else ""

    def by_field(self, row: Row) -> Row:
        """The values of a row by the names of their fields, at every depth."""
        return _by_field(row, self._fields)


# Any: pyarrow's stubs have no types with parts.
def _by_field(cell: Any, fields: Any) -> Row:
    found: Row = {}
    for field in fields:
        name = (field.metadata or {}).get(b"seglake.name", field.name.encode()).decode()
        value = _of_type(cell[field.name], field.type)
        found[name] = value if found.get(name) is None else found[name]
    return found


def _of_type(cell: Any, kind: Any) -> Any:
    if cell is not None and pa.types.is_struct(kind):
        return _by_field(cell, kind)
    if cell is not None and pa.types.is_list(kind):
        return [_of_type(each, kind.value_type) for each in cell]
    return cell


def _first(texts: Iterator[str]) -> str:
    return next((text for text in texts if text), "")


def illegal_columns(lake: Path, name: str) -> Iterator[str]:
    """Yield names of columns and fields that Spark or Delta would refuse."""

    def within(fields: Any, path: str) -> Iterator[str]:
        names = [field["name"] for field in fields]
        if len({each.casefold() for each in names}) < len(names):
            yield f"{name}{path} has names that differ in case only: {names}"
        for field in fields:
            if not field["name"] or _ILLEGAL & {*field["name"]}:
                yield f"{name}{path} has the column {field['name']!r}"
            yield from of_type(field["type"], f"{path}.{field['name']}")

    def of_type(kind: Any, path: str) -> Iterator[str]:
        if isinstance(kind, str):
            if kind in ("timestamp_ntz", "void", "variant"):
                yield f"{name}{path} has the type {kind}"
        elif kind["type"] == "struct":
            if not kind["fields"]:
                yield f"{name}{path} is a struct without fields"
            yield from within(kind["fields"], path)
        else:
            for part in ("elementType", "keyType", "valueType"):
                if part in kind:
                    yield from of_type(kind[part], f"{path}.{part}")

    schema = DeltaTable(str(lake / "typed" / name)).schema()
    yield from within(json.loads(schema.to_json())["fields"], "")
