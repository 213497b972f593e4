"""The checksum of a plain message of the old formats is that of its bytes."""

import pytest

from seglake.segment_codec.formats.message_set import message_checksum
from support.encoder import Record, messages


@pytest.mark.parametrize("append_time_ms", [None, 1_700_000_000_123])
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(
    ("key", "value"), [(None, None), (b"", b""), (b"k", None), (None, b"v" * 300)]
)
def test_the_checksum_is_that_of_the_encoded_message(
    key: bytes | None, value: bytes | None, magic: int, append_time_ms: int | None
) -> None:
    record = Record(key, value, 1_699_999_999_999)
    time_ms = append_time_ms if magic == 1 else None
    (made,) = messages(7, [record], magic, log_append_time_ms=time_ms)
    expected = int.from_bytes(made.data[12:16], "big")
    found = message_checksum(
        magic,
        key,
        value,
        record.timestamp_ms if time_ms is None else time_ms,
        is_append_time=time_ms is not None,
    )
    assert found == expected
