"""Decompresses bodies in frames of AWS Glue, up to a limit."""

import zlib

from seglake.value_codec.reject_reasons import RejectReason

MOST_BODY_BYTES = 64 << 20
"""Highest accepted size of a decompressed body, in bytes; a larger one is rejected."""


def decompressed(stream: bytes) -> bytes | RejectReason:
    """Return the content of a body, which is one whole zlib stream, or the reason to reject it."""
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(stream, MOST_BODY_BYTES + 1)
    except zlib.error:
        return RejectReason.COMPRESSED_FRAME_BAD
    if len(found) > MOST_BODY_BYTES:
        return RejectReason.TOO_LARGE
    if not reader.eof or reader.unused_data:
        return RejectReason.COMPRESSED_FRAME_BAD
    return found
