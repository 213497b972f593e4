"""Types of many schemas become one, which holds all their values."""

import datetime
import sys
from decimal import Decimal
from itertools import count

import pyarrow as pa
import pytest

from seglake.value_codec.decoded import ArrowArray
from seglake.value_codec.merging import MergedType, NamedType, merged

UTC = datetime.UTC


def merge(*types: pa.DataType, reserved: tuple[str, ...] = ()) -> MergedType:
    names = (f"id {number}" for number in count(1))
    return merged(
        [NamedType(name, each) for name, each in zip(names, types, strict=False)], reserved
    )


def of(**fields: pa.DataType) -> pa.StructType:
    return pa.struct(list(fields.items()))


def rows(*arrays: ArrowArray, reserved: tuple[str, ...] = ()) -> list[object]:
    """The rows of the merged type of all arrays, one array after the other."""
    found = merge(*(each.type for each in arrays), reserved=reserved)
    result: list[object] = []
    for number, each in enumerate(arrays):
        conformed = found.conformed(each, number)
        conformed.validate(full=True)
        assert conformed.type == found.type
        result += conformed.to_pylist()
        # Parts of an array become the parts of the result.
        part = found.conformed(each.slice(1), number)
        part.validate(full=True)
        assert part.to_pylist() == conformed.to_pylist()[1:]
    return result


def column(*types: pa.DataType) -> list[tuple[str, str]]:
    """Name and type of the columns of a field `a` of these types."""
    found = merge(*(of(a=each) for each in types))
    return [(each.name, str(each.type)) for each in found.type]


_D = pa.decimal128


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([pa.int32(), pa.int64()], "int64"),
        ([pa.int8(), pa.uint16()], "int32"),
        ([pa.uint32()], "int64"),
        ([pa.uint64(), pa.int64()], "decimal128(20, 0)"),
        ([pa.int32(), pa.float32()], "double"),
        ([pa.float32(), pa.int32(), pa.float64()], "double"),
        ([pa.float32()], "float"),
        ([pa.int32(), _D(4, 2)], "decimal128(12, 2)"),
        ([_D(4, 2), pa.int64()], "decimal128(21, 2)"),
        ([_D(10, 0), _D(10, 8)], "decimal128(18, 8)"),
        ([_D(10, 8), _D(4, 2)], "decimal128(10, 8)"),
        ([pa.large_string(), pa.string()], "string"),
        ([pa.dictionary(pa.int8(), pa.string()), pa.string()], "string"),
        ([pa.binary(3), pa.binary()], "binary"),
        ([pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")], "timestamp[us, tz=UTC]"),
        ([pa.timestamp("ns", "UTC")], "int64"),
        ([pa.timestamp("ms")], "int64"),
        ([pa.time32("ms")], "int32"),
        ([pa.time32("ms"), pa.time64("us")], "int64"),
        ([pa.list_(pa.null()), pa.list_(pa.int32()), pa.list_(pa.int64())], "list<element: int64>"),
        ([pa.list_(pa.null())], "list<element: string>"),
        ([pa.map_(pa.string(), pa.null())], "map<string, string>"),
    ],
)
def test_types_are_promoted_to_one(types: list[pa.DataType], expected: str) -> None:
    [(name, found)] = column(*types)
    assert (name, found.replace("<item:", "<element:")) == ("a", expected)


