"""Decompresses bodies in frames of AWS Glue, up to a limit."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.reject_reasons import RejectReason

MOST_BODY_BYTES = 64 << 20
"""Highest accepted size of a decompressed body, in bytes; a larger one is rejected."""

_BATCH_BYTES = 64 << 20  # decompressed bytes in a batch, besides the last body


class PlainBodies(NamedTuple):
    """Decompressed bodies.

    Attributes:
        rows: index of each body among the bodies to decompress.
        data: bytes of the bodies.
        starts: index of each body's first byte.
        ends: index after each body's last byte.
        problems: why the other bodies of the batch do not decompress, by index.
    """

    rows: NDArray[np.int64]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    problems: dict[int, RejectReason]


def decompressed(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Iterator[PlainBodies]:
    """Yield bodies in batches of bounded size; each body is one whole zlib stream.

    Args:
        data: bytes of all bodies.
        starts: index of each body's first byte.
        ends: index after each body's last byte.
    """
    parts: list[bytes] = []
    rows: list[int] = []
    problems: dict[int, RejectReason] = {}
    held = 0
    for row in range(len(starts)):
        found = _inflated(data[starts[row] : ends[row]])
        if isinstance(found, RejectReason):
            problems[row] = found
        else:
            parts.append(found)
            rows.append(row)
            held += len(found)
        if held > _BATCH_BYTES or row == len(starts) - 1:
            edges = np.cumsum([0, *map(len, parts)], dtype=np.int64)
            content = np.frombuffer(b"".join(parts), np.uint8)
            yield PlainBodies(np.array(rows, np.int64), content, edges[:-1], edges[1:], problems)
            parts, rows, problems, held = [], [], {}, 0


def _inflated(stream: NDArray[np.uint8]) -> bytes | RejectReason:
    """Return the content of a zlib stream, or the reason to reject it."""
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(stream.tobytes(), MOST_BODY_BYTES + 1)
    except zlib.error:
        return RejectReason.COMPRESSED_FRAME_BAD
    if len(found) > MOST_BODY_BYTES:
        return RejectReason.TOO_LARGE
    if not reader.eof or reader.unused_data:
        return RejectReason.COMPRESSED_FRAME_BAD
    return found
