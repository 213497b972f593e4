"""Columns say what fastavro reads, for drawn schemas with logical types, nesting and recursion."""

import json
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seglake.value_codec.avro import value_reader
from seglake.value_codec.avro.schema_types import parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from seglake.value_codec.bodies import Bodies, bodies_of_bytes
from seglake.value_codec.decoded import TooManyItemsError
from seglake.value_codec.reject_reasons import RejectReason
from support.avro_oracle import (
    as_dicts,
    by_fastavro,
    form,
    plain_form,
    read,
    unbranched,
    written,
)
from support.drawn_avro import (
    DECIMAL,
    STRICTER,
    Schema,
    named,
    schemas,
    values,
    without_logical,
)
from support.value_parts import decoded_parts


@settings(max_examples=500)
@given(st.data())
def test_columns_say_what_was_written(data: st.DataObject) -> None:
    schema = named(data.draw(schemas()), [])
    plain = without_logical(schema)
    drawn = data.draw(st.lists(values(plain), min_size=1, max_size=5))
    bodies = [written(plain, value) for value in drawn]
    found, reasons = read(schema, *bodies)
    for value, text, reason in zip(drawn, found, reasons, strict=True):
        if reason:
            assert reason in ("timestamp_range", "decimal_overflow")
            assert text is None
        else:
            assert text == form(schema, value)


@settings(max_examples=500)
@given(st.data())
def test_columns_of_damaged_bytes_say_what_fastavro_reads_or_both_refuse(
    data: st.DataObject,
) -> None:
    schema = without_logical(named(data.draw(schemas()), []))
    content = bytearray(written(schema, data.draw(values(schema))))
    at = data.draw(st.integers(0, len(content)))
    match data.draw(st.sampled_from(["cut", "flip", "grow"])):
        case "cut":
            del content[at:]
        case "flip" if at < len(content):
            content[at] ^= 1 << data.draw(st.integers(0, 7))
        case _:
            content[at:at] = data.draw(st.binary(min_size=1, max_size=3))
    sound = written(schema, data.draw(values(schema)))
    [_, found, _], [first, reason, last] = read(schema, sound, bytes(content), sound)
    expected = by_fastavro(schema, bytes(content))
    assert (first, last) == ("", "")
    if reason:
        assert found is None
        assert not expected or reason in STRICTER
    else:
        assert [as_dicts(unbranched(found))] == [plain_form(each) for each in expected]


_TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "v", "type": "int"},
        {"name": "children", "type": {"type": "array", "items": "Tree"}},
        {"name": "other", "type": ["null", "Tree"]},
    ],
}


def tree(depth: int, *, is_wide: bool = True) -> dict[str, Any]:
    inner = [tree(depth - 1), tree(depth - 1, is_wide=False)] if depth and is_wide else []
    return {"v": depth, "children": inner, "other": inner[0] if depth % 2 and inner else None}


def unrolled(value: Any, depth: int = 1) -> Any:
    """A tree as columns have it: in the fourth record, fields that have trees are JSON."""
    inner = {"children": value["children"], "other": value["other"]}
    if depth < 4:
        children = [unrolled(each, depth + 1) for each in inner["children"]]
        other = inner["other"] and unrolled(inner["other"], depth + 1)
        return {"v": value["v"], "children": children, "other": other}
    texts = {f"{name}_json": each and json.dumps(each) for name, each in inner.items()}
    return {"v": value["v"], **texts, "children_json": json.dumps(inner["children"])}


def test_a_record_inside_itself_is_columns_to_a_depth_and_json_below() -> None:
    drawn = [tree(depth) for depth in (0, 3, 4, 7)]
    found, reasons = read(_TREE, *(written(_TREE, value) for value in drawn))
    assert reasons == [""] * 4
    assert found == [unrolled(value) for value in drawn]


def test_a_long_chain_of_records_is_json_that_python_reads_without_depth() -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}
    [found], reasons = read(schema, b"\x02" * 500 + b"\x00")
    assert reasons == [""]
    assert found["r"]["r"]["r"]["r_json"].count('{"r": ') == 497


def test_a_schema_that_would_be_huge_if_written_out_has_few_columns() -> None:
    named_types: list[object] = [{"type": "record", "name": "R0", "fields": []}]
    for number in range(1, 60):
        pair = [{"name": name, "type": f"R{number - 1}"} for name in "ab"]
        named_types.append({"type": "record", "name": f"R{number}", "fields": pair})
    outer = [{"name": "a", "type": named_types}, {"name": "b", "type": ["null", "R59"]}]
    [found], reasons = read({"type": "record", "name": "O", "fields": outer}, b"\x76\x02")
    assert reasons == [""]
    assert len(json.dumps(found)) < 1_000_000


def test_each_list_of_items_without_bytes_counts_to_one_limit() -> None:
    schema = {"type": "array", "items": {"type": "array", "items": "null"}}
    thousand = b"\xd0\x0f\x00"
    assert read(schema, b"\x02" + thousand + b"\x00")[1] == [""]
    assert read(schema, b"\x04" + thousand * 2 + b"\x00")[1] == ["too_large"]


@pytest.mark.parametrize("levels", [32, 33, 60])
def test_nesting_up_to_32_levels_is_columns_and_deeper_types_are_json(levels: int) -> None:
    schema: Schema = "int"
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    [found], _ = read(schema, b"\x02" * (levels + 1) + b"\x00" * levels)
    depth = 0
    while isinstance(found, list):
        [found], depth = found, depth + 1
    assert depth == min(levels, 32)
    assert found == (1 if levels <= 32 else "[" * (levels - 32) + "1" + "]" * (levels - 32))


