"""Kinds of damage, and the exceptions of this library.

The walk returns bad bytes as values, a `Defect` or a `Tail` with a code from here, and never raises
`DefectError`; decoding functions do. Wrong calls, and a source that changes while it is read, raise
other subclasses of `SegmentCodecError`.
"""

from enum import StrEnum


class DefectCode(StrEnum):
    """Kind of a defect, in the order in which the checks find them."""

    TIER_CHUNK_BAD = "tier_chunk_bad"
    BAD_LENGTH = "bad_length"
    ZERO_FILLED = "zero_filled"
    TRUNCATED_BATCH = "truncated_batch"
    UNSUPPORTED_MAGIC = "unsupported_magic"
    CRC_MISMATCH = "crc_mismatch"
    UNSUPPORTED_CODEC = "unsupported_codec"
    DECOMPRESSION_FAILED = "decompression_failed"
    DECOMPRESSION_LIMIT = "decompression_limit"
    RECORD_COUNT_MISMATCH = "record_count_mismatch"
    MALFORMED_RECORD = "malformed_record"
    INNER_CRC_MISMATCH = "inner_crc_mismatch"
    NESTED_WRAPPER = "nested_wrapper"
    OFFSET_OUT_OF_SEGMENT = "offset_out_of_segment"
    OFFSET_OUT_OF_ORDER = "offset_out_of_order"
    OFFSET_CONTRADICTED = "offset_contradicted"
    REPLICA_CONFLICT = "replica_conflict"


Fault = tuple[DefectCode, str]
"""A defect code, and the reason as text."""


class TailKind(StrEnum):
    """Kind of undamaged bytes after a segment's last batch."""

    TORN = "tail_torn"
    ZERO = "tail_zero"
    UNFLUSHED = "tail_unflushed"


class SegmentCodecError(Exception):
    """Base of all exceptions of `segment_codec`."""


class OutOfBoundsError(SegmentCodecError):
    """Error for a read outside the file: a programming error, not damage."""

    def __init__(self, *, position: int, length: int, size_bytes: int) -> None:
        """Make the message.

        Args:
            position: first byte of the read.
            length: bytes of the read.
            size_bytes: size of the file.
        """
        super().__init__(
            f"bytes [{position}, {position + length}) are outside a file of {size_bytes} bytes"
        )


class SourceChangedError(SegmentCodecError):
    """Error for a source that returned fewer bytes than its size: it changed while it was read."""

    def __init__(self, *, position: int, expected_bytes: int, read_bytes: int) -> None:
        """Make the message.

        Args:
            position: first byte of the read.
            expected_bytes: bytes expected by the size of the source.
            read_bytes: bytes that the source returned.
        """
        super().__init__(
            f"{read_bytes} of {expected_bytes} bytes could be read at position {position}: the "
            "file changed while it was read"
        )


class DefectError(SegmentCodecError):
    """Error for bytes that cannot be decoded, with the code for their row in `quarantine`."""

    def __init__(self, code: DefectCode, detail: str) -> None:
        """Store code and reason.

        Args:
            code: the kind of damage.
            detail: the reason, as text.
        """
        self.code = code
        self.detail = detail
        super().__init__(f"{code}: {detail}")


def malformed(detail: str) -> DefectError:
    """Return the error for bytes that do not fit their layout, with the reason as text."""
    return DefectError(DefectCode.MALFORMED_RECORD, detail)


def limit_exceeded(max_bytes: int) -> DefectError:
    """Return the error for a payload that expands to more than `max_bytes`."""
    return DefectError(
        DefectCode.DECOMPRESSION_LIMIT,
        f"the payload expands to more than {max_bytes} bytes (limits.max_decompressed_batch_bytes)",
    )


class MessageError(SegmentCodecError):
    """A record of an internal topic does not fit its layout, though its checksum is valid."""
