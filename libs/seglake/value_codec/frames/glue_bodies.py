"""Decompresses bodies in frames of AWS Glue, up to a limit."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.value_codec.frames.bodies import Bodies, bodies_of_bytes
from seglake.value_codec.reject_reasons import RejectReason

MOST_BODY_BYTES = 64 << 20
"""Highest accepted size of a decompressed body, in bytes; a larger one is rejected."""

_BATCH_BYTES = 64 << 20  # decompressed bytes in a batch, besides the last body


class PlainBodies(NamedTuple):
    """Decompressed bodies.

    Attributes:
        rows: index of each body among the bodies to decompress.
        bodies: the bodies that decompress.
        problems: why the other bodies of the batch do not decompress, by index.
    """

    rows: NDArray[np.int64]
    bodies: Bodies
    problems: dict[int, RejectReason]


def decompressed(packed: Bodies) -> Iterator[PlainBodies]:
    """Yield bodies in batches of bounded size; each packed body is one whole zlib stream."""
    parts: list[bytes] = []
    rows: list[int] = []
    problems: dict[int, RejectReason] = {}
    held = 0
    for row, (start, end) in enumerate(zip(packed.starts, packed.ends, strict=True)):
        found = _inflated(packed.data[start:end])
        if isinstance(found, RejectReason):
            problems[row] = found
        else:
            parts.append(found)
            rows.append(row)
            held += len(found)
        if held > _BATCH_BYTES or row == len(packed.starts) - 1:
            yield PlainBodies(np.array(rows, np.int64), bodies_of_bytes(parts), problems)
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
