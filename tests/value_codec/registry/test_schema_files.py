"""Schemas are read from a registry's list, or from a file for each id."""

import json

import pytest

from seglake.value_codec.registry.registry_records import UnreadableSchemaError
from seglake.value_codec.registry.schema_files import (
    is_schema_name,
    listed_registrations,
    registrations_in,
)

_ITEM = {"subject": "a", "version": 1, "id": 7, "schema": '"int"'}


def test_a_list_is_what_a_registry_answers() -> None:
    reference = {"name": "b", "subject": "b", "version": 2}
    items = [_ITEM, {**_ITEM, "id": 8, "schemaType": "PROTOBUF", "references": [reference]}]
    first, second = listed_registrations(json.dumps(items).encode())
    assert (first.place, first.schema_id, first.content.text) == (("a", 1), 7, '"int"')
    assert (second.content.schema_type, second.content.references) == ("PROTOBUF", (("b", "b", 2),))


def test_a_version_of_apicurio_has_both_of_its_ids() -> None:
    item = {"artifactId": "a", "version": "2", "artifactType": "AVRO", "content": '"int"'}
    items = [{**item, "contentId": 7, "globalId": 9}, {**item, "globalId": 9, "version": "x"}]
    found = [(r.place, r.schema_id) for r in listed_registrations(json.dumps(items).encode())]
    assert found == [(("a", 2), 7), (("a", 2), 9), (("a", 1), 9)]
    with pytest.raises(UnreadableSchemaError, match="its contentId is missing"):
        listed_registrations(json.dumps([item]).encode())


def test_files_are_named_by_id_and_type() -> None:
    files = {"7.avsc": b' "int"\n', "8.proto": b"message A {}", "9.json": b"{}", "x.avsc": b"?"}
    found = [(r.schema_id, r.content.schema_type, r.content.text) for r in registrations_in(files)]
    assert found == [(7, "AVRO", '"int"'), (8, "PROTOBUF", "message A {}"), (9, "JSON", "{}")]


def test_a_list_is_read_instead_of_the_files_beside_it() -> None:
    files = {"9.avsc": b"?", "schemas.json": json.dumps([_ITEM]).encode()}
    assert [found.schema_id for found in registrations_in(files)] == [7]


@pytest.mark.parametrize(
    "name",
    ["0.avsc", "-1.avsc", "7.txt", "7", "99999999999.avsc", "2147483648.avsc", "\u0667.avsc"],
)
def test_other_names_are_no_schemas(name: str) -> None:
    assert not is_schema_name(name)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"?", "the file is no JSON: Expecting value at character 0"),
        (b"{}", "the file is no list of schemas"),
        (b"[1]", "schema 1 of the list: it is no object"),
        (
            json.dumps([_ITEM, {**_ITEM, "id": "7"}]).encode(),
            "schema 2 of the list: its id is missing",
        ),
    ],
)
def test_a_broken_list_is_refused_with_the_place(content: bytes, why: str) -> None:
    with pytest.raises(UnreadableSchemaError, match=why):
        listed_registrations(content)


def test_a_file_that_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableSchemaError, match=r"7.avsc is no text: no UTF-8 at byte 0"):
        registrations_in({"7.avsc": b"\xff"})
