"""Reads messages in Kafka's frame, which states their type and version.

Layout of a record's value::

    frame    uvarint  1; the preview of Kafka 2.8 had 0 and other layouts
    type     uvarint  decides the layout of the fields, see `record_forms`
    version  uvarint  version of that layout
    fields

Source: apache/kafka 1eb7644, AbstractApiMessageSerde.java; for `__remote_log_metadata`
RemoteLogMetadataSerde.java, which has the same frame.
"""

from dataclasses import dataclass

from seglake.segment_codec.formats.errors import MessageError
from seglake.segment_codec.formats.internal_topics.message_layout import Cursor, Json
from seglake.segment_codec.formats.internal_topics.record_forms import UNKNOWN, forms_of

_FRAME_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedMessage:
    """A framed message, as far as it could be parsed.

    Attributes:
        name: name of the type; `unknown` for a type id without a form.
        fields: fields by Kafka's names; tagged fields only if they are set. Empty if the message is
            secret or unreadable.
        is_secret: whether the fields of the type are secret, so that they were not parsed.
        unread_reason: why the value could not be parsed to its end; None if it was.
    """

    name: str
    type_id: int | None
    version: int | None
    fields: dict[str, Json]
    is_secret: bool
    unread_reason: str | None


def framed_message(topic: str, value: bytes | None) -> FramedMessage:
    """Parse a record's value by its topic's forms; errors are in `unread_reason`, not raised."""
    forms = forms_of(topic)
    type_id = version = reason = form = None
    fields: dict[str, Json] = {}
    try:
        if value is None:
            raise MessageError("the value is null")
        cursor = Cursor(value)
        frame = cursor.uvarint()
        if frame != _FRAME_VERSION:
            raise MessageError(f"frame version {frame}, expected {_FRAME_VERSION}")
        type_id, version = cursor.uvarint(), cursor.uvarint()
        form = forms.get(type_id)
        if form is None:
            raise MessageError(f"type {type_id} is unknown")
        if form.value is not None:
            found = form.value.read(cursor, version)
            cursor.end()
            fields = found
    except MessageError as error:
        reason = str(error)
    return FramedMessage(
        name=UNKNOWN if form is None else form.kind,
        type_id=type_id,
        version=version,
        fields=fields,
        is_secret=form is not None and form.value is None,
        unread_reason=reason,
    )
