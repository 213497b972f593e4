"""Hostile records of internal topics: three bytes of lengths, then the key, then the value."""

import json
from random import Random

from seglake.segment_codec.formats.internal_topics.coordinator_records import (
    group_record,
    transaction_record,
)
from seglake.segment_codec.formats.internal_topics.metadata_records import metadata_record
from support.encoder.internal import config_value, metadata_value, offset_key, offset_value, string
from torture.hostile.numbers import lie, packed
from torture.hostile.payloads import wounded

_KEY_TYPES = 26
_RECORD_TYPES = 30
_VERSIONS = 5


def draw(random: Random) -> bytes:
    """A record of one of the topics, sound or wounded, or any bytes behind a right envelope."""
    key, value = random.choice((_offset_commit, _any_coordinator, _any_metadata, _config))(random)
    for _ in range(random.choice((0, 1, 1, 2))):
        if random.random() < 0.3:
            key = wounded(random, key)
        else:
            value = wounded(random, value)
    return packed(len(key), 2) + key + value


def check(content: bytes) -> int:
    """Read it as a record of each topic; none raises, and what they say fits into JSON."""
    size = 2 + int.from_bytes(content[:2], "big")
    key, value = content[2:size], content[size:]
    for record in (group_record(key, value), transaction_record(key, value)):
        json.dumps([record.key_fields, record.value_fields], allow_nan=False).encode()
        assert record.unread_reason is not None or record.kind != "unknown"
    metadata = metadata_record(value)
    json.dumps(metadata.fields, allow_nan=False).encode()
    assert metadata.unread_reason is not None or metadata.type_id is not None
    return 1


def _offset_commit(random: Random) -> tuple[bytes, bytes]:
    return offset_key("group", "orders", 3, random.choice((0, 1))), offset_value(7, 9, "note")


def _any_coordinator(random: Random) -> tuple[bytes, bytes]:
    key = packed(random.randrange(_KEY_TYPES), 2) + string("group") + string("member")
    return key, packed(random.randrange(_VERSIONS), 2) + _anything(random)


def _any_metadata(random: Random) -> tuple[bytes, bytes]:
    kind, version = random.randrange(_RECORD_TYPES), random.randrange(_VERSIONS)
    return b"", metadata_value(kind, version, _anything(random))


def _config(random: Random) -> tuple[bytes, bytes]:
    return b"", config_value(random.choice((2, 4)), "orders", "segment.bytes", "1000")


def _anything(random: Random) -> bytes:
    """Numbers of all sizes and short texts, one behind the other."""
    parts = []
    for _ in range(random.randrange(12)):
        size = random.choice((1, 1, 2, 4, 8))
        parts.append(packed(lie(random, 1, 8 * size), size))
        parts.append(string(random.choice(("", "x", "\u0436"))))
    return b"".join(parts)
