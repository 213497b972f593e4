"""The envelope around the records of coordinators: tombstones, and bytes that are no record."""

import pytest

from seglake.segment_codec.formats.internal_topics.coordinator_records import group_record
from support.encoder.internal import int16, int32, int64, offset_key, string, tagged

KEY = offset_key("g", "orders", 7)


def test_a_null_value_is_a_tombstone_and_an_empty_one_cannot_be_read() -> None:
    tombstone, empty = group_record(KEY, None), group_record(KEY, b"")
    assert (tombstone.is_tombstone, tombstone.unread_reason) == (True, None)
    assert (empty.is_tombstone, empty.unread_reason) == (False, "a value of 0 bytes")
    assert tombstone.key_fields == empty.key_fields


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"", "the key is null"),
        (b"\x00", b"", "a key of 1 bytes"),
        (int16(9) + b"x", b"x", "key type 9 is unknown"),
        (int16(-1), None, "key type -1 is unknown"),
        (KEY[:-1], None, "key: 4 bytes are needed at position 13, 3 remain"),
        (KEY + b"\x00", None, "key: 1 bytes remain after position 17"),
        (int16(2) + int16(9) + b"g", None, "key: 9 bytes are needed at position 4, 1 remain"),
        (int16(2) + int16(-1), None, "key: group is null"),
        (KEY, int16(5) + int64(1), "value: version 5 is not in 0 to 4"),
        (KEY, int16(-1) + int64(1), "value: version -1 is not in 0 to 4"),
        (KEY, int16(0) + int64(1), "value: 2 bytes are needed at position 10, 0 remain"),
        (
            int16(2) + string("g"),
            int16(0) + string("p") + int32(1) + string(None) * 2 + int32(1 << 30),
            "value: 1073741824 elements in the 0 bytes that remain",
        ),
        (
            int16(3) + string("g"),
            int16(0) + int32(1) + tagged({0: b"1234"}),
            "value: metadataHash: 8 bytes are needed at position 0, 4 remain",
        ),
        (
            int16(3) + string("g"),
            int16(0) + int32(1) + tagged({0: b"123456789"}),
            "value: metadataHash: 1 bytes remain after position 8",
        ),
        (
            int16(3) + string("g"),
            int16(0) + int32(1) + b"\xff\xff\xff\xff\xff\x00",
            "value: a varint before 11 is too long",
        ),
        (
            int16(3) + string("g"),
            int16(0) + int32(1) + b"\xff\xff\xff\xff\x0f",
            "value: a varint before 11 is too long",
        ),
    ],
)
def test_bytes_that_are_no_record_are_said_to_be_none(
    key: bytes | None, value: bytes | None, reason: str
) -> None:
    record = group_record(key, value)
    assert record.unread_reason == reason
    assert record.is_tombstone == (value is None)
