"""Compiles the kernels into numba's cache, so that no first run waits for it.

python -m seglake.segment_codec.warm

The cache is beside the code, or where NUMBA_CACHE_DIR says. It is valid for the processor that it
was made on or, with NUMBA_CPU_NAME=generic here and later, for every one of the platform. numba
uses no cache that it cannot write to: copy a read-only one first.
"""

import struct

from seglake.segment_codec._checksum import crc32c
from seglake.segment_codec.columns import ColumnBuilder
from seglake.segment_codec.offset_order import OffsetOrder
from seglake.segment_codec.segment import Defect, SegmentBounds, SegmentWalk, Tail
from seglake.segment_codec.window import BytesSource, Window


def warm() -> None:
    """Walk and decode a handful of bytes that run all kernels."""
    record = b"\x0e\x00\x00\x00\x02k\x01\x00"
    tail = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + record
    batch = struct.pack(">qiibI", 0, 9 + len(tail), 0, 2, crc32c(tail)) + tail
    message = bytes.fromhex("000000000000000700000010fd6ebddb0000ffffffff000000026869")
    content = batch + b"\x7f" * 64 + message
    bounds = SegmentBounds(0, 1 << 31, is_last=True, durable_offset=0)
    builder = ColumnBuilder(1 << 20)
    for item in SegmentWalk(Window(BytesSource(content)), bounds, OffsetOrder(0)).items():
        if isinstance(item, Defect | Tail):
            continue
        if not builder.accepts(item):
            builder.flush()
        builder.add(item, 0, 1 << 31)
    builder.flush()


if __name__ == "__main__":
    warm()
