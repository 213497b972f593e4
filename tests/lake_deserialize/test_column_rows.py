"""`typed_columns` leads from each column back to the field of the schema that it was made of."""

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from support.lakes import ingested
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import add_schemas, add_values, decoded, int_of, made
from support.typed_rows import table_rows, typed_rows


def columns(lake: Path) -> dict[str, dict[str, Any]]:
    """The rows of the columns of values, by column."""
    rows = [row for row in table_rows(lake, "typed_columns") if row["part"] == "value"]
    found = {row["column"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def test_names_that_no_reader_takes_lead_back_to_their_fields(tmp_path: Path) -> None:
    names = ["first name", "first_name", "FIRST NAME", "a.b", "sum(x)", "plain"]
    inner = {"type": "object", "properties": {"x y": {"type": "string"}}}
    properties = {name: {"type": "string"} for name in names} | {"in ner": inner}
    schema = json.dumps({"type": "object", "properties": properties})
    lake = tmp_path / "lake"
    pair = schema_pair("t-value", 1, 7, schema=schema, schemaType="JSON")
    ingested(write_registry(tmp_path / "registry", [(0, [pair])]), lake)
    value = {name: name for name in names} | {"in ner": {"x y": "deep"}}
    add_values(lake, tmp_path / "values", bytes(4) + b"\x07" + json.dumps(value).encode())
    decoded(lake, "t")
    [row] = typed_rows(lake, "t")
    found = columns(lake)
    assert {found[name]["path"][0]: row[name] for name in row if name in found} == {
        **{name: name for name in names},
        "in ner": {"x_y": "deep"},
    } | {name: None for name in row if name in found and name.endswith("__json")}
    assert found["in_ner.x_y"]["path"] == ["in ner", "x y"]
    assert {each["since_schema_id"] for each in found.values()} == {7}
    assert (found["plain"]["table"], found["plain"]["type"]) == ("typed/t", "string")


def test_a_type_of_its_own_says_since_which_schema_and_no_row_is_twice(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    add_schemas(lake, tmp_path / "registry-2", '"string"')
    add_values(lake, tmp_path / "more", bytes(4) + b"\x02\x02x", start=1)
    decoded(lake, "t")
    first, second = columns(lake)["value"], columns(lake)["value__string"]
    assert (first["path"], first["type"], first["is_apart"]) == (["value"], "int", False)
    assert (second["path"], second["type"], second["is_apart"]) == (["value"], "string", True)
    assert (first["since_schema"], second["since_schema"]) == ("id 1", "id 2")
    assert first["run_id"] != second["run_id"]


def test_the_registries_are_a_table_that_follows_them(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    [row] = table_rows(lake, "schemas")
    assert (row["schema_id"], row["subject"], row["version"]) == (1, "t-value", 1)
    assert (row["schema"], row["schema_type"], row["deletion"]) == ('"int"', "AVRO", None)
    version = DeltaTable(str(lake / "schemas")).version()
    decoded(lake, "t")
    assert DeltaTable(str(lake / "schemas")).version() == version
    pairs = [schema_pair("t-value", 1, 1), schema_pair("t-value", 1), (b"no JSON", b"{}")]
    ingested(write_registry(tmp_path / "deleted", [(0, [pair]) for pair in pairs]), lake)
    decoded(lake, "t")
    rows = sorted(table_rows(lake, "schemas"), key=lambda row: row["offset"])
    assert [(row["schema_id"], row["deletion"]) for row in rows] == [(1, "hard"), (None, None)]
    assert rows[1]["problem"].startswith("its key is no JSON")
    assert (rows[1]["offset"], len(DeltaTable(str(lake / "schemas")).file_uris())) == (2, 1)
