"""Varints, read by the plain decoder and by the compiled one alike."""

from typing import Any

import numba
import numpy as np
import pytest

from seglake.segment_codec.formats import varints
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.kernels import parts
from support.encoder import varint

EDGES = sorted(
    {sign * (1 << bits) + near for bits in range(63) for sign in (1, -1) for near in (-1, 0, 1)}
    | {(1 << 63) - 1, -(1 << 63)}
)


VARINTS = [number for number in EDGES if -(1 << 31) <= number < 1 << 31]


def from_python(part: Any) -> Any:
    """Python cannot call the parts of kernels, but another kernel can."""
    return numba.njit(lambda *arguments: part(*arguments))


PARTS = {name: from_python(getattr(parts, name)) for name in ("varint", "varlong")}


def array(data: bytes) -> "np.typing.NDArray[np.uint8]":
    return np.frombuffer(data, np.uint8)


def test_varint_at_every_boundary() -> None:
    for number in VARINTS:
        data = b"\xff" + varint(number) + b"\xff"
        assert varints.read_varint(data, 1, len(data)) == (number, len(data) - 1)
        found = PARTS["varint"](array(data), 1, len(data))
        assert tuple(map(int, found)) == (number, len(data) - 1)


def test_varlong_at_every_boundary() -> None:
    for number in EDGES:
        data = b"\xff" + varint(number) + b"\xff"
        assert varints.read_varlong(data, 1, len(data)) == (number, len(data) - 1)
        found = PARTS["varlong"](array(data), 1, len(data))
        assert tuple(map(int, found)) == (number, len(data) - 1)


@pytest.mark.parametrize(("name", "most"), [("varint", 5), ("varlong", 10)])
def test_varint_that_is_cut_or_too_long_is_refused(name: str, most: int) -> None:
    read, kernel = getattr(varints, f"read_{name}"), PARTS[name]
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
    assert varints.read_varint(data, 0, 5) == (-(1 << 31), 5)
    assert tuple(map(int, PARTS["varint"](array(data), 0, 5))) == (-(1 << 31), 5)
