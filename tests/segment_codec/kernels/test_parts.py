"""The parts that compiled loops are made of, against their plain counterparts."""

import random
import zlib
from typing import Any

import numba
import numpy as np
import pytest

from seglake.segment_codec.kernels import parts


def from_python(part: Any) -> Any:
    """Python cannot call the parts of kernels, but another kernel can."""
    return numba.njit(lambda *arguments: part(*arguments))


PARTS = {name: from_python(getattr(parts, name)) for name in ("int32", "int64", "crc32")}


def array(data: bytes) -> "np.typing.NDArray[np.uint8]":
    return np.frombuffer(data, np.uint8)


def test_crc32_of_the_kernels_is_that_of_zlib() -> None:
    for length in (*range(65), 255, 1000, 4099):
        data = random.Random(length).randbytes(length + 7)
        for start in (0, 1, 7):
            expected = zlib.crc32(data[start : start + length])
            assert int(PARTS["crc32"](array(data), start, start + length)) == expected


@pytest.mark.parametrize("number", [0, 1, -1, (1 << 31) - 1, -(1 << 31), 0x01020304])
def test_big_endian_integers(number: int) -> None:
    assert int(PARTS["int32"](array(b"\xff" + number.to_bytes(4, "big", signed=True)), 1)) == number
    wide = number << 32
    assert int(PARTS["int64"](array(b"\xff" + wide.to_bytes(8, "big", signed=True)), 1)) == wide
