"""Custom metadata: the plugin's own bytes, and others."""

import pytest

from seglake.segment_codec.formats.aiven_tier.custom_metadata import custom_metadata
from seglake.segment_codec.formats.errors import MessageError

_KEY = b"plain-BGL1s22hRCS3TSXe7CKMuw/1/00000000000000000000-Ya8ZmkJhQs-9oyjyrBpHsA"
_PREFIX = b"some/prefix/"
_SIZE = bytes.fromhex("0002fc24")


def field(tag: int, text: bytes) -> bytes:
    return bytes([tag, len(text) + 1, len(text) + 1]) + text


def test_bytes_of_the_plugin_are_read() -> None:
    data = b"\3" + _SIZE + field(1, _PREFIX) + field(2, _KEY)
    assert custom_metadata(data) == (_PREFIX.decode(), _KEY.decode())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\0", (None, None)),
        (b"\1" + _SIZE, (None, None)),
        (b"\1" + field(1, b""), ("", None)),
        (b"\1\2\1\0", (None, None)),
        (b"\2" + field(2, _KEY) + field(9, b"later"), (None, _KEY.decode())),
    ],
)
def test_each_field_may_be_absent(data: bytes, expected: tuple[str | None, str | None]) -> None:
    assert custom_metadata(data) == expected


@pytest.mark.parametrize("data", [b"", b"\1", b"\1\2\5\5abc", b"\1\2\3\5abc", b"\0\0", b"\xff" * 6])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MessageError):
        custom_metadata(data)
