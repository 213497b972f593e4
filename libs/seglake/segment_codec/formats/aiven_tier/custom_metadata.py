"""Custom metadata that Aiven's plugin adds to records of `__remote_log_metadata`.

Layout, all tagged fields of Kafka's encoding::

    count  uvarint, then of each field: tag uvarint, size uvarint, its bytes
    tag 0  size of all objects, zigzag varlong
    tag 1  prefix of the keys of .log and .indexes, compact string
    tag 2  rest of the keys, without suffix, compact string

Source: Aiven-Open/tiered-storage-for-apache-kafka 8fb1581, SegmentCustomMetadataSerde.java.
"""

from typing import NamedTuple

from seglake.segment_codec.formats.internal_topics.message_layout import Cursor

_PREFIX, _KEY = 1, 2


class CustomMetadata(NamedTuple):
    """Key of a segment's objects as prefix and rest; None for a part that the plugin omitted."""

    prefix: str | None
    key: str | None


def custom_metadata(data: bytes) -> CustomMetadata:
    """Parse the custom metadata of a segment.

    Raises:
        MessageError: the bytes do not fit the layout.
    """
    cursor = Cursor(data)
    found: dict[int, bytes] = {}
    for _ in range(cursor.uvarint()):
        tag = cursor.uvarint()
        found[tag] = cursor.read(cursor.uvarint())
    cursor.end()
    return CustomMetadata(_text(found.get(_PREFIX)), _text(found.get(_KEY)))


def _text(field: bytes | None) -> str | None:
    """Return the text of a compact string; None if the field is missing or null."""
    if field is None:
        return None
    cursor = Cursor(field)
    length = cursor.uvarint() - 1
    text = None if length < 0 else cursor.read(length).decode("utf-8", errors="replace")
    cursor.end()
    return text