def test_two_hundred_fields_are_columns_of_any_number_of_rows() -> None:
    fields = [{"name": f"f{n}", "type": ["null", "long"]} for n in range(200)]
    schema = {"type": "record", "name": "W", "fields": fields}
    bodies = [b"\x02\x02" * 200, b"\x00" * 200, b"\x00" * 199] * 4000
    found, reasons = read(schema, *bodies)
    assert reasons == ["", "", "short"] * 4000
    assert found[-3:] == [dict.fromkeys(found[0], 1), dict.fromkeys(found[0]), None]


def test_floats_keep_their_bits() -> None:
    reader = AvroReader(parsed_schema('"double"', {}), is_raw_bytes=False)
    body = bytes.fromhex("010000000000f07f")
    found = reader.read(bodies_of_bytes([body])).values
    assert found.view(pa.int64()).to_pylist() == [int.from_bytes(body, "little")]


def test_no_bodies_are_no_values() -> None:
    reader = AvroReader(parsed_schema(json.dumps(_TREE), {}), is_raw_bytes=False)
    found = reader.read(bodies_of_bytes([]))
    assert found.values.equals(pa.array([], reader.type))
    assert (len(found.reasons), len(found.positions)) == (0, 0)


def test_positions_are_from_the_start_of_each_body() -> None:
    reader = AvroReader(parsed_schema('"boolean"', {}), is_raw_bytes=True)
    data = np.frombuffer(b"??\x01??\x02\x01\x01", np.uint8)
    found = reader.read(Bodies(data, np.array([2, 5, 6]), np.array([3, 6, 8])))
    assert found.values.to_pylist() == [True, None, None]
    assert found.positions.tolist() == [0, 0, 1]


def test_items_of_all_blocks_are_one_list() -> None:
    lists = {"type": "array", "items": {"type": "array", "items": "int"}}
    inner = b"\x02\x02\x01\x02\x04\x00"  # two blocks, the second with its size
    found, _ = read(lists, b"\x02" + inner + b"\x02" + inner + b"\x00", b"\x00")
    assert found == [[[1, 2], [1, 2]], []]


def test_lists_are_complete_however_many_items_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    union = ["null", {"type": "array", "items": {"type": "map", "values": "string"}}]
    kinds: dict[str, Schema] = {"a": {"type": "array", "items": union}, "b": ["null", "long"]}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = {"type": "record", "name": "R", "fields": fields}
    chance = random.Random(5)
    drawn = [_lists(chance, most) for most in [3, 30, 300, 3] * 40]
    bodies = [written(schema, value) for value in drawn]
    cut = range(0, len(bodies), 3)
    for row in cut:
        bodies[row] = bodies[row][:-1]
    monkeypatch.setattr(value_reader, "_WORDS_AT_ONCE", 1)
    found, reasons = read(schema, *bodies)
    assert [row for row, reason in enumerate(reasons) if reason] == [*cut]
    for row, value in enumerate(drawn):
        assert found[row] == (None if row in cut else form(schema, value))


def _lists(chance: random.Random, most: int) -> dict[str, Any]:
    """A value with a list of up to so many items: nulls, and lists of maps."""
    maps = [{f"k{n}": "v" * n for n in range(chance.randrange(4))} for _ in range(3)]
    items = [
        chance.choice([("null", None), ("array", maps)]) for _ in range(chance.randrange(most))
    ]
    return {"a": items, "b": chance.choice([("null", None), ("long", most)])}


def test_a_value_of_bytes_alone_has_no_length_in_confluents_frame() -> None:
    body = bodies_of_bytes([b"\x07\xff"])
    for schema, expected in (("bytes", b"\x07\xff"), (DECIMAL, Decimal("2.047"))):
        reader = AvroReader(parsed_schema(json.dumps(schema), {}), is_raw_bytes=True)
        found = reader.read(body)
        assert found.values.to_pylist() == [expected]


def test_items_that_need_much_memory_are_read_in_parts_or_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fields = [{"name": f"f{n}", "type": "string"} for n in range(200)]
    schema = {"type": "array", "items": ["null", {"type": "record", "name": "P", "fields": fields}]}
    reader = AvroReader(parsed_schema(json.dumps(schema), {}), is_raw_bytes=False)
    many = b"\x90\x4e" + b"\x00" * 5000 + b"\x00"  # 5,000 nulls, 16 MB of columns
    bodies = [b"\x02\x00\x00", many, b"\x02\x00", *[many] * 5, b"\x00"]
    found = bodies_of_bytes(bodies)
    whole = reader.read(found)
    short, large = RejectReason.SHORT.code, RejectReason.TOO_LARGE.code
    assert whole.reasons.tolist() == [0, 0, short, *[0] * 5, 0]
    monkeypatch.setattr(value_reader, "_WORDS_AT_ONCE", 1)  # little room
    monkeypatch.setattr(value_reader, "MOST_BYTES", 20_000_000)
    with pytest.raises(TooManyItemsError):
        reader.read(found)
    parts = decoded_parts(reader, found)
    assert len(parts) > 1
    assert pa.concat_arrays([part.values for part in parts]).equals(whole.values)
    assert np.concatenate([part.reasons for part in parts]).tolist() == whole.reasons.tolist()
    monkeypatch.setattr(value_reader, "MOST_BYTES", 10_000_000)
    parts = decoded_parts(reader, found)
    outcomes = [code for part in parts for code in part.reasons.tolist()]
    assert outcomes == [0, large, short, *[large] * 5, 0]
    assert parts[0].values.to_pylist()[0] == [None]
