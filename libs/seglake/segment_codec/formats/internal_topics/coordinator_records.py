"""Reads the records that Kafka's coordinators write to internal topics.

A key is an i16 with the record's type, followed by an unversioned message. A value is an i16 with
the version, followed by a message. A null value is a tombstone. Integers are big-endian.

Source: apache/kafka 1eb7644, CoordinatorRecordSerde.java and TransactionState.java.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from seglake.segment_codec.formats.errors import MessageError
from seglake.segment_codec.formats.internal_topics.message_layout import Cursor, Json, Layout
from seglake.segment_codec.formats.internal_topics.record_forms import UNKNOWN, Form, forms_of

NUMBER = struct.Struct(">h")
OFFSET_COMMIT = "offset_commit"  # kind of records of committed offsets
STATUS_NAMES = (
    "empty",
    "ongoing",
    "prepare_commit",
    "prepare_abort",
    "complete_commit",
    "complete_abort",
    "dead",
    "prepare_epoch_fence",
)
"""Kafka's names of transaction states, by number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorRecord:
    """A coordinator's record, as far as it could be parsed.

    Attributes:
        kind: name of the key type; `unknown` for an unknown type.
        key_type: number of the key type; None if the key is null or too short.
        value_version: version of the value; None if the value is null or too short.
        key_fields: fields of the key by Kafka's names; empty if the key is unreadable.
        value_fields: fields of the value by Kafka's names; empty if the value is unreadable.
        is_tombstone: whether the value is null.
        unread_reason: why key or value could not be parsed to its end; None if both were.
    """

    kind: str
    key_type: int | None
    value_version: int | None
    key_fields: Mapping[str, Json]
    value_fields: Mapping[str, Json]
    is_tombstone: bool
    unread_reason: str | None


def group_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """Parse a record of `__consumer_offsets`; errors are in `unread_reason`, not raised."""
    return _record(forms_of("consumer_offsets"), key, value)


def transaction_record(key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """Parse a record of `__transaction_state`; errors are in `unread_reason`, not raised."""
    return _record(forms_of("transaction_state"), key, value)


def _record(forms: Mapping[int, Form], key: bytes | None, value: bytes | None) -> CoordinatorRecord:
    """Parse key and value by the key's type; errors are in `unread_reason`, not raised."""
    key_type, version = _number(key), _number(value)
    form = None if key_type is None else forms.get(key_type)
    key_fields: Mapping[str, Json] = {}
    value_fields: Mapping[str, Json] = {}
    reason = None
    try:
        key_fields = _key_fields(form, key_type, key)
        if form is not None and value is not None:
            value_fields = _value_fields(form, version, value)
    except MessageError as error:
        reason = str(error)
    return CoordinatorRecord(
        kind=UNKNOWN if form is None else form.kind,
        key_type=key_type,
        value_version=version,
        key_fields=key_fields,
        value_fields=value_fields,
        is_tombstone=value is None,
        unread_reason=reason,
    )


def _number(data: bytes | None) -> int | None:
    """Return the i16 with which a key or value starts; None if the bytes are null or too short."""
    if data is None or len(data) < NUMBER.size:
        return None
    number: int = NUMBER.unpack_from(data)[0]
    return number


def _key_fields(form: Form | None, key_type: int | None, key: bytes | None) -> Mapping[str, Json]:
    """Return the fields of a key; raise MessageError if it cannot be parsed."""
    if key is None or key_type is None:
        raise MessageError("the key is null" if key is None else f"a key of {len(key)} bytes")
    if form is None:
        raise MessageError(f"key type {key_type} is unknown")
    return _fields(form.key, 0, key, "key")


def _value_fields(form: Form, version: int | None, value: bytes) -> Mapping[str, Json]:
    """Return the fields of a value; raise MessageError if it cannot be parsed."""
    if form.value is None:
        raise MessageError("values of this kind are not parsed")
    if version is None:
        raise MessageError(f"a value of {len(value)} bytes")
    return _fields(form.value, version, value, "value")


def _fields(layout: Layout, version: int, data: bytes, what: str) -> Mapping[str, Json]:
    """Return the fields after the leading i16 of a key or value; `what` is its name in errors."""
    cursor = Cursor(data, NUMBER.size)
    try:
        fields = layout.read(cursor, version)
        cursor.end()
    except MessageError as error:
        raise MessageError(f"{what}: {error}") from error
    return fields
