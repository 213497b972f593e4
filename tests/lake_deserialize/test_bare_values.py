"""Values without a frame decode by the latest schema of the subject that the settings name."""

import json
from pathlib import Path

import pytest

from seglake.errors import ExitCode, WrongCallError
from seglake.pipelines.lake_deserialize.dry_run import count_decodable
from seglake.settings.settings import SelectSettings, ValuesSettings
from seglake.settings.values import SettingsError
from seglake.storage.local_storage import LocalStorage
from support.lakes import ingested
from support.typed_disk import Pair, schema_pair, write_registry
from support.typed_lakes import SILENT, add_values, decoded
from support.typed_rows import columns_of, table_rows, typed_names, typed_rows

_PROTO = """syntax = "proto3"; package shop;
message First { int32 a = 1; } message Order { string id = 1; int64 n = 2; }"""


def record(*fields: tuple[str, str]) -> str:
    return json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]}
    )


def lake_of(tmp_path: Path, pairs: list[Pair], *values: bytes | None) -> Path:
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", [(0, pairs)]), lake)
    add_values(lake, tmp_path / "values", *values)
    return lake


def test_avro_decodes_by_the_latest_schema_of_the_subject(tmp_path: Path) -> None:
    old, new = record(("a", "int")), record(("a", "int"), ("b", "string"))
    pairs = [schema_pair("orders", 1, 7, schema=old), schema_pair("orders", 2, 9, schema=new)]
    lake = lake_of(tmp_path, pairs, b"\x02\x02x", None, b"\x02", b"\x04\x00\x00")
    named = {"t-value": "orders"}
    assert decoded(lake, "t").without_schemas == ["t"]
    summary = decoded(lake, "t", subjects=named)
    assert summary.exit_code is ExitCode.LOOK
    assert [(row["_schema_id"], columns_of(row)) for row in typed_rows(lake, "t")] == [
        (9, {"a": 1, "b": "x"}),
        (None, {"a": None, "b": None}),
    ]
    rejects = [
        (r["reason"], r["position"], r["schema_id"]) for r in table_rows(lake, "value_rejects")
    ]
    assert rejects == [("short", 1, 9), ("trailing_bytes", 2, 9)]
    found = count_decodable(
        str(lake), LocalStorage(), SILENT, SelectSettings(topics=("t",)), subjects=named
    ).to_text()
    assert "t values: 4 records, 1 without a value, without frames; 1 decode, 2 do not" in found


def test_a_later_schema_of_the_subject_adds_columns(tmp_path: Path) -> None:
    first = schema_pair("orders", 1, 1, schema=record(("a", "int")))
    lake = lake_of(tmp_path, [first], b"\x02")
    decoded(lake, "t", subjects={"t-value": "orders"})
    later = schema_pair("orders", 2, 2, schema=record(("a", "long"), ("b", "int")))
    ingested(write_registry(tmp_path / "more", [(0, [first]), (0, [later])]), lake)
    add_values(lake, tmp_path / "later", b"\x04\x06", start=1)
    assert decoded(lake, "t", subjects={"t-value": "orders"}).exit_code is ExitCode.DONE
    assert [columns_of(row) for row in typed_rows(lake, "t")] == [
        {"a": 1, "a__bigint": None, "b": None},
        {"a": None, "a__bigint": 2, "b": 3},
    ]


@pytest.mark.parametrize(
    ("subject", "value", "expected"),
    [
        ("p#shop.Order", b"\x0a\x02id\x10\x05", {"id": "id", "n": 5, "_unknown": None}),
        ("p", b"\x08\x03", {"a": 3, "_unknown": None}),
        ("j", b'{"x": 1.5}', {"x": 1.5, "value__json": None}),
    ],
)
def test_protobuf_and_json_schema_decode_too(
    tmp_path: Path, subject: str, value: bytes, expected: dict[str, object]
) -> None:
    schema = json.dumps({"properties": {"x": {"type": "number"}}})
    pairs = [
        schema_pair("p", 1, 1, schemaType="PROTOBUF", schema=_PROTO),
        schema_pair("j", 1, 2, schemaType="JSON", schema=schema),
    ]
    lake = lake_of(tmp_path, pairs, value, value)
    assert decoded(lake, "t", subjects={"t-value": subject}).exit_code is ExitCode.DONE
    assert typed_names(lake, "t") == ["t"]
    assert [columns_of(row) for row in typed_rows(lake, "t")] == [expected] * 2


def test_keys_decode_by_a_subject(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [schema_pair("orders", 1, 1)])
    ingested(write_registry(tmp_path / "k", [(0, [(b"\x02", b'{"a":1}')])], topic="k"), lake)
    assert decoded(lake, "k", subjects={"k-key": "orders"}).exit_code is ExitCode.DONE
    [row] = typed_rows(lake, "k")
    assert (row["_key"], row["_key_schema_id"], row["a"]) == (1, 1, 1)


@pytest.mark.parametrize("named", [{"t-value": "order"}, {"t-value": "orders", "t-key": "order"}])
def test_a_subject_that_no_registry_has_is_a_wrong_call_with_a_near_name(
    tmp_path: Path, named: dict[str, str]
) -> None:
    lake = lake_of(tmp_path, [schema_pair("orders", 1, 1)], b"\x02")
    with pytest.raises(
        WrongCallError, match="no registry has a subject order; did you mean orders"
    ):
        decoded(lake, "t", subjects=named)
    with pytest.raises(
        WrongCallError, match="no registry has a subject order; did you mean orders"
    ):
        count_decodable(str(lake), LocalStorage(), SILENT, SelectSettings(), subjects=named)
    assert not (lake / "value_rejects").exists()
    assert decoded(lake, "_*", subjects=named).exit_code is ExitCode.DONE


def test_settings_that_contradict_the_tables_leave_the_topic_out(
    tmp_path: Path,
) -> None:
    lake = lake_of(tmp_path, [schema_pair("orders", 1, 1)], b"\x02")
    unknown = decoded(lake, "t", subjects={"x-value": "orders"})
    assert "left out: x: values.subjects names it, but the lake has no such" in unknown.to_text()
    assert unknown.exit_code is ExitCode.LOOK
    decoded(lake, "t", subjects={"t-value": "orders"})
    add_values(lake, tmp_path / "more", b"\x04", start=1)
    for others in ({}, {"t-value": "orders", "t-key": "orders"}):
        dry = count_decodable(
            str(lake), LocalStorage(), SILENT, SelectSettings(topics=("t",)), subjects=others
        )
        summary = decoded(lake, "t", subjects=others)
        assert dry.left_out == summary.left_out
        assert "of its tables have the form" in summary.to_text()
        assert summary.exit_code is ExitCode.LOOK
    assert decoded(lake, "t", subjects={"t-value": "orders"}).exit_code is ExitCode.DONE
    assert [row["value"] for row in typed_rows(lake, "t")] == [1, 2]


@pytest.mark.parametrize("given", [("orders", "s"), ("orders-value", ""), ("orders-key", "#M")])
def test_a_name_of_neither_keys_nor_values_is_a_wrong_call(given: tuple[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"values\.subjects"):
        ValuesSettings((given,))
