"""Reads a record of `_schemas`. Never raises: see `RegistryRecord.unread_reason`.

Key and value are JSON. Source: confluentinc/schema-registry 794611b, `storage` (SchemaKey,
SchemaValue, DeleteSubjectKey and others).

| keytype | key | value |
| --- | --- | --- |
| SCHEMA | subject, version, magic | id, schemaType (absent: AVRO), references, metadata, ruleSet,
  schema, deleted |
| DELETE_SUBJECT | subject, magic | subject, version: deletes versions 1 to `version` softly |
| CLEAR_SUBJECT, CONFIG, MODE, NOOP, CONTEXT, ASSOC | | they change no schema |

A SCHEMA key whose value is null, or empty (Karapace), is a hard delete. Unknown members and key
types are ignored, as the registry does. `md5` is not read: it can be computed.
"""

import json
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from seglake.value_codec.registry.schemas import (
    Reference,
    SchemaContent,
    SchemaType,
    SubjectVersion,
)

_T = TypeVar("_T")


NO_ID = 0
"""Value of `schema_id` if a schema has no id."""


class RecordKind(StrEnum):
    """Effect that a record of `_schemas` has on the registry."""

    REGISTER = "register"
    HARD_DELETE = "hard_delete"
    SOFT_DELETE = "soft_delete"
    OTHER = "other"
    UNREADABLE = "unreadable"


class Deletion(StrEnum):
    """Kinds of deletion; softly deleted schemas are kept for readers of their ids."""

    SOFT = "soft"
    HARD = "hard"


class Registration(NamedTuple):
    """A schema under a subject and version of a registry.

    Attributes:
        schema_id: id of the schema, or NO_ID.
        deletion: how the schema was deleted; None if it was not.
        guid: GUID of the schema in a file, in addition to the GUID computed from its text.
    """

    place: SubjectVersion
    schema_id: int
    content: SchemaContent
    deletion: Deletion | None = None
    guid: bytes | None = None


class RegistryRecord(NamedTuple):
    """A record of `_schemas`.

    Attributes:
        place: the subject and version that a deletion names; a soft deletion names the last deleted
            version.
        registration: the schema that is registered.
        unread_reason: why the record cannot be read; "" if it is readable.
    """

    kind: RecordKind
    place: SubjectVersion | None = None
    registration: Registration | None = None
    unread_reason: str = ""


class UnreadableSchemaError(ValueError):
    """Error for a record, or a schema of a file, that cannot be read; the message says why."""


def registry_record(key: bytes | None, value: bytes | None) -> RegistryRecord:
    """Read a record of `_schemas`.

    >>> registry_record(b'{"keytype":"SCHEMA","subject":"a","version":2,"magic":1}', None).place
    SubjectVersion(subject='a', version=2)
    """
    try:
        names = _json_object(key, "key")
        match names.get("keytype"):
            case "SCHEMA":
                place = SubjectVersion(
                    member_of(names, "subject", str), member_of(names, "version", int)
                )
                if not value:
                    return RegistryRecord(RecordKind.HARD_DELETE, place)
                found = registration_of(_json_object(value, "value"), place)
                return RegistryRecord(RecordKind.REGISTER, registration=found)
            case "DELETE_SUBJECT" if value:
                last = member_of(_json_object(value, "value"), "version", int)
                deleted = SubjectVersion(member_of(names, "subject", str), last)
                return RegistryRecord(RecordKind.SOFT_DELETE, deleted)
            case _:
                return RegistryRecord(RecordKind.OTHER)
    except UnreadableSchemaError as error:
        return RegistryRecord(RecordKind.UNREADABLE, unread_reason=str(error))


def _json_object(text: bytes | None, part: str) -> dict[str, Any]:
    """Return a JSON object; raise UnreadableSchemaError for anything else."""
    try:
        found = json.loads((text or b"").decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnreadableSchemaError(f"its {part} is no JSON: {json_problem(error)}") from None
    if not isinstance(found, dict):
        raise UnreadableSchemaError(f"its {part} is no JSON object")
    return found


def json_problem(error: Exception) -> str:
    """Return why a text is no JSON, without showing the text."""
    match error:
        case json.JSONDecodeError():
            return f"{error.msg} at character {error.pos}"
        case UnicodeDecodeError():
            return f"no UTF-8 at byte {error.start}"
        case RecursionError():
            return "it is nested too deeply"
    return "a number has too many digits"


def member_of(names: dict[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a member of a JSON object; raise UnreadableSchemaError unless it has the type.

    True and false are no numbers.
    """
    found = names.get(name)
    if not isinstance(found, kind) or isinstance(found, bool):
        raise UnreadableSchemaError(f"its {name} is missing, or no {_JSON_NAMES[kind]}")
    if isinstance(found, int) and not -(1 << 31) <= found < 1 << 31:
        raise UnreadableSchemaError(f"its {name} has more than 32 bits")
    return found


_JSON_NAMES: dict[type, str] = {str: "text", int: "integer", list: "list", dict: "object"}


def registration_of(value: dict[str, Any], place: SubjectVersion) -> Registration:
    """Read the value of a SCHEMA record.

    Raises:
        UnreadableSchemaError: a member is missing, or is of another type.
    """
    content = SchemaContent(
        schema_type=_optional(value, "schemaType", str) or SchemaType.AVRO,
        text=member_of(value, "schema", str),
        references=tuple(map(_reference, _optional(value, "references", list) or ())),
        metadata=_optional(value, "metadata", dict),
        rule_set=_optional(value, "ruleSet", dict),
    )
    deletion = Deletion.SOFT if value.get("deleted") is True else None
    return Registration(place, member_of(value, "id", int), content, deletion)


def _optional(value: dict[str, Any], name: str, kind: type[_T]) -> _T | None:
    """Return a member that may be missing or null, but otherwise must have a certain type."""
    return None if value.get(name) is None else member_of(value, name, kind)


def _reference(value: Any) -> Reference:
    """Read a schema's reference to another schema."""
    if not isinstance(value, dict):
        raise UnreadableSchemaError("one of its references is no object")
    return Reference(
        member_of(value, "name", str),
        member_of(value, "subject", str),
        member_of(value, "version", int),
    )
