"""Schemas that a run was given are known to later runs, with all that decoding needs of them."""

import json
from pathlib import Path

import pytest

from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.registry_rows import LakeRegistry, lake_registries
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec.registry.schema_registry import StoredSchema
from support.lakes import ingested
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import add_values, decoded
from support.typed_rows import table_rows

_GUID = "00112233-4455-6677-8899-aabbccddeeff"
_ENCRYPTING = {
    "subject": "b-value",
    "version": 1,
    "id": 8,
    "schema": '"p.R"',
    "references": [{"name": "p.R", "subject": "a-value", "version": 1}],
    "ruleSet": {"encodingRules": [{"type": "ENCRYPT_PAYLOAD"}]},
}
_OF_GLUE = {
    "SchemaVersionId": "ff112233-4455-6677-8899-aabbccddeeff",
    "SchemaName": "g",
    "VersionNumber": 1,
    "DataFormat": "AVRO",
    "SchemaDefinition": '"string"',
}
_GIVEN = [
    {"subject": "a-value", "version": 1, "id": 7, "schema": '"int"', "guid": _GUID},
    {"subject": ":.lab:a-value", "version": 2, "id": 7, "schema": '"long"', "deleted": True},
    _ENCRYPTING,
    _OF_GLUE,
]


def known(lake: Path, topic: str = "_schemas") -> LakeRegistry:
    [found] = lake_registries(LakeTables(str(lake), LocalStorage()), topic, everywhere=True)
    return found


def facts(stored: StoredSchema) -> tuple[object, ...]:
    content = stored.content
    return (
        *(stored.place, stored.schema_id, stored.guid, stored.deletion, content.is_encrypting),
        *(content.schema_type, content.text, content.references),
    )


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake without a registry, whose only run was given schemas."""
    add_values(tmp_path / "lake", tmp_path / "values", bytes(4) + b"\x07\x02")
    (tmp_path / "given.json").write_text(json.dumps(_GIVEN), "utf-8")
    decoded(tmp_path / "lake", "t", schemas=str(tmp_path / "given.json"))
    return tmp_path / "lake"


def test_later_runs_know_each_given_schema_and_its_guids(lake: Path) -> None:
    found = known(lake).registry
    deletions = [stored.deletion is not None for stored in found.schemas]
    assert deletions == [False, True, False, False]
    assert [stored.content.is_encrypting for stored in found.schemas] == [False, False, True, False]
    assert [str(found.schemas[0].guid), str(found.schemas[3].guid)[:4]] == [_GUID, "ff11"]
    for stored in found.schemas:
        assert found.of_guid(stored.guid.bytes) == stored
    assert [reference.name for reference in found.schemas[2].content.references] == ["p.R"]
    rows = table_rows(lake, "schemas")
    decoded(lake, "t")
    assert table_rows(lake, "schemas") == rows
    assert [*map(facts, known(lake).registry.schemas)] == [*map(facts, found.schemas)]


def test_a_guid_that_was_given_for_a_schema_in_the_topic_stays_known(
    lake: Path, tmp_path: Path
) -> None:
    pairs = [schema_pair("a-value", 1, 7)]
    ingested(write_registry(tmp_path / "registry", [(0, pairs)]), lake)
    decoded(lake, "t")
    found = known(lake).registry
    assert found.of_guid(bytes.fromhex(_GUID.replace("-", ""))) == found.schemas[0]
    assert found.schemas[0].recorded_at is not None


def test_a_record_of_the_topic_replaces_an_earlier_schema_of_its_id(
    lake: Path, tmp_path: Path
) -> None:
    pairs = [schema_pair("other", 1, 7, schema='"double"')]
    ingested(write_registry(tmp_path / "registry", [(0, pairs)]), lake)
    assert [each.content.text for each in known(lake).registry.of_id(".", 7)] == ['"double"']
    decoded(lake, "t")
    texts = {row["schema"] for row in table_rows(lake, "schemas") if row["context"] == "."}
    assert texts == {'"double"', '"p.R"', '"string"'}


def test_ids_of_another_registry_s_topic_are_apart(lake: Path, tmp_path: Path) -> None:
    pairs = [schema_pair("x", 1, 9, schema='"double"')]
    ingested(write_registry(tmp_path / "registry", [(0, pairs)], topic="other"), lake)
    assert not known(lake, "other").registry.of_id(".", 7)
    with pytest.raises(WrongCallError, match="the lake has no topic othr"):
        known(lake, "othr")
