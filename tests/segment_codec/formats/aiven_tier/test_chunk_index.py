"""Sizes of chunks: the plugin's own bytes, all widths, and hostile ones."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.aiven_tier.chunk_index import (
    fixed_index,
    packed_sizes,
    variable_index,
)
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from support import aiven_objects

_PLUGIN = bytes.fromhex("00000005000001680100" + "0e424e" + "00000134")


def test_sizes_of_the_plugin_are_read() -> None:
    assert list(packed_sizes(_PLUGIN, 5)) == [360, 374, 426, 438, 308]


@given(
    sizes=st.lists(st.integers(0, 2**31 - 1), max_size=9),
    width=st.sampled_from([None, 4]),
)
def test_every_width_is_read(sizes: list[int], width: int | None) -> None:
    packed = aiven_objects.packed_sizes(sizes, width)
    assert list(packed_sizes(packed, len(sizes))) == sizes


@pytest.mark.parametrize(
    "data",
    [
        b"",
        _PLUGIN[:3],
        _PLUGIN[:-1],
        _PLUGIN + b"\0",
        struct.pack(">iib", 5, 360, 0) + bytes(20),
        struct.pack(">iib", 5, 360, 5) + bytes(24),
        struct.pack(">iib", 5, 360, -1) + bytes(24),
        struct.pack(">ii", 1, 360),
        struct.pack(">i", 0),
        struct.pack(">i", -1),
    ],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(TierObjectError):
        packed_sizes(data, 5)


def test_negative_size_is_refused() -> None:
    packed = struct.pack(">iib", 3, -9, 1) + b"\1\2" + struct.pack(">i", 4)
    with pytest.raises(TierObjectError, match="a chunk has the size -8"):
        variable_index(10, 30, packed)


def test_places_follow_each_other() -> None:
    index = variable_index(10, 25, aiven_objects.packed_sizes([7, 9, 3]))
    assert [tuple(index.chunk(number)) for number in range(len(index))] == [
        (0, 10, 0, 7),
        (10, 10, 7, 9),
        (20, 5, 16, 3),
    ]
    assert (index.stored_bytes, index.at(19), index.at(20)) == (19, 1, 2)


def test_two_billion_chunks_need_no_memory() -> None:
    index = fixed_index(1, 2**31 - 1, 29, 29)
    assert index.stored_bytes == 29 * (2**31 - 1)
    assert tuple(index.chunk(len(index) - 1)) == (2**31 - 2, 1, 29 * (2**31 - 2), 29)
