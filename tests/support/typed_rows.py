"""Typed tables read back, and compared with the values of the oracle of the typed disk."""

import base64
import json
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from seglake.lake.typed_tables import PLACE_FIELDS

_PLACES = {field.name for field in PLACE_FIELDS}

# Any: values of every type.
Row = dict[str, Any]


def typed_rows(lake: Path, name: str) -> list[Row]:
    """The rows of a typed table, in the order of partition, offset; times are plain numbers."""
    table = DeltaTable(str(lake / "typed" / name)).to_pyarrow_table()
    fields = [pa.field(field.name, _plain(field.type)) for field in table.schema]
    rows = table.cast(pa.schema(fields)).to_pylist()
    return sorted(rows, key=lambda row: (row["_partition"], row["_offset"]))


def typed_columns(lake: Path, name: str) -> dict[str, str]:
    """The columns of values in a typed table, each with the name of the field that it holds."""
    schema = DeltaTable(str(lake / "typed" / name)).to_pyarrow_table().schema
    notes = {field.name: field.metadata or {} for field in schema if is_of_value(field.name)}
    return {
        name: notes.get(b"seglake.name", name.encode()).decode() for name, notes in notes.items()
    }


def table_rows(lake: Path, name: str) -> list[Row]:
    """The rows of another table that `deserialize` writes."""
    return DeltaTable(str(lake / name)).to_pyarrow_table().to_pylist()


def typed_names(lake: Path, topic: str) -> list[str]:
    """The names of a topic's typed tables."""
    found = sorted(path.name for path in (lake / "typed").iterdir())
    return [name for name in found if name == topic or name.startswith(f"{topic}__")]


def _plain(kind: Any) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _plain(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _plain(kind.value_type)))
    if pa.types.is_date(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def columns_of(row: Row) -> Row:
    """The columns of the value."""
    return {name: value for name, value in row.items() if is_of_value(name)}


def is_of_value(column: str) -> bool:
    """Return whether a column holds values, and neither keys nor a record's place."""
    return column not in _PLACES and column != "_key" and not column.startswith("_key__")


def differs(found: Any, expected: Any) -> str:
    """Return how a value in a table differs from the oracle; "" if it does not."""
    return next(_differing(found, expected, ""), "")


def _differing(found: Any, expected: Any, path: str) -> Iterator[str]:
    if isinstance(expected, dict) and not any(name.startswith("$") for name in expected):
        yield from _of_record(found, expected, path)
    elif isinstance(expected, dict) and "$map" in expected:
        pairs = [(key, value) for key, value in expected["$map"]]
        if found is None or [key for key, _ in found] != [key for key, _ in pairs]:
            yield f"{path}: {found} is not {expected}"
            return
        for (key, value), (_, wanted) in zip(found, pairs, strict=True):
            yield from _differing(value, wanted, f"{path}.{key}")
    elif isinstance(expected, dict) and "$union" in expected:
        branch = _legal(f"member_{expected['$union']}")
        members = {name: value for name, value in found.items() if value is not None}
        if [*members] != [branch]:
            yield f"{path}: {members} is not {expected}"
            return
        yield from _differing(members[branch], expected["value"], f"{path}.{branch}")
    elif isinstance(expected, list):
        if found is None or len(found) != len(expected):
            yield f"{path}: {found} is not {expected}"
            return
        for index, (value, wanted) in enumerate(zip(found, expected, strict=True)):
            yield from _differing(value, wanted, f"{path}[{index}]")
    elif not is_same(found, expected):
        yield f"{path}: {found!r} is not {expected!r}"


def _of_record(found: Any, expected: Mapping[str, Any], path: str) -> Iterator[str]:
    """A record's fields; one may be in a column of its own, or as JSON."""
    if not isinstance(found, dict):
        yield f"{path}: {found!r} is not {expected!r}"
        return
    left = {name: value for name, value in found.items() if value is not None}
    for name, wanted in expected.items():
        legal = _legal(name)
        mine = [each for each in left if each == legal or each.startswith(f"{legal}__")]
        if f"{legal}_json" in left:
            text = json.loads(left.pop(f"{legal}_json"))
            if (text is None) != (wanted is None):
                yield f"{path}.{name}: {text} is not {wanted}"
        elif len(mine) > 1:
            yield f"{path}.{name}: it is in {mine}"
        else:
            value = left.pop(mine[0]) if mine else None
            yield from _differing(value, wanted, f"{path}.{name}")
    left.pop("_present", None)
    if left:
        yield f"{path}: {left} is in no field of {expected}"


def _legal(name: str) -> str:
    return name.replace(".", "_")


def is_same(found: Any, expected: Any) -> bool:
    if not isinstance(expected, dict):
        return bool(found == expected) and isinstance(found, bool) == isinstance(expected, bool)
    match expected:
        case {"$bytes": text}:
            return bool(found == base64.b64decode(text))
        case {"$decimal": text}:
            return bool(found == Decimal(text))
        case {"$ts": number, "unit": unit}:
            return bool(found == (number * 1000 if unit == "ms" else number))
        case {"$local": number} | {"$date": number} | {"$time": number}:
            return bool(found == number)
        case {"$uuid": text}:
            return bool(found == text)
        case {"$float": text}:
            wanted = float(text.replace("Infinity", "inf"))
            return found == wanted or (math.isnan(wanted) and math.isnan(found))
    return False
