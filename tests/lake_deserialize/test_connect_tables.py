"""Kafka Connect's JSON becomes columns of the schemas in its messages, however these differ."""

import json
from pathlib import Path
from typing import Any

import pytest

from seglake.errors import ExitCode
from seglake.value_decoding import json_shapes
from support.lakes import ingested
from support.typed_disk import write_registry
from support.typed_lakes import add_values, decoded
from support.typed_rows import columns_of, typed_rows


def message(payload: Any, *fields: tuple[str, str], **more: object) -> bytes:
    listed = [{"field": name, "type": kind, "optional": True} for name, kind in fields]
    schema = {"type": "struct", "fields": listed, **more}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def test_later_schemas_add_columns_and_change_none(tmp_path: Path) -> None:
    runs = [
        message({"a": 1, "t": 5}, ("a", "int32"), ("t", "int64")),
        message({"a": 1 << 40, "b": "x"}, ("a", "int64"), ("b", "string")),
        message({"a": "text", "t": 6}, ("a", "string"), ("t", "int32")),
        message({"a": 2}, ("a", "int8"), version=7),
    ]
    lake = tmp_path / "lake"
    for start, value in enumerate(runs):
        add_values(lake, tmp_path / f"run-{start}", value, start=start)
        assert decoded(lake, "t").exit_code is ExitCode.DONE
    names = ["a", "t", "value__json", "a__bigint", "b", "a__string"]
    assert [[row[name] for name in names] for row in typed_rows(lake, "t")] == [
        [1, 5, None, None, None, None],
        [None, None, None, 1 << 40, "x", None],
        [None, 6, None, None, None, "text"],
        [2, None, None, None, None, None],
    ]


def test_types_get_columns_in_the_order_in_which_they_were_ingested(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for start, (value, kind) in enumerate([(1, "int32"), ("b", "string"), (True, "boolean")]):
        folder = tmp_path / f"from-{start}"
        add_values(lake, folder, message({"a": value}, ("a", kind)), start=start)
    decoded(lake, "t")
    assert [name for name in columns_of(typed_rows(lake, "t")[0]) if name[0] == "a"] == [
        *("a", "a__string", "a__boolean")
    ]


def test_a_map_of_structs_and_a_list_of_structs_get_fields(tmp_path: Path) -> None:
    def nested(payload: Any, *fields: tuple[str, str]) -> bytes:
        listed = [{"field": name, "type": kind, "optional": True} for name, kind in fields]
        inner = {"type": "struct", "fields": listed}
        parts = [
            {"field": "m", "type": "map", "keys": {"type": "string"}, "values": inner},
            {"field": "l", "type": "array", "items": inner},
        ]
        schema = {"type": "struct", "fields": parts}
        body = {"m": {"k": payload}, "l": [payload]}
        return json.dumps({"schema": schema, "payload": body}).encode()

    lake = tmp_path / "lake"
    add_values(lake, tmp_path / "first", nested({"x": 1}, ("x", "int32")))
    decoded(lake, "t")
    later = nested({"x": 2, "y": "b"}, ("x", "int32"), ("y", "string"))
    add_values(lake, tmp_path / "later", later, start=1)
    assert decoded(lake, "t").exit_code is ExitCode.DONE
    assert [(row["m"], row["l"]) for row in typed_rows(lake, "t")] == [
        ([("k", {"x": 1, "y": None})], [{"x": 1, "y": None}]),
        ([("k", {"x": 2, "y": "b"})], [{"x": 2, "y": "b"}]),
    ]


def test_more_kinds_of_schemas_than_have_columns_stay_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_shapes, "MOST_SCHEMAS", 3)
    values = [message({f"f{n}": n}, (f"f{n}", "int32")) for n in range(5)]
    lake = tmp_path / "lake"
    add_values(lake, tmp_path / "values", *values)
    assert decoded(lake, "t").exit_code is ExitCode.DONE
    rows = [columns_of(row) for row in typed_rows(lake, "t")]
    found = [{name: value for name, value in row.items() if value is not None} for row in rows]
    assert found == [
        {"f0": 0},
        {"f1": 1},
        {"f2": 2},
        *({"value__json": f'{{"f{n}": {n}}}'} for n in (3, 4)),
    ]


def test_keys_that_are_no_structs_are_the_key_itself(tmp_path: Path) -> None:
    value = message({"a": 1}, ("a", "int32"))
    keys = [({"type": "string"}, "k"), ({"type": "int64"}, 7), (None, {"any": 1})]
    pairs: list[tuple[bytes | None, bytes | None]] = [
        (json.dumps({"schema": schema, "payload": payload}).encode(), value)
        for schema, payload in keys
    ]
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "disk", [(0, pairs)], topic="k"), lake)
    assert decoded(lake, "k").exit_code is ExitCode.DONE
    assert [(r["_key"], r["_key__json"], r["_key__bigint"]) for r in typed_rows(lake, "k")] == [
        ("k", None, None),
        (None, None, 7),
        (None, '{"any": 1}', None),
    ]
