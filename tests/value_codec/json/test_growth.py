"""Columns of JSON that a table has stay as they are, and hold everything with those added later."""

from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.json import growth
from seglake.value_codec.json.growth import grown, shape_of_columns
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.shapes import merged_shapes
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.merging import NamedType, merged
from support.json_values import exact, rebuilt, same

_RESERVED = ("_offset",)
_KEYS = st.sampled_from(["a", "A", "a__json", "value", "a.b", "a_b", "_offset", "value__json", ""])
_SCALARS = ["null", "1", "1.5", "9007199254740993", "1e400", "true", '"x"', '"\\ud800"', "[]", "{}"]


def _joined(pairs: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f'"{key}":{value}' for key, value in pairs) + "}"


_VALUES = st.recursive(
    st.sampled_from(_SCALARS),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.lists(st.tuples(_KEYS, inner), max_size=4).map(_joined)
    ),
    max_leaves=8,
)
_RUNS = st.lists(st.lists(_VALUES.map(str.encode), min_size=1, max_size=3), min_size=2, max_size=4)


class Table:
    """Columns that a table has after some runs, each with its notes."""

    def __init__(self) -> None:
        self.columns: list[pa.Field[Any]] = []

    def run(self, texts: list[bytes]) -> list[Any]:
        """Add the columns of texts; return their rows, with the names of fields."""
        shape = grown(shape_of_columns(self.columns), shape_of(bodies_of_bytes(texts)))
        reader = JsonReader(shape)
        found = merged([NamedType("json", reader.type)], _RESERVED, self.columns)
        before = self.columns
        self.columns = [*found.type]
        assert [c.name for c in self.columns[: len(before)]] == [c.name for c in before]
        for new, old in zip(self.columns, before, strict=False):
            assert is_extended(old, new), (old, new)
        decoded = reader.read(bodies_of_bytes(texts))
        values = found.conformed(decoded.values, 0)
        values.validate(full=True)
        return [named(row, self.columns) for row in values.to_pylist()]


def notes(field: Any) -> dict[bytes, bytes]:
    return field.metadata or {}


def is_extended(old: Any, new: Any) -> bool:
    """Whether a field is as it was, but for fields of structs that were added."""
    if old.name != new.name or notes(old) != notes(new):
        return False
    old_type, new_type = old.type, new.type
    while pa.types.is_list(old_type) and pa.types.is_list(new_type):
        old_type, new_type = old_type.value_type, new_type.value_type
    if not (pa.types.is_struct(old_type) and pa.types.is_struct(new_type)):
        return bool(old_type == new_type)
    return all(map(is_extended, old_type, [*new_type][: len(old_type)]))


def named(row: Any, fields: Any) -> Any:
    """A row with the names of fields in place of the columns'."""
    found = {}
    for field in fields:
        name = notes(field).get(b"seglake.name", field.name.encode()).decode()
        found[name] = _cell(row[field.name], field.type)
    return found


def _cell(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return named(value, kind)
    if pa.types.is_list(kind):
        return [_cell(item, kind.value_type) for item in value]
    return value


def stands_for(row: Any, text: bytes) -> bool:
    """Whether the columns, or the whole text, have everything of a value."""
    whole = row.pop("value__json")
    is_object = "__json_" not in row
    return same(rebuilt({**row, "value__json": whole}, is_object=is_object), exact(text))


@settings(max_examples=40)
@given(_RUNS)
@example([[b'{"a":[{"a":1}]}'], [b'{"a":[{"a":"x","A":2},{"a":1,"a":1}]}'], [b'{"a":[]}']])
@example([[b'{"a b":1,"A__JSON":2}'], [b'{"a_b":"x","A b":4,"a":[]}'], [b'{"a":{},"a__json":5}']])
@example([[b'{"value":1}'], [b'{"value":"x","value__json":2,"value__json_":3}']])
@example([[b"[1]"], [b'{"value":[1]}'], [b'"x"', b"[2]"]])
@example([[b"null"], [b"{}"], [b"[]"], [b"1"], [b'{"value":1}']])
@example([[b'{"a":[[1]]}'], [b'{"a":[[{}]]}'], [b'{"a":[[2],null]}']])
def test_values_of_several_runs_are_all_there(runs: list[list[bytes]]) -> None:
    table = Table()
    for texts in runs:
        for row, text in zip(table.run(texts), texts, strict=True):
            assert stands_for(row, text), (row, text)


def test_an_object_and_a_table_get_no_more_than_so_many_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(growth, "MOST_KEYS", 20)
    monkeypatch.setattr(growth, "MOST_COLUMNS", 100)
    table = Table()
    for run in range(6):
        inner = _joined([(f"k{key}", "1") for key in range(19)])
        many = _joined([(f"k{run}_{key}", "1") for key in range(8)])
        texts = [_joined([(f"o{run}", inner)]).encode(), _joined([("many", many)]).encode()]
        for row, text in zip(table.run(texts), texts, strict=True):
            assert stands_for(row, text)
    sizes = {
        field.name: len(field.type) for field in table.columns if pa.types.is_struct(field.type)
    }
    assert sizes["many"] == 20
    assert 90 < sum(sizes.values()) + len(sizes) <= 100


def test_integers_and_doubles_of_different_files_are_exact() -> None:
    texts = [b'{"a":-9223372036854775808}', b'{"a":9007199254740993}', b'{"a":0.5}']
    shape = reduce(merged_shapes, (shape_of(bodies_of_bytes([text])) for text in texts))
    rows: list[Any] = JsonReader(shape).read(bodies_of_bytes(texts)).values.to_pylist()
    assert [(row["a"], row["a__json"], row["value__json"]) for row in rows] == [
        (None, "-9223372036854775808", None),
        (None, "9007199254740993", None),
        (0.5, None, None),
    ]


@pytest.mark.parametrize(
    ("first", "later", "column"),
    [
        (b'{"a":1}', b'{"a":2.5}', "a__json"),
        (b'{"a":[1]}', b'{"a":[true]}', "a__json"),
        (b'{"a":[]}', b'{"a":[1]}', "a"),
        (b'{"a":2.5}', b'{"a":1}', "a"),
        (b'{"a":2.5}', b'{"a":9007199254740993}', "a__json"),
        (b'{"a":"x"}', b'{"a":null}', "a"),
        (b'{"a":{"b":1}}', b'{"a":1}', "a__json"),
    ],
)
def test_what_a_column_cannot_hold_is_text_beside_it(
    first: bytes, later: bytes, column: str
) -> None:
    table = Table()
    table.run([first])
    [row] = table.run([later])
    assert (row[column] is None) == (b"null" in later)
    assert all(value is None for name, value in row.items() if name != column)
