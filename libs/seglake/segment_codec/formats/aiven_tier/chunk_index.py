"""Positions of a segment's chunks in the original segment and in the object.

The segment is split into chunks of one size; the last may be shorter. Each chunk may have been
compressed and encrypted; the results are concatenated in the object.

Sizes of compressed chunks, big-endian::

    count  i32   0: end
    count 1:  last i32
    count 2+: base i32, width i8 (1 to 4), (count - 1) x unsigned of `width` bytes, last i32

Each size except the last one is `base` plus its unsigned number.

Source: Aiven-Open/tiered-storage-for-apache-kafka 8fb1581, ChunkSizesBinaryCodec.java,
FixedSizeChunkIndex.java and VariableSizeChunkIndex.java.
"""

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError

_INT32 = struct.Struct(">i")
_BASE = struct.Struct(">ib")
_WIDTHS = range(1, 5)


class Chunk(NamedTuple):
    """Position of one chunk.

    Attributes:
        position: first byte in the original segment.
        size_bytes: size in the original segment.
        stored_position: first byte in the object.
        stored_bytes: size in the object.
    """

    position: int
    size_bytes: int
    stored_position: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Positions of all chunks of a segment.

    Attributes:
        chunk_bytes: size of each chunk except the last one, in the original segment.
        size_bytes: size of the original segment.
        stored_starts: position of each chunk in the object.
        stored_bytes: size of the object.
    """

    chunk_bytes: int
    size_bytes: int
    stored_starts: Sequence[int] = field(hash=False, repr=False)
    stored_bytes: int

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.stored_starts)

    def at(self, position: int) -> int:
        """Return the number of the chunk that contains a position of the original segment."""
        return position // self.chunk_bytes

    def chunk(self, number: int) -> Chunk:
        """Return the positions of the chunk with this number; the first is 0."""
        position, stored = number * self.chunk_bytes, self.stored_starts[number]
        is_last = number + 1 == len(self)
        stored_stop = self.stored_bytes if is_last else self.stored_starts[number + 1]
        return Chunk(
            position=position,
            size_bytes=min(self.chunk_bytes, self.size_bytes - position),
            stored_position=stored,
            stored_bytes=stored_stop - stored,
        )


def fixed_index(chunk_bytes: int, size_bytes: int, stored: int, last: int) -> ChunkIndex:
    """Make the index of chunks with the same size in the object, except the last one.

    Args:
        chunk_bytes: size of a chunk in the original segment, above 0.
        size_bytes: size of the original segment.
        stored: size of a chunk in the object, above 0.
        last: size of the last chunk in the object.
    """
    count = chunk_count(chunk_bytes, size_bytes)
    starts = range(0, stored * count, stored)
    return ChunkIndex(chunk_bytes, size_bytes, starts, starts[-1] + last if count else 0)


def variable_index(chunk_bytes: int, size_bytes: int, packed: bytes) -> ChunkIndex:
    """Make the index of chunks whose sizes in the object are given in binary form.

    Args:
        chunk_bytes: size of a chunk in the original segment, above 0.
        size_bytes: size of the original segment.
        packed: the binary form.

    Raises:
        TierObjectError: the binary form is damaged, or has a wrong number of sizes.
    """
    sizes = packed_sizes(packed, chunk_count(chunk_bytes, size_bytes))
    if any(size < 0 for size in sizes):
        raise TierObjectError(f"a chunk has the size {min(sizes)}")
    starts = array("q", accumulate(sizes, initial=0))
    return ChunkIndex(chunk_bytes, size_bytes, starts, starts.pop())


def chunk_count(chunk_bytes: int, size_bytes: int) -> int:
    """Return the number of chunks of a segment."""
    return -(-size_bytes // chunk_bytes)


def packed_sizes(data: bytes, count: int) -> "array[int]":
    """Decode the sizes of a segment's compressed chunks.

    Args:
        data: the whole binary form.
        count: the number of chunks that the segment has.

    Raises:
        TierObjectError: the bytes have another form, or a wrong number of sizes.
    """
    try:
        (found,) = _INT32.unpack_from(data)
        if found != count:
            raise TierObjectError(f"the list has sizes of {found} chunks, expected {count}")
        if count == 0:
            return _whole(data, _INT32.size, array("q"))
        return _whole(data, *_sizes(data, count))
    except struct.error:
        raise TierObjectError("the list of chunk sizes is truncated") from None


def _whole(data: bytes, stop: int, sizes: "array[int]") -> "array[int]":
    """Return `sizes` if their encoding ends exactly at `stop`; else raise TierObjectError."""
    if stop != len(data):
        raise TierObjectError(f"the list of chunk sizes has {len(data)} bytes, expected {stop}")
    return sizes


def _sizes(data: bytes, count: int) -> "tuple[int, array[int]]":
    """Parse the encoded sizes of `count` chunks; return the end of their bytes, and the sizes."""
    position, sizes = _INT32.size, array("q")
    if count > 1:
        base, width = _BASE.unpack_from(data, position)
        if width not in _WIDTHS:
            raise TierObjectError(f"chunk sizes of {width} bytes each, expected 1 to 4")
        start = position + _BASE.size
        position = start + width * (count - 1)
        _INT32.unpack_from(data, position)  # the length was checked above
        sizes.extend(
            base + int.from_bytes(data[at : at + width], "big")
            for at in range(start, position, width)
        )
    sizes.append(_INT32.unpack_from(data, position)[0])
    return position + _INT32.size, sizes
