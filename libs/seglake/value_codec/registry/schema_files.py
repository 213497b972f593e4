"""Reads schemas from files, for registries whose topic is lost or incomplete.

| file | holds |
| --- | --- |
| a list, as a registry's `GET /schemas` gives it | subject, version, id, schema and more of each |
| a list, as AWS Glue's GetSchemaVersion gives its items | SchemaVersionId, SchemaDefinition,
  DataFormat and more of each |
| a list of Apicurio's versions | contentId or globalId or both, artifactId, version, artifactType
  and content of each |
| `<id>.avsc`, `<id>.proto`, `<id>.json` | the text of one schema |

An item with a GUID is found by that GUID, too: some registries rewrite texts, so that the GUIDs in
records differ from the computed ones.
"""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from seglake.value_codec.registry.registry_records import (
    NO_ID,
    Registration,
    UnreadableSchemaError,
    json_problem,
    member_of,
    registration_of,
)
from seglake.value_codec.registry.schemas import SchemaContent, SchemaType, SubjectVersion

LIST_NAME = "schemas.json"
"""Name of the list in a folder; if it exists, the other files are ignored."""

_TYPES = {"avsc": SchemaType.AVRO, "proto": SchemaType.PROTOBUF, "json": SchemaType.JSON}
_MOST_DIGITS = 10  # most digits of a schema id
_GREATEST_ID = (1 << 31) - 1


def is_schema_name(name: str) -> bool:
    """Return whether a file of a folder is read.

    >>> [is_schema_name(name) for name in ("schemas.json", "17.avsc", "user.avsc")]
    [True, True, False]
    """
    return name == LIST_NAME or _id_of(name) is not None


def registrations_in(files: Mapping[str, bytes]) -> list[Registration]:
    """Return the schemas in files, given by name; if `schemas.json` exists, only its schemas.

    Raises:
        UnreadableSchemaError: a file has no list of schemas, or is not text.
    """
    if LIST_NAME in files:
        return listed_registrations(files[LIST_NAME])
    found = []
    for name, content in files.items():
        schema_id = _id_of(name)
        if schema_id is not None:
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError as error:
                raise UnreadableSchemaError(f"{name} is no text: {json_problem(error)}") from None
            schema_type = _TYPES[name.rpartition(".")[2]]
            schema = SchemaContent(schema_type=schema_type, text=text.strip())
            found.append(Registration(SubjectVersion(name, 1), schema_id, schema))
    return found


def listed_registrations(content: bytes) -> list[Registration]:
    """Return the schemas of a list.

    Raises:
        UnreadableSchemaError: the list is no JSON, or an item is no schema; the message names the
            item.
    """
    try:
        items = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnreadableSchemaError(f"the file is no JSON: {json_problem(error)}") from None
    if not isinstance(items, list):
        raise UnreadableSchemaError("the file is no list of schemas")
    found = []
    for number, item in enumerate(items, 1):
        try:
            if not isinstance(item, dict):
                raise UnreadableSchemaError("it is no object")
            found += _apicurio(item) if isinstance(item.get("content"), str) else [_listed(item)]
        except UnreadableSchemaError as error:
            raise UnreadableSchemaError(f"schema {number} of the list: {error}") from None
    return found


# Any: JSON values.
def _listed(item: dict[str, Any]) -> Registration:
    """Read the schema in an item of a registry's list."""
    glue = {name.lower(): value for name, value in item.items()}
    if "schemaversionid" in glue:
        return _glue_version(glue)
    place = SubjectVersion(member_of(item, "subject", str), member_of(item, "version", int))
    guid = None if item.get("guid") is None else _guid(item, "guid")
    return registration_of(item, place)._replace(guid=guid)


def _apicurio(item: dict[str, Any]) -> list[Registration]:
    """Read a version of Apicurio: a registration for each of its ids."""
    version = str(item.get("version", 1))
    place = SubjectVersion(
        member_of(item, "artifactId", str), int(version) if version.isdecimal() else 1
    )
    content = SchemaContent(
        schema_type=member_of(item, "artifactType", str).upper(), text=item["content"]
    )
    names = [name for name in ("contentId", "globalId") if name in item] or ["contentId"]
    return [
        Registration(place, schema_id, content)
        for schema_id in dict.fromkeys(member_of(item, name, int) for name in names)
    ]


def _glue_version(item: dict[str, Any]) -> Registration:
    """Read a schema version of AWS Glue; `item` has member names in lower case."""
    arn = item.get("schemaarn")
    name = item.get("schemaname", arn.rpartition("/")[2] if isinstance(arn, str) else None)
    place = SubjectVersion(
        member_of({"schemaname": name}, "schemaname", str), member_of(item, "versionnumber", int)
    )
    content = SchemaContent(
        schema_type=member_of(item, "dataformat", str).upper(),
        text=member_of(item, "schemadefinition", str),
    )
    return Registration(place, NO_ID, content, guid=_guid(item, "schemaversionid"))


def _guid(item: dict[str, Any], name: str) -> bytes:
    text = member_of(item, name, str)
    try:
        return UUID(text).bytes
    except ValueError:
        raise UnreadableSchemaError(f"its {name} is no UUID") from None


def _id_of(name: str) -> int | None:
    """Return the id in a file's name; None for other names."""
    stem, _, ending = name.rpartition(".")
    is_id = ending in _TYPES and stem.isascii() and stem.isdigit() and len(stem) <= _MOST_DIGITS
    return int(stem) if is_id and 0 < int(stem) <= _GREATEST_ID else None
