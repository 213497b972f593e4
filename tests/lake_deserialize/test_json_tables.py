"""JSON without a schema becomes columns that later values only add to; no value is ever lost."""

from pathlib import Path

import pytest

from seglake.errors import ExitCode
from support.dying import Died, dying
from support.json_values import exact, rebuilt, same
from support.lakes import ingested
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import add_values, decoded
from support.typed_rows import Row, columns_of, table_rows, typed_columns, typed_rows


def json_lake(tmp_path: Path, *values: bytes | None) -> Path:
    """A lake with a topic `t` of JSON, beside a registry that does not know it."""
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", [(0, [schema_pair("u-value", 1, 1)])]), lake)
    add_values(lake, tmp_path / "first", *values)
    return lake


def in_runs(tmp_path: Path, *runs: list[bytes]) -> Path:
    """A lake whose topic was ingested and decoded in several runs."""
    lake = json_lake(tmp_path, *runs[0])
    decoded(lake, "t")
    start = len(runs[0])
    for number, values in enumerate(runs[1:]):
        add_values(lake, tmp_path / f"run-{number}", *values, start=start)
        start += len(values)
        summary = decoded(lake, "t")
        assert not summary.left_out, summary.to_text()
    return lake


def values_of(lake: Path) -> list[Row]:
    return [columns_of(row) for row in typed_rows(lake, "t")]


def stands_for(row: Row, text: bytes, keys: dict[str, str]) -> bool:
    """Whether the columns, or the whole text, have everything of a value."""
    whole = row["value__json"]
    names = {name: keys[name] for name in row if name != "value__json"}
    named = {names[name]: row[name] for name in names}
    is_object = "__json_" not in names.values()
    return same(rebuilt({**named, "value__json": whole}, is_object=is_object), exact(text))


def test_types_are_found_in_all_values_before_any_is_written(tmp_path: Path) -> None:
    lake = json_lake(tmp_path, b'{"a": 1}', b'{"a": 2.5, "b": [{"c": "x"}]}', None, b"{")
    summary = decoded(lake, "t")
    assert summary.exit_code is ExitCode.LOOK
    assert values_of(lake)[:2] == [
        {"a": 1.0, "b": None, "value__json": None},
        {"a": 2.5, "b": [{"c": "x"}], "value__json": None},
    ]
    assert [row["_tombstone"] for row in typed_rows(lake, "t")] == [False, False, True]
    [reject] = table_rows(lake, "value_rejects")
    assert (reject["reason"], reject["position"], reject["offset"]) == ("bad_json", 1, 3)


def test_later_values_add_columns_and_change_none(tmp_path: Path) -> None:
    first = [b'{"a": 1, "s": {"x": 1}, "l": [1]}']
    later = [b'{"a": 1.5, "b": "new", "s": {"x": "text", "y": true}, "l": ["x"]}', b"[]"]
    rows = values_of(in_runs(tmp_path, first, later))
    names = ["a", "s", "l", "value__json", "a__json", "b", "l__json"]
    assert [[row[name] for name in names] for row in rows] == [
        [1, {"x": 1, "x__json": None, "y": None}, [1], None, None, None, None],
        [None, {"x": None, "x__json": '"text"', "y": True}, None, None, "1.5", "new", '["x"]'],
        [None, None, None, "[]", None, None, None],
    ]


def test_a_later_key_takes_no_name_of_an_earlier_column(tmp_path: Path) -> None:
    first = [b'{"a b": 1, "A__JSON": 2, "value": 3, "x": 0}']
    later = [b'{"a_b": "other", "A b": 4, "a": [], "a__json": 5, "value__json": 6}']
    last = [b'{"value": "x", "x": "y", "x__json": 7, "value__json_": 8}']
    lake = in_runs(tmp_path, first, later, last)
    keys = typed_columns(lake, "t")
    for row, [text] in zip(values_of(lake), (first, later, last), strict=True):
        assert stands_for(row, text, keys), (row, text)
    assert values_of(lake)[0]["a_b"] == 1


