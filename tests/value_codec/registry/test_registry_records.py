"""A record of `_schemas` is read as the registry reads it, or its reason is given."""

import pytest

from seglake.value_codec.registry.registry_records import Deletion, RecordKind, registry_record
from seglake.value_codec.registry.schemas import Reference, SchemaContent, SubjectVersion
from support.typed_disk import schema_pair, subject_deletion

_KEY = b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}'


def test_a_schema_without_a_type_is_avro_and_unknown_members_are_ignored() -> None:
    found = registry_record(*schema_pair("a", 3, 7, offset=5, ts=9, schemaType=None)).registration
    assert found is not None
    assert (found.place, found.schema_id) == (SubjectVersion("a", 3), 7)
    assert found.content == SchemaContent(schema_type="AVRO", text='"int"')
    assert found.deletion is None


def test_references_and_a_soft_deletion_are_read() -> None:
    reference = {"name": "x.Y", "subject": "b", "version": 2}
    found = registry_record(*schema_pair("a", 1, 1, references=[reference], deleted=True))
    assert found.registration is not None
    assert found.registration.content.references == (Reference("x.Y", "b", 2),)
    assert found.registration.deletion is Deletion.SOFT


@pytest.mark.parametrize("value", [None, b""])
def test_a_schema_key_without_a_value_is_a_hard_delete(value: bytes | None) -> None:
    found = registry_record(_KEY, value)
    assert (found.kind, found.place) == (RecordKind.HARD_DELETE, SubjectVersion("a", 1))


def test_a_subject_s_deletion_names_the_last_version() -> None:
    found = registry_record(*subject_deletion("a", 3))
    assert (found.kind, found.place) == (RecordKind.SOFT_DELETE, SubjectVersion("a", 3))


@pytest.mark.parametrize(
    "key",
    [
        b'{"keytype":"NOOP","magic":0}',
        b'{"keytype":"CONFIG","subject":null,"magic":0}',
        b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}',
        b'{"keytype":"CLEAR_SUBJECT","subject":"a","magic":0}',
        b'{"keytype":"A_LATER_ONE"}',
    ],
)
@pytest.mark.parametrize("value", [None, b""])
def test_other_records_change_no_schema(key: bytes, value: bytes | None) -> None:
    assert registry_record(key, value).kind is RecordKind.OTHER


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"{}", "its key is no JSON: Expecting value at character 0"),
        (b"\xff", b"{}", "its key is no JSON: no UTF-8 at byte 0"),
        (b"[]", b"{}", "its key is no JSON object"),
        (b"[" * 100_000, b"{}", "its key is no JSON: it is nested too deeply"),
        (
            _KEY,
            b'{"id":' + b"9" * 5000 + b"}",
            "its value is no JSON: a number has too many digits",
        ),
        (_KEY, b"not json", "its value is no JSON: Expecting value at character 0"),
        (_KEY, b"{}", "its schema is missing, or no text"),
        (_KEY, b'{"schema":"x","id":true}', "its id is missing, or no integer"),
        (_KEY, b'{"schema":"x","id":2147483648}', "its id has more than 32 bits"),
        (_KEY, b'{"schema":"x","id":1,"references":[1]}', "one of its references is no object"),
        (_KEY, b'{"schema":"x","id":1,"references":{}}', "its references is missing, or no list"),
        (b'{"keytype":"SCHEMA","version":1}', b"{}", "its subject is missing, or no text"),
    ],
)
def test_what_is_no_record_of_a_registry_has_a_reason(
    key: bytes | None, value: bytes, reason: str
) -> None:
    found = registry_record(key, value)
    assert (found.kind, found.unread_reason) == (RecordKind.UNREADABLE, reason)
