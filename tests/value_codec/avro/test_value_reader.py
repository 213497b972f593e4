"""Values of hand-made bytes: each fault has its reason and the byte where it is."""

import json

import numpy as np
import pytest

from seglake.value_codec.avro.schema_types import parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from seglake.value_codec.bodies import Bodies
from seglake.value_codec.reject_reasons import RejectReason

_OF_RECORD = {"type": "record", "name": "R"}
_KIND = {"type": "enum", "name": "K", "symbols": ["A", "B"]}
_DATE = {"type": "int", "logicalType": "date"}
_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 3}
_LIST = {"type": "array", "items": "int"}
_NULLS = {"type": "array", "items": "null"}


def fields(**kinds: object) -> dict[str, object]:
    return {**_OF_RECORD, "fields": [{"name": n, "type": kind} for n, kind in kinds.items()]}


def outcome(schema: object, *values: bytes, is_raw_bytes: bool = False) -> list[tuple[str, int]]:
    """Reason and position, in its own bytes, of each value; ("ok", 0) if it decodes."""
    reader = AvroReader(parsed_schema(json.dumps(schema), {}), is_raw_bytes=is_raw_bytes)
    data = np.frombuffer(b"?" + b"".join(values), np.uint8)
    stops = 1 + np.cumsum([len(value) for value in values])
    starts = stops - [len(value) for value in values]
    _, reasons, positions = reader.read(Bodies(data, starts, stops))
    pairs = zip(reasons.tolist(), positions.tolist(), strict=True)
    return [(RejectReason.of_code(code).value if code else "ok", at) for code, at in pairs]


def varint(number: int) -> bytes:
    """A number as Avro writes it."""
    zigzag, found = (number << 1) ^ (number >> 63), bytearray()
    while zigzag > 0x7F:
        found.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*found, zigzag])


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ("long", varint(-(1 << 63)), ("ok", 0)),
        ("long", b"\xff" * 9 + b"\x02", ("bad_varint", 0)),
        ("long", b"\x80" * 10 + b"\x00", ("bad_varint", 0)),
        ("long", b"\x80\x00", ("ok", 0)),
        ("long", b"\x80", ("short", 0)),
        ("int", varint((1 << 31) - 1), ("ok", 0)),
        ("int", varint(1 << 31), ("bad_varint", 0)),
        ("int", varint(-(1 << 31) - 1), ("bad_varint", 0)),
        ("boolean", b"\x02", ("bad_boolean", 0)),
        ("boolean", b"", ("short", 0)),
        ("double", bytes(7), ("short", 0)),
        ("string", b"\x04a", ("short", 1)),
        ("string", b"\x01", ("bad_varint", 0)),
        ("null", b"", ("ok", 0)),
        ("null", b"\x00", ("trailing_bytes", 0)),
        (_KIND, b"\x04", ("bad_enum", 0)),
        (_KIND, b"\x01", ("bad_enum", 0)),
        (["null", "int"], b"\x04", ("bad_union_branch", 0)),
        (["null", "int"], b"\x01", ("bad_union_branch", 0)),
        ([], b"\x00", ("bad_union_branch", 0)),
        (_LIST, b"\x04\x02\x02\x00", ("ok", 0)),
        (_LIST, b"\x02\x02\x02\x02\x00", ("ok", 0)),
        (_LIST, b"\x03\x04\x02\x02\x00", ("ok", 0)),
        (_LIST, b"\x03", ("short", 0)),
        (_LIST, b"\x04\x02\x02", ("short", 3)),
        (_LIST, b"\x80\x80\x80\x80\x10\x02\x02\x00", ("short", 0)),
        (_LIST, varint(-(1 << 63)) + b"\x00\x00", ("bad_varint", 0)),
        ({"type": "map", "values": "null"}, b"\x02\x02a\x00", ("ok", 0)),
        ({"type": "map", "values": "null"}, b"\x02\x02\xff\x00", ("bad_utf8", 2)),
        ({"type": "fixed", "name": "F", "size": 3}, b"ab", ("short", 0)),
        (_DATE, varint(-719_162), ("ok", 0)),
        (_DATE, varint(-719_163), ("timestamp_range", 0)),
        (_DATE, varint(2_932_897), ("timestamp_range", 0)),
        (_DECIMAL, b"\x04\x03\xe7", ("ok", 0)),
        (_DECIMAL, b"\x04\x03\xe8", ("decimal_overflow", 0)),
        (_DECIMAL, b"\x04\xfc\x19", ("ok", 0)),
        (_DECIMAL, b"\x04\xfc\x18", ("decimal_overflow", 0)),
        (_DECIMAL, b"\x00", ("ok", 0)),
        (_DECIMAL, b"\x28" + bytes(18) + b"\x03\xe7", ("ok", 0)),
        (_DECIMAL, b"\x28\x01" + bytes(19), ("decimal_overflow", 0)),
        (fields(a=_DATE, b="boolean"), varint(2_932_897) + b"\x07", ("bad_boolean", 4)),
        (fields(a=_DECIMAL, b=_DATE), b"\x04\x03\xe8" + varint(9**8), ("decimal_overflow", 0)),
    ],
)
def test_a_value_decodes_or_says_why_not(
    schema: object, value: bytes, expected: tuple[str, int]
) -> None:
    assert outcome(schema, value) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        *(b"\x80", b"\xc1\xbf", b"\xc3", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xe2\x82"),
        *(b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"a\xffb", b"\xc3\x28"),
        *("gr\u00f6\u00dfe".encode(), "\u20ac\ud7ff\ue000\uffff".encode(), "\U0010ffff".encode()),
    ],
)
def test_text_is_utf8_where_python_says_so(text: bytes) -> None:
    try:
        text.decode("utf-8")
        expected = ("ok", 0)
    except UnicodeDecodeError:
        expected = ("bad_utf8", 1)
    assert outcome("string", varint(len(text)) + text) == [expected]