def test_a_value_is_no_object_with_the_key_value(tmp_path: Path) -> None:
    lake = in_runs(tmp_path, [b"[1, 2]", b"[3]"], [b'{"value": [4]}', b'"x"', b"[5]"])
    assert values_of(lake) == [
        {"value": [1, 2], "value__json": None},
        {"value": [3], "value__json": None},
        {"value": None, "value__json": '{"value": [4]}'},
        {"value": None, "value__json": '"x"'},
        {"value": [5], "value__json": None},
    ]


def test_keys_of_json_are_a_column(tmp_path: Path) -> None:
    lake = json_lake(tmp_path)
    first = [(b'{"id": 1}', b'{"a": 1}'), (b'{"id": 2}', None), (b"{", b'{"a": 2}'), (None, b"{}")]
    ingested(write_registry(tmp_path / "keys", [(0, first)], topic="k"), lake)
    decoded(lake, "k")
    assert [(row["_key"], row["_key_raw"]) for row in typed_rows(lake, "k")] == [
        ({"id": 1, "value__json": None}, None),
        ({"id": 2, "value__json": None}, None),
        (None, b"{"),
        (None, None),
    ]
    later = [(b'{"id": "x", "new": 1}', b'{"a": 3}'), (b"[1]", b'{"a": 4}')]
    ingested(write_registry(tmp_path / "more", [(0, first), (0, later)], topic="k"), lake)
    assert [each.key_rejects for each in decoded(lake, "k").topics] == [0]
    assert [row["_key"] for row in typed_rows(lake, "k")[4:]] == [
        {"id": None, "value__json": None, "id__json": '"x"', "new": 1},
        {"id": None, "value__json": "[1]", "id__json": None, "new": None},
    ]


@pytest.mark.parametrize("step", ["redo", "value_rejects", "typed/t", "typed_checkpoints"])
def test_a_run_that_died_is_completed_and_nothing_is_twice(tmp_path: Path, step: str) -> None:
    lake = in_runs(tmp_path, [b'{"a": 1}'])
    add_values(lake, tmp_path / "more", b'{"a": "x", "b": 1}', b"bad", start=1)
    with pytest.raises(Died):
        decoded(lake, "t", after=dying(step))
    decoded(lake, "t")
    assert [(row["a"], row["a__json"], row["b"]) for row in values_of(lake)] == [
        (1, None, None),
        (None, '"x"', 1),
    ]
    assert [row["offset"] for row in table_rows(lake, "value_rejects")] == [2]
    assert decoded(lake, "t").topics == []


def test_json_needs_no_registry_and_what_does_is_left_out(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    add_values(lake, tmp_path / "json", b'{"a": 1}')
    framed = [(b"k", b"\x00\x00\x00\x00\x07\x02")]
    ingested(write_registry(tmp_path / "avro", [(0, framed)], topic="framed"), lake)
    summary = decoded(lake)
    assert values_of(lake) == [{"a": 1, "value__json": None}]
    assert [*summary.left_out] == ["framed"]
    assert summary.exit_code is ExitCode.LOOK
    assert summary.to_text().endswith("note: c has no registry; give its schemas with --schemas")
    assert decoded(lake, "t").exit_code is ExitCode.DONE


def test_typed_columns_leads_back_to_the_keys(tmp_path: Path) -> None:
    lake = json_lake(tmp_path, b'{"a b": 1, "a__json": {"x": 1, "y": [{"z": 2}]}, "value": 3}')
    more = [b'{"a b": "x", "a__json": {"x": "x"}, "value": "y"}', b"[]"]
    add_values(lake, tmp_path / "more", *more, start=1)
    decoded(lake, "t")
    rows = {row["column"]: row for row in table_rows(lake, "typed_columns")}
    assert {name: (row["path"], row["is_apart"]) for name, row in rows.items()} == {
        "a_b": (["a b"], False),
        "a_b__json": (["a b"], True),
        "a__json__": (["a__json"], False),
        "a__json__.x": (["a__json", "x"], False),
        "a__json__.x__json": (["a__json", "x"], True),
        "a__json__.y": (["a__json", "y"], False),
        "a__json__.y.element.z": (["a__json", "y", "element", "z"], False),
        "value": (["value"], False),
        "value__json_": (["value"], True),
        "value__json": (["value__json"], True),
    }
