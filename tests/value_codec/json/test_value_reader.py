"""Each JSON value is in its columns, or as text beside them, or rejected with its byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.shapes import Kind, Shape, settled
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.reject_reasons import RejectReason
from support.json_values import exact, oracle_value, rebuilt, same
from support.lakes import read_table
from support.typed_disk import oracle_records, typed_lake

_KEYS = st.sampled_from(["a", "b", "ä", "", "a.b", "value", 'q"\n', "A"]) | st.text(max_size=3)
_NUMBERS = (
    st.sampled_from(
        [
            "0",
            "-0",
            "1",
            "-1",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "1e3",
            "1.0",
            "-0.0",
            "1.10",
            "1e400",
            "1e-400",
            "5e-324",
            "1.7976931348623157e308",
            "0.1",
            "0.10000000000000000555",
            "123456789012345678",
            "0.30000000000000004",
            "2.5E+1",
            "1e22",
            "1e23",
        ]
    )
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers().map(str)
)
_SCALARS = (
    st.sampled_from(["null", "true", "false", '"\\ud800"', '"\\u00e4\\n\\ud83d\\ude00\\/"'])
    | _NUMBERS
    | st.text(max_size=4).map(json.dumps)
    | st.text(max_size=4).map(lambda text: json.dumps(text, ensure_ascii=False))
)


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(_KEYS.map(json.dumps), inner).map(": ".join)
    return st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]") | st.lists(
        pairs, max_size=4
    ).map(lambda items: f"{{{','.join(items)}}}")


_TEXTS = st.recursive(_SCALARS, _containers, max_leaves=12)


def read(shape: Shape, *texts: bytes) -> list[Any]:
    """Each value, or the reason and the position why it is rejected."""
    decoded = JsonReader(shape).read(bodies_of_bytes(texts))
    return [
        value if not reason else (RejectReason.of_code(int(reason)), int(position))
        for value, reason, position in zip(decoded.values.to_pylist(), *decoded[1:], strict=True)
    ]


def inferred(*texts: bytes) -> Shape:
    return shape_of(bodies_of_bytes(texts))


@given(st.lists(_TEXTS.map(str.encode), min_size=1, max_size=6))
def test_rows_of_the_inferred_shape_stand_for_their_texts(texts: list[bytes]) -> None:
    shape = inferred(*texts)
    for text, row in zip(texts, read(shape, *texts), strict=True):
        assert same(rebuilt(row, is_object=is_object(shape)), exact(text))


def is_object(shape: Shape) -> bool:
    return settled(shape).kind is Kind.OBJECT


@given(st.lists(_TEXTS.map(str.encode), max_size=4), st.lists(_TEXTS.map(str.encode), min_size=1))
def test_rows_of_any_shape_stand_for_their_texts(known: list[bytes], texts: list[bytes]) -> None:
    shape = inferred(*known)
    for text, row in zip(texts, read(shape, *texts), strict=True):
        assert same(rebuilt(row, is_object=is_object(shape)), exact(text))


@given(_TEXTS, st.integers(0, 40), st.sampled_from([b"", b"}", b"\xff", b"0", b'"', b"\x01", b","]))
@example('{"a": 1}', 40, b"\xef\xbb\xbf")
@example("01", 40, b"")
def test_python_s_json_refuses_what_is_rejected(text: str, place: int, added: bytes) -> None:
    body = text.encode()
    place = min(place, len(body))
    changed = body[:place] + added + body[place + 1 :]
    shape = inferred(changed)
    [found] = read(shape, changed)
    try:
        expected = exact(changed)
    except ValueError as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        assert isinstance(found, tuple)
        assert found[0] is RejectReason.BAD_JSON or not is_text
        assert 0 <= found[1] <= len(changed)
    else:
        assert same(rebuilt(found, is_object=is_object(shape)), expected)


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        (b"", RejectReason.BAD_JSON, 0),
        (b"  ", RejectReason.BAD_JSON, 2),
        (b'{"x": 1', RejectReason.BAD_JSON, 7),
        (b'{"x": NaN}', RejectReason.BAD_JSON, 6),
        (b'{"x": -Infinity}', RejectReason.BAD_JSON, 7),
        (b'{"x": 01}', RejectReason.BAD_JSON, 7),
        (b'{"x": 1.}', RejectReason.BAD_JSON, 8),
        (b'{"x": 1e}', RejectReason.BAD_JSON, 8),
        (b'{"x": tru}', RejectReason.BAD_JSON, 9),
        (b'{"x": 1,}', RejectReason.BAD_JSON, 8),
        (b"[1,]", RejectReason.BAD_JSON, 3),
        (b"[1}", RejectReason.BAD_JSON, 2),
        (b'{"x" 1}', RejectReason.BAD_JSON, 5),
        (b"{'x': 1}", RejectReason.BAD_JSON, 1),
        (b'{"x": 1}}', RejectReason.BAD_JSON, 8),
        (b'{"x": 1} {}', RejectReason.BAD_JSON, 9),
        (b'"a\nb"', RejectReason.BAD_JSON, 2),
        (b'"a\\x"', RejectReason.BAD_JSON, 2),
        (b'"\\u12g4"', RejectReason.BAD_JSON, 1),
        (b"\xef\xbb\xbf{}", RejectReason.BAD_JSON, 0),
        (b'{"x": "\xff\xfe"}', RejectReason.BAD_UTF8, 7),
        (b'{"\xc0\x80": 1}', RejectReason.BAD_UTF8, 2),
        (b'"\xed\xa0\x80"', RejectReason.BAD_UTF8, 1),
        (b'"\xe2\x82"', RejectReason.BAD_UTF8, 1),
        (b'"\xf4\x90\x80\x80"', RejectReason.BAD_UTF8, 1),
        (b"[" * 1001 + b"]" * 1001, RejectReason.DEPTH, 1000),
    ],
)
def test_a_reject_has_its_reason_and_its_byte(
    text: bytes, reason: RejectReason, position: int
) -> None:
    sound = b'{"x": 1}'
    shape = Shape(Kind.OBJECT, {"x": Shape(Kind.INTEGER)})
    before, found, after = read(shape, sound, text, sound)
    assert found == (reason, position)
    assert before == after == {"x": 1, "value__json": None}


def test_a_place_whose_kinds_differ_has_a_column_of_the_first_and_one_of_text() -> None:
    texts = [b'{"a": null}', b'{"a": 1}', b'{"a": "1"}', b'{"a": {"b": 2}}', b'{"a": [1, "x"]}']
    assert [(row["a"], row["a__json"]) for row in read(inferred(*texts), *texts)] == [
        (None, None),
        (1, None),
        (None, '"1"'),
        (None, '{"b": 2}'),
        (None, '[1, "x"]'),
    ]


def test_integers_beside_numbers_become_doubles_where_these_are_exact() -> None:
    texts = [b'{"a": 1}', b'{"a": 0.5}', b'{"a": 9007199254740993}', b'{"a": 1e3}']
    assert [(row["a"], row["a__json"]) for row in read(inferred(*texts), *texts)] == [
        (1.0, None),
        (0.5, None),
        (None, "9007199254740993"),
        (1000.0, None),
    ]


def test_the_least_integer_is_no_exact_double() -> None:
    texts = [b'{"a": 0.5}', b'{"a": -9223372036854775808}']
    assert [(row["a"], row["a__json"]) for row in read(inferred(*texts), *texts)] == [
        (0.5, None),
        (None, "-9223372036854775808"),
    ]


def test_an_integer_may_be_written_as_1e3() -> None:
    shape = Shape(Kind.OBJECT, {"a": Shape(Kind.INTEGER)})
    rows = read(shape, b'{"a": 1e3}', b'{"a": -2.0}', b'{"a": 1.5}', b'{"a": 1e19}')
    assert [row["a"] for row in rows] == [1000, -2, None, None]
    assert [row["value__json"] for row in rows] == [None, None, '{"a": 1.5}', '{"a": 1e19}']


def test_a_list_with_items_of_several_kinds_is_text_as_a_whole() -> None:
    texts = [b'{"a": [1, 2]}', b'{"a": [1, "x"]}', b'{"b": [{}, null]}']
    found = read(inferred(*texts), *texts)
    assert [row["a__json"] for row in found] == ["[1, 2]", '[1, "x"]', None]
    assert found[2]["b__json"] == "[{}, null]"


def test_of_a_key_that_occurs_twice_the_last_value_has_the_column_and_the_whole_is_text() -> None:
    texts = [b'{"a": 1, "b": {"c": 2}}', b'{"a": 1, "a": 2}', b'{"b": {"c": 1, "c": 3}}']
    rows = read(inferred(*texts), *texts)
    assert [row["a"] for row in rows] == [1, 2, None]
    assert [row["b"] for row in rows] == [{"c": 2}, None, {"c": 3}]
    assert [row["value__json"] for row in rows] == [None, '{"a": 1, "a": 2}', texts[2].decode()]


def test_unknown_keys_and_other_roots_are_text() -> None:
    shape = Shape(Kind.OBJECT, {"a": Shape(Kind.INTEGER)})
    texts = [b'{"a": 1, "b": 2}', b'{"a": 1, "b": null}', b"[1]", b" 7 ", b"null", b'"\\u0041"']
    rows = read(shape, *texts)
    assert [row["value__json"] for row in rows] == [
        '{"a": 1, "b": 2}', None, "[1]", "7", "null", '"\\u0041"'
    ]  # fmt: skip
    assert [row["a"] for row in rows] == [1, 1, None, None, None, None]


def test_roots_that_are_no_objects_have_one_column() -> None:
    texts = [b"1", b"2", b'"x"']
    rows = read(inferred(*texts), *texts)
    assert [(row["value"], row["value__json"]) for row in rows] == [
        (1, None), (2, None), (None, '"x"')
    ]  # fmt: skip


def test_names_of_text_columns_are_no_keys() -> None:
    texts = [b'{"a": 1, "a__json": 2, "value__json": 3}', b'{"a": "x"}', b"[]"]
    rows = read(inferred(*texts), *texts)
    assert rows[0]["a__json__"] == 2
    assert rows[1]["a__json"] == '"x"'
    assert rows[2]["value__json"] == "[]"


def test_more_than_1000_keys_of_an_object_make_it_text() -> None:
    many = b"{%s}" % b", ".join(b'"k%d": 1' % number for number in range(1001))
    texts = [b'{"few": 1, "map": %s}' % many, b'{"few": 2, "map": {"k1": 7}}']
    rows = read(inferred(*texts), *texts)
    assert [row["few"] for row in rows] == [1, 2]
    assert [row["map__json"] for row in rows] == [many.decode(), '{"k1": 7}']


def test_what_is_nested_deeper_than_32_levels_is_text() -> None:
    text = b'{"a": ' * 40 + b"1" + b"}" * 40
    [row] = read(inferred(text), text)
    assert same(rebuilt(row), exact(text))
    levels = 0
    while "a" in row:
        row, levels = row["a"], levels + 1
    assert (levels, row["a__json"]) == (31, '{"a": ' * 8 + "1" + "}" * 8)


def test_each_value_of_a_real_topic_is_what_the_oracle_says(tmp_path: Path) -> None:
    rows = read_table(typed_lake(tmp_path / "lake", "json_plain"), "records")
    texts = {row["offset"]: row["value"] for row in rows if row["value"] is not None}
    shape = inferred(*texts.values())
    found = dict(zip(texts, read(shape, *texts.values()), strict=True))
    for record in oracle_records("json_plain"):
        outcome, row = record["value"], found.get(record["offset"])
        if "reject" in outcome:
            assert isinstance(row, tuple)
            assert row == (outcome["reject"], outcome.get("position", row[1]))
        else:
            assert same(rebuilt(row), oracle_value(outcome["ok"])) if row else outcome["null"]