@pytest.mark.parametrize(
    ("types", "apart"),
    [
        ([pa.int64(), pa.float64()], ("a__double", "double")),
        ([pa.float64(), pa.int32(), pa.int64()], ("a__bigint", "int64")),
        ([pa.int32(), pa.string()], ("a__string", "string")),
        ([pa.string(), pa.binary()], ("a__binary", "binary")),
        ([pa.bool_(), pa.int32()], ("a__int", "int32")),
        ([pa.date32(), pa.timestamp("us", "UTC")], ("a__timestamp", "timestamp[us, tz=UTC]")),
        ([pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")], ("a__bigint", "int64")),
        ([pa.timestamp("us"), pa.int64()], ("a__bigint", "int64")),
        ([pa.timestamp("us"), pa.timestamp("ms")], ("a__bigint", "int64")),
        ([_D(38, 0), _D(2, 1)], ("a__decimal", "decimal128(2, 1)")),
        ([_D(38, 38), pa.int32()], ("a__int", "int32")),
        ([pa.int32(), of(b=pa.int32())], ("a__struct", "struct<b: int32>")),
        ([pa.int32(), pa.list_(pa.int32())], ("a__array", "list<item: int32>")),
        ([pa.list_(pa.int32()), pa.list_(pa.string())], ("a__array", "list<item: string>")),
    ],
)
def test_a_type_that_cannot_be_promoted_has_a_column_of_its_own(
    types: list[pa.DataType], apart: tuple[str, str]
) -> None:
    assert column(*types)[1:] == [apart]


def test_two_columns_apart_have_two_names() -> None:
    assert [name for name, _ in column(_D(38, 0), _D(38, 38), _D(38, 19))] == [
        *("a", "a__decimal", "a__decimal_2"),
    ]


def test_values_are_promoted_with_their_types() -> None:
    last = (1 << 64) - 1
    assert rows(pa.array([{"a": 1}, None]), pa.array([{"a": 2, "b": "x"}, {"a": None}])) == [
        {"a": 1, "b": None},
        None,
        {"a": 2, "b": "x"},
        {"a": None, "b": None},
    ]
    found = rows(
        pa.array([last, None], pa.uint64()),
        pa.array([-1, None], pa.int32()),
        pa.array([Decimal("0.25"), None], _D(3, 2)),
    )
    assert found[::2] == [{"value": Decimal(n)} for n in (last, -1, "0.25")]
    assert found[1::2] == [None] * 3


def test_times_have_one_unit() -> None:
    at = datetime.datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
    first = datetime.datetime(1, 1, 1, tzinfo=UTC)
    stamps = pa.array([253402300799999, None, -62135596800000]).view(pa.timestamp("ms", "UTC"))
    assert rows(stamps) == [{"value": at}, None, {"value": first}]
    local = pa.array([1 << 62, None]).view(pa.timestamp("ms"))
    assert rows(local) == [{"value": 1 << 62}, None]
    times = pa.array([-1, 2], pa.int32()).view(pa.time32("ms"))
    assert rows(times, pa.array([1 << 62]).view(pa.time64("us"))) == [
        {"value": -1000},
        {"value": 2000},
        {"value": 1 << 62},
    ]
    assert rows(times) == [{"value": -1}, {"value": 2}]


def test_records_are_merged_at_every_depth() -> None:
    kinds = of(
        r=of(a=pa.int32()), l=pa.list_(of(x=pa.int32())), m=pa.map_(pa.string(), of(a=pa.int32()))
    )
    two = of(
        r=of(b=pa.string(), a=pa.string()),
        l=pa.list_(of(x=pa.int64(), y=pa.null())),
        m=pa.map_(pa.string(), of(b=pa.int32())),
    )
    values = [{"r": {"a": 1}, "l": [{"x": 1}, None], "m": [("k", {"a": 1})]}, {"l": []}]
    others = [{"r": {"b": "b", "a": "a"}, "l": [{"x": 1 << 40}], "m": [("q", None)]}]
    assert rows(pa.array(values, kinds), pa.array(others, two)) == [
        {
            "r": {"a": 1, "b": None, "a__string": None},
            "l": [{"x": 1}, None],
            "m": [("k", {"a": 1, "b": None})],
        },
        {"r": None, "l": [], "m": None},
        {
            "r": {"a": None, "b": "b", "a__string": "a"},
            "l": [{"x": 1 << 40}],
            "m": [("q", None)],
        },
    ]


def test_unions_grow_by_members() -> None:
    found = merge(
        of(u=of(member_int=pa.int32(), member_string=pa.string())),
        of(u=of(member_string=pa.string(), member_long=pa.int64())),
    )
    assert [f.name for f in found.type[0].type] == ["member_int", "member_string", "member_long"]


def test_a_struct_without_fields_is_present() -> None:
    empty = pa.Array.from_buffers(pa.struct([]), 2, [None])
    assert rows(empty) == [{"_present": True}] * 2
    nothing = pa.array([{"n": None}, None], of(n=pa.null()))
    assert rows(nothing, pa.array([{"a": 1}])) == [
        {"_present": True, "a": None},
        None,
        {"_present": None, "a": 1},
    ]
    assert rows(pa.array([{"r": {}}, {"r": None}], of(r=pa.struct([])))) == [
        {"r": {"_present": True}},
        {"r": None},
    ]


def test_values_that_are_no_structs_are_a_column() -> None:
    assert rows(pa.array([1, None]), pa.array([{"a": 1}]), pa.array(["x"])) == [
        {"value": 1, "value__struct": None, "value__string": None},
        None,
        {"value": None, "value__struct": {"a": 1}, "value__string": None},
        {"value": None, "value__struct": None, "value__string": "x"},
    ]


def test_nothing_but_nulls_is_text() -> None:
    found = merge(pa.null())
    assert found.type == of(value=pa.string())
    assert found.conformed(pa.nulls(2), 0).to_pylist() == [None, None]
    assert merge(pa.null(), of(a=pa.int32())).type == of(a=pa.int32())
    assert rows(pa.nulls(1), pa.array([{"a": 1}])) == [None, {"a": 1}]


def test_names_are_legal_and_the_way_back_is_listed() -> None:
    inner = pa.list_(pa.struct([("x.y", pa.int32()), ("X y", pa.null())]))
    found = merge(
        pa.struct([("a b", pa.int32()), ("A_B", pa.string()), ("_offset", inner)]),
        pa.struct([("a b", pa.string()), ("_offset", pa.list_(pa.struct([("x y", pa.int32())])))]),
        reserved=("_offset",),
    )
    assert [(c.path, c.column, str(c.type), c.first, c.is_apart) for c in found.columns[:2]] == [
        (("a b",), ("a_b",), "int32", "id 1", False),
        (("A_B",), ("A_B_2",), "string", "id 1", False),
    ]
    assert [(c.path, c.column, c.first, c.is_apart) for c in found.columns[2:]] == [
        (("_offset",), ("_offset_2",), "id 1", False),
        (("_offset", "element", "x.y"), ("_offset_2", "element", "x_y"), "id 1", False),
        (("_offset", "element", "x y"), ("_offset_2", "element", "x_y_2"), "id 2", False),
        (("a b",), ("a_b__string",), "id 2", True),
    ]


def test_a_later_type_only_adds_columns() -> None:
    types = [
        of(a=pa.int32(), b=pa.string()),
        of(A=pa.int32(), a=pa.string()),
        of(b=pa.int64(), c=pa.bool_(), a=pa.int64()),
    ]
    before: list[str] = []
    for number in range(1, 4):
        names = [field.name for field in merge(*types[:number]).type]
        assert names[: len(before)] == before
        before = names
    assert before == ["a", "b", "a__string", "A_2", "b__bigint", "c"]


def _calls(type_count: int, field_count: int) -> int:
    """The calls that it takes to merge types of the same fields."""
    types = [of(**{f"f{n}": pa.int64() for n in range(field_count)}) for _ in range(type_count)]
    calls = 0

    def count_call(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        found = merge(*types)
    finally:
        sys.setprofile(None)
    assert len(found.type) == field_count
    return calls


def test_twice_as_many_types_or_fields_take_twice_as_many_calls() -> None:
    base = _calls(50, 50)
    assert _calls(100, 50) < 2.2 * base
    assert _calls(50, 100) < 2.2 * base


def test_columns_that_are_there_stay_whatever_comes() -> None:
    runs: list[list[pa.DataType]] = [
        [of(n=pa.int32(), t=pa.time32("ms"), l=pa.list_(pa.time64("us")), s=of(x=pa.int32()))],
        [of(A=pa.int32(), N=pa.bool_(), n=pa.int64(), t=pa.int32())],
        [of(a=pa.int32(), l=pa.list_(pa.time32("ms")), s=of(x=pa.string(), y=pa.int8()))],
        [of(), of(n=pa.float64(), t=pa.time64("us"), s=of())],
    ]
    columns: list[pa.Field[pa.DataType]] = []
    for number, types in enumerate(runs * 2):
        named = [NamedType(f"id {number}", each) for each in types]
        found = merged(named, ("_offset",), columns)
        assert [(c.name, c.metadata) for c in columns] == [
            (c.name, c.metadata) for c in [*found.type][: len(columns)]
        ]
        columns = [*found.type]
        if number == len(runs):
            once = found.type
        assert number <= len(runs) or found.type == once
    assert [(column.name, str(column.type)) for column in columns] == [
        ("n", "int32"),
        ("t", "int32"),
        ("l", "list<item: int64>"),
        ("s", "struct<x: int32, x__string: string, y: int32, _present: bool>"),
        ("n__bigint", "int64"),
        ("t__int", "int32"),
        ("A", "int32"),
        ("N_2", "bool"),
        ("a_2", "int32"),
        ("n__double", "double"),
        ("t__bigint", "int64"),
        ("_present", "bool"),
    ]


def test_values_go_to_the_column_that_holds_their_type() -> None:
    first = merged([NamedType("id 1", of(t=pa.time64("us"), n=pa.int64()))])
    later = of(t=pa.time32("ms"), n=pa.int32(), m=pa.map_(pa.string(), pa.time64("ns")))
    found = merged([NamedType("id 2", later)], (), [*first.type])
    array = pa.array([{"t": datetime.time(0, 0, 1), "n": 7, "m": [("k", 5)]}], later)
    assert found.conformed(array, 0).to_pylist() == [{"t": 1_000_000, "n": 7, "m": [("k", 5)]}]
    again = merged([NamedType("id 2", later)], (), [*found.type])
    assert again.type == found.type