def test_a_decimal_has_at_most_as_many_digits_as_its_schema_says() -> None:
    for digits in range(1, 39):
        schema = {"type": "bytes", "logicalType": "decimal", "precision": digits}
        for number, reason in ((10**digits - 1, "ok"), (10**digits, "decimal_overflow")):
            for signed in (number, -number):
                body = signed.to_bytes(17, "big", signed=True)
                assert outcome(schema, varint(17) + body) == [(reason, 0)], (digits, signed)


def test_a_fault_of_one_value_leaves_the_others() -> None:
    assert outcome("string", b"\x02a", b"\x04a", b"", b"\x02b") == [
        ("ok", 0),
        ("short", 1),
        ("short", 0),
        ("ok", 0),
    ]


def test_a_schema_of_bytes_has_no_length_only_in_confluents_frame() -> None:
    assert outcome("bytes", b"", b"\x07abc", is_raw_bytes=True) == [("ok", 0)] * 2
    assert outcome("bytes", b"\x02a", b"\x02") == [("ok", 0), ("short", 1)]
    decimals = outcome(_DECIMAL, b"\x03\xe7", b"\x03\xe8", is_raw_bytes=True)
    assert decimals == [("ok", 0), ("decimal_overflow", 0)]


def test_nesting_ends_at_a_depth() -> None:
    linked = fields(next=["null", "R"])
    deep = {**_OF_RECORD, "fields": [{"name": "r", "type": {"type": "array", "items": "R"}}]}
    assert outcome(linked, b"\x02" * 500 + b"\x00") == [("ok", 0)]
    assert outcome(linked, b"\x02" * 100_000 + b"\x00")[0][0] == "depth"
    assert outcome(deep, b"\x02" * 100_000)[0][0] == "depth"
    assert outcome(fields(r="R"), b"")[0][0] == "depth"


def test_items_without_bytes_are_limited_in_all_their_arrays() -> None:
    assert outcome(_NULLS, varint(1000) + b"\x00") == [("ok", 0)]
    assert outcome(_NULLS, varint(1 << 40) + b"\x00") == [("too_large", 0)]
    assert outcome(_NULLS, varint(1000) + varint(1000) + b"\x00") == [("too_large", 2)]


def test_a_schema_that_would_be_huge_if_written_out_is_read_at_once() -> None:
    """Each record has the one before it twice: 2 ** 60 fields, none of which has a byte."""
    named: list[object] = [fields(a="null") | {"name": "R0"}]
    for number in range(1, 60):
        pair = fields(a=f"R{number - 1}", b=f"R{number - 1}")
        named.append({**pair, "name": f"R{number}"})
    assert outcome([*named, {"type": "array", "items": "R59"}], varint(60) + b"\x06\x00") == [
        ("ok", 0)
    ]
