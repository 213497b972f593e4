"""`cat --typed` prints keys and values as an oracle that shares no code reads them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seglake.log_tables.registry_files import schemas_at
from seglake.pipelines.record_print.typed_parts import TypedParts
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec.registry.schema_registry import SchemaRegistry
from support.lakes import ingested
from support.made_logs import make_log_dir
from support.printed import cat
from support.typed_disk import (
    manifest,
    oracle_records,
    schema_pair,
    typed_disk,
    typed_lake,
    write_registry,
)
from support.typed_lakes import add_values

_TOPICS = sorted(
    name
    for name, facts in manifest()["topics"].items()
    if "confluent" in (facts["value"], facts["key"]) and name.startswith("avro_")
)
_BY_SOURCE = ("--source", typed_disk(), "--isolation", "read_uncommitted", "--typed")

# Any: values are JSON of every shape.


def plain(value: Any) -> Any:
    """A printed value without what the oracle has in another form."""
    match value:
        case dict() if value and all(name.startswith("member_") for name in value):
            return next((plain(each) for each in value.values() if each is not None), None)
        case dict():
            found = {}
            for name, each in value.items():
                is_text = name.endswith("_json")
                inner = json.loads(each or "null") if is_text else each
                found[name.removesuffix("_json") if is_text else name] = plain(inner)
            return found
        case list():
            return [plain(each) for each in value]
    return value


def expected(value: Any) -> Any:
    """The oracle's value, with the forms of printed values."""
    match value:
        case {"$union": _, "value": inner}:
            return expected(inner)
        case {"$uuid": text}:
            return text
        case {"$duration": _, "$bytes": content}:
            return {"$bytes": content}
        case dict():
            return {name: expected(each) for name, each in value.items()}
        case list():
            return [expected(each) for each in value]
    return value


def differences(line: dict[str, Any], record: dict[str, Any]) -> list[object]:
    """How a printed record differs from the oracle's."""
    found: list[object] = []
    for part in ("key", "value"):
        outcome, reject = record[part], line.get(f"{part}_reject", {})
        place = line["offset"], part, outcome
        if "ok" in outcome and plain(line.get(part)) == expected(outcome["ok"]):
            named = {outcome.get("schema_id"), outcome.get("schema_guid")}
            if line[f"{part}_schema"].split()[1] not in map(str, named):
                found.append((*place, line[f"{part}_schema"]))
        elif "ok" in outcome:
            if outcome.get("or_reject") != reject.get("reason", ""):
                found.append((*place, line.get(part), reject))
        elif "reject" in outcome:
            reasons = [outcome["reject"], *outcome.get("also", ())]
            if outcome["reject"] == "unknown_schema_id":
                reasons.append("no_frame")  # no registry gives out id 0
            is_named = reject.get("reason") == outcome["reject"]
            is_elsewhere = is_named and reject.get("position") != outcome.get("position")
            if reject.get("reason") not in reasons or ("position" in outcome and is_elsewhere):
                found.append((*place, reject))
    return found


@pytest.mark.parametrize("topic", _TOPICS)
def test_keys_and_values_are_those_of_the_oracle(topic: str) -> None:
    printed = cat(*_BY_SOURCE, "--topics", topic)
    lines, records = printed.lines, list(oracle_records(topic))
    assert len(lines) == len(records)
    assert [differences(*pair) for pair in zip(lines, records, strict=True)] == [[]] * len(lines)
    has_rejects = any("_reject" in name for line in lines for name in line)
    assert printed.code == (3 if has_rejects else 0)


def test_a_lake_s_records_are_printed_by_the_schemas_in_the_lake(tmp_path: Path) -> None:
    lake = typed_lake(tmp_path / "lake", "_schemas", "avro_tree")
    printed = cat("--lake", lake, "--topics", "avro_tree", "--typed")
    records = list(oracle_records("avro_tree"))
    pairs = zip(printed.lines, records, strict=True)
    assert [differences(*pair) for pair in pairs] == [[]] * len(records)


def test_the_number_of_each_reason_is_reported() -> None:
    printed = cat(*_BY_SOURCE, "--topics", "avro_bad")
    assert printed.code == 3
    assert "seglake: avro_bad: values that do not decode: 20 (short)\n" in printed.err


def test_a_topic_without_schemas_is_printed_as_it_is() -> None:
    typed = cat(*_BY_SOURCE, "--topics", "json_plain")
    assert typed.out == cat(*_BY_SOURCE[:-1], "--topics", "json_plain").out
    assert typed.code == 0
    assert "seglake: json_plain: no value has a schema of the registry" in typed.err


def test_values_without_a_frame_decode_by_the_subject_that_a_setting_names(tmp_path: Path) -> None:
    pairs = [schema_pair("orders", 1, 1), schema_pair("orders", 2, 4, schema='"string"')]
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", [(0, pairs)]), lake)
    add_values(lake, tmp_path / "values", b"\x02x", None, b"\x04x")
    named = ("--set", "values.subjects.t-value=orders")
    for place in (("--lake", lake), ("--source", tmp_path / "registry", tmp_path / "values")):
        printed = cat(*place, "--topics", "t", "--typed", *named)
        first, null, bad = printed.lines
        assert (first["value"], first["value_schema"], null["value"]) == ("x", "id 4", None)
        assert bad["value_reject"] == {"reason": "short", "position": 1, "schema": "id 4"}
        assert printed.code == 3
    missing = cat("--lake", lake, "--typed", "--set", "values.subjects.t-value=order")
    assert missing.code == 2
    assert "no registry has a subject order; did you mean orders?" in missing.err


def test_disks_without_a_registry_need_schemas(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 5]})
    printed = cat("--source", data, "--typed")
    assert printed.code == 2
    assert "there are no schemas to decode with" in printed.err
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "7.avsc").write_text('"string"')
    given = cat("--source", data, "--typed", "--schemas", tmp_path / "schemas")
    assert given.code == 0
    assert given.out == cat("--source", data).out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--typed", "--format", "value"), "--typed prints lines of JSON"),
        (("--schemas", "x.json"), "--schemas is for --typed"),
        (("--registry", "x"), "--registry is for --typed"),
    ],
)
def test_what_typed_excludes_is_a_wrong_call(options: tuple[str, ...], why: str) -> None:
    printed = cat("--source", typed_disk(), *options)
    assert printed.code == 2
    assert why in printed.err


def test_ids_in_headers_of_apicurio_decode_beside_names_that_are_no_utf_8(tmp_path: Path) -> None:
    versions = tmp_path / "versions.json"
    item = {"artifactId": "a", "version": "1", "artifactType": "AVRO", "content": '"int"'}
    versions.write_text(json.dumps([{**item, "contentId": 9}]), "utf-8")
    registry = SchemaRegistry()
    for each in schemas_at(str(versions), LocalStorage()):
        registry.supplement(each)
    headers = [
        {"key": b"apicurio.value.contentId", "value": (9).to_bytes(8, "big")},
        {"key": b"\xff", "value": b""},
    ]
    pair = pa.struct([("key", pa.binary()), ("value", pa.binary())])
    schema = pa.schema(
        [
            ("topic", pa.string()),
            ("headers", pa.list_(pair)),
            ("key", pa.binary()),
            ("value", pa.binary()),
        ]
    )
    row = {"topic": "t", "headers": headers, "key": None, "value": b"\x06"}
    fields = TypedParts(registry).fields(pa.RecordBatch.from_pylist([row], schema=schema))
    assert fields["value"].to_pylist() == ['"value":3,"value_schema":"id 9"']
