"""Checksums against their published check values."""

from seglake.segment_codec.formats import checksum as _checksum


def test_checksums_have_their_check_values() -> None:
    assert _checksum.crc32(b"123456789") == 0xCBF43926
    assert _checksum.crc32c(b"123456789") == 0xE3069283
    assert _checksum.crc32(b"56789", _checksum.crc32(b"1234")) == 0xCBF43926
    assert _checksum.crc32c(b"56789", _checksum.crc32c(b"1234")) == 0xE3069283
