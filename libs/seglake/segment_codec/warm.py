"""Compiles the kernels into numba's cache before the first run.

    python -m seglake.segment_codec.warm

The cache is beside the code, or in NUMBA_CACHE_DIR. It is valid for this processor only. If
NUMBA_CPU_NAME=generic is set here and in later runs, it is valid for all processors of the
platform. numba ignores a read-only cache, so copy the cache to a writable folder first.
"""

import gzip
import struct
import zlib

from seglake.segment_codec.formats.checksum import CASTAGNOLI, crc32c
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.columns import ColumnBuilder
from seglake.segment_codec.kernels.parts import product
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import BytesSource, Window

_LIMIT_OFFSET = 1 << 31
_MOST_BYTES = 1 << 20


def warm() -> None:
    """Compile all kernels, by walking and decoding a few bytes that call each of them."""
    damaged = _message(0, b"hi", 0) + _message(1, b"hi", 0)[:-1] + b"?"
    wrapper = _message(9, gzip.compress(damaged), 1)
    content = b"".join(map(_batch, range(4))) + b"\x7f" * 64 + _message(7, b"hi", 0) + wrapper
    bounds = SegmentBounds.of_search(0, _LIMIT_OFFSET)
    product(1, 1, CASTAGNOLI)
    for compares_neighbours in (False, True):
        walk = SegmentWalk(
            Window(BytesSource(content)),
            bounds,
            OffsetOrder(0),
            compares_neighbours=compares_neighbours,
        )
        builder = ColumnBuilder(_MOST_BYTES)
        for item in walk.items() if compares_neighbours else walk.runs():
            if isinstance(item, Defect | Tail):
                continue
            if not builder.accepts(item):
                builder.flush()
            if isinstance(item, BatchRun):
                builder.add_run(item, 0, _LIMIT_OFFSET, _MOST_BYTES)
            else:
                builder.add(item, 0, _LIMIT_OFFSET)
        builder.flush()


def _batch(offset: int) -> bytes:
    """Return the bytes of a valid batch with one record."""
    record = b"\x0e\x00\x00\x00\x02k\x01\x00"
    tail = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + record
    return struct.pack(">qiibI", offset, 9 + len(tail), 0, 2, crc32c(tail)) + tail


def _message(offset: int, value: bytes, codec_id: int) -> bytes:
    """Return the bytes of a message of magic 1, or of a wrapper if a codec is given."""
    body = struct.pack(">bbqii", 1, codec_id, 0, -1, len(value)) + value
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


if __name__ == "__main__":
    warm()
