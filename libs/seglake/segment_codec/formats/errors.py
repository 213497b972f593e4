"""Kinds of damage, as closed lists, and the library's exceptions.

Bad bytes end as values: a `Defect` or a `Tail`, with a code from here. Inside the library they
travel as `DefectError`, which the walk never raises. Wrong calls and a source that changes while it
is read raise other children of `SegmentCodecError`.
"""

from enum import StrEnum


class DefectCode(StrEnum):
    """Reasons why bytes are not records: a closed list, in the order of the checks."""

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
"""A code, and the details in words."""


class TailKind(StrEnum):
    """Kinds of an undamaged end of a partition's last segment that is not a whole batch."""

    TORN = "tail_torn"
    ZERO = "tail_zero"
    UNFLUSHED = "tail_unflushed"


class SegmentCodecError(Exception):
    """Base of every exception of this library."""


class OutOfBoundsError(SegmentCodecError):
    """A read outside the file: a mistake of the caller, not damage."""

    def __init__(self, *, position: int, length: int, size_bytes: int) -> None:
        """Keep the facts as attributes.

        Args:
            position: first byte of the read.
            length: bytes of the read.
            size_bytes: size of the file.
        """
        self.position = position
        self.length = length
        self.size_bytes = size_bytes
        super().__init__(
            f"bytes [{position}, {position + length}) lie outside a file of {size_bytes} bytes"
        )


class SourceChangedError(SegmentCodecError):
    """A source returned fewer bytes than its size promised: it changed while it was read."""

    def __init__(self, *, position: int, expected_bytes: int, read_bytes: int) -> None:
        """Keep the facts as attributes.

        Args:
            position: first byte of the read.
            expected_bytes: bytes that the size of the source promised.
            read_bytes: bytes that the source returned.
        """
        self.position = position
        self.expected_bytes = expected_bytes
        self.read_bytes = read_bytes
        super().__init__(
            f"at position {position} {expected_bytes} bytes were expected and {read_bytes} came: "
            "the file changed while it was read"
        )


class DefectError(SegmentCodecError):
    """Bytes that cannot be decoded, with the code under which they will be quarantined."""

    def __init__(self, code: DefectCode, detail: str) -> None:
        """Keep the facts as attributes.

        Args:
            code: the kind of damage.
            detail: the reason, in words.
        """
        self.code = code
        self.detail = detail
        super().__init__(f"{code}: {detail}")


def malformed(detail: str) -> DefectError:
    """Return the defect of bytes that do not fit their layout; `detail` says why."""
    return DefectError(DefectCode.MALFORMED_RECORD, detail)


def limit_exceeded(max_bytes: int) -> DefectError:
    """Return the defect of a payload that would expand to more than `max_bytes`."""
    return DefectError(
        DefectCode.DECOMPRESSION_LIMIT,
        f"the payload expands to more than {max_bytes} bytes (limits.max_decompressed_batch_bytes)",
    )


class MessageError(SegmentCodecError):
    """A record of an internal topic that does not fit its layout although its checksum is right."""
