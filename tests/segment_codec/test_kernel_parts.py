"""The parts that compiled loops are made of, against their plain counterparts."""

import random
import zlib

import numpy as np
import pytest

from seglake.segment_codec import _checksum, _kernel_parts, _varint
from seglake.segment_codec.errors import DefectError
from support.encoder import varint

EDGES = sorted(
    {sign * (1 << bits) + near for bits in range(63) for sign in (1, -1) for near in (-1, 0, 1)}
    | {(1 << 63) - 1, -(1 << 63)}
)
VARINTS = [number for number in EDGES if -(1 << 31) <= number < 1 << 31]


def array(data: bytes) -> "np.typing.NDArray[np.uint8]":
    return np.frombuffer(data, np.uint8)


def test_crc32_of_the_kernels_is_that_of_zlib() -> None:
    for length in (*range(65), 255, 1000, 4099):
        data = random.Random(length).randbytes(length + 7)
        for start in (0, 1, 7):
            expected = zlib.crc32(data[start : start + length])
            assert int(_kernel_parts.crc32(array(data), start, start + length)) == expected


def test_checksums_have_their_check_values() -> None:
    assert _checksum.crc32(b"123456789") == 0xCBF43926
    assert _checksum.crc32c(b"123456789") == 0xE3069283
    assert _checksum.crc32(b"56789", _checksum.crc32(b"1234")) == 0xCBF43926
    assert _checksum.crc32c(b"56789", _checksum.crc32c(b"1234")) == 0xE3069283


def test_varint_at_every_boundary() -> None:
    for number in VARINTS:
        data = b"\xff" + varint(number) + b"\xff"
        assert _varint.read_varint(data, 1, len(data)) == (number, len(data) - 1)
        found = _kernel_parts.varint(array(data), 1, len(data))
        assert tuple(map(int, found)) == (number, len(data) - 1)


def test_varlong_at_every_boundary() -> None:
    for number in EDGES:
        data = b"\xff" + varint(number) + b"\xff"
        assert _varint.read_varlong(data, 1, len(data)) == (number, len(data) - 1)
        found = _kernel_parts.varlong(array(data), 1, len(data))
        assert tuple(map(int, found)) == (number, len(data) - 1)


@pytest.mark.parametrize(("name", "most"), [("varint", 5), ("varlong", 10)])
def test_varint_that_is_cut_or_too_long_is_refused(name: str, most: int) -> None:
    read, kernel = getattr(_varint, f"read_{name}"), getattr(_kernel_parts, name)
    for length in range(most + 3):
        data = b"\x80" * length + b"\0"
        for stop in range(length + 2):
            is_whole = stop == length + 1 <= most
            end = int(kernel(array(data), 0, stop)[1])
            assert end == (stop if is_whole else -1)
            if is_whole:
                assert read(data, 0, stop) == (0, stop)
            else:
                with pytest.raises(DefectError):
                    read(data, 0, stop)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\x1f", b"\xff\xff\xff\xff\x7f"])
def test_bits_above_the_32nd_are_dropped_as_in_java(data: bytes) -> None:
    assert _varint.read_varint(data, 0, 5) == (-(1 << 31), 5)
    assert tuple(map(int, _kernel_parts.varint(array(data), 0, 5))) == (-(1 << 31), 5)


@pytest.mark.parametrize("number", [0, 1, -1, (1 << 31) - 1, -(1 << 31), 0x01020304])
def test_big_endian_integers(number: int) -> None:
    assert (
        int(_kernel_parts.int32(array(b"\xff" + number.to_bytes(4, "big", signed=True)), 1))
        == number
    )
    wide = number << 32
    assert (
        int(_kernel_parts.int64(array(b"\xff" + wide.to_bytes(8, "big", signed=True)), 1)) == wide
    )
