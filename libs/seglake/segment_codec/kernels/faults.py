"""Statuses that the compiled loops return for units, with the defect code and text of each.

This module does not import numba.
"""

from seglake.segment_codec.formats.errors import DefectCode

# Kernel functions return the index after the bytes read, or a negative number: a status.
OK = 0
VARINT = 1
RECORD_LENGTH = 2
CONTRADICTED = 3  # no fault: records are valid, but have other offsets than the header
KEY_LENGTH = 4
VALUE_LENGTH = 5
HEADER_COUNT = 6
HEADER_KEY_LENGTH = 7
HEADER_VALUE_LENGTH = 8
RECORD_REST = 9
TOO_FEW_RECORDS = 10
TOO_MANY_BYTES = 11
INNER_CRC = 12
NESTED = 13
INNER_SIZE = 14
INNER_CUT = 15
INNER_MAGIC = 16
MESSAGE_LENGTHS = 17
INNER_OFFSETS = 18
WRAPPER_OFFSET = 19
REPEATED_OFFSETS = 20

_MALFORMED = DefectCode.MALFORMED_RECORD
_MISCOUNTED = DefectCode.RECORD_COUNT_MISMATCH

FAULTS: dict[int, tuple[DefectCode, str]] = {
    VARINT: (_MALFORMED, "a varint is cut off or too long"),
    RECORD_LENGTH: (_MALFORMED, "a record's length does not fit"),
    KEY_LENGTH: (_MALFORMED, "a key is longer than its record"),
    VALUE_LENGTH: (_MALFORMED, "a value is longer than its record"),
    HEADER_COUNT: (_MALFORMED, "a header count is negative or too large"),
    HEADER_KEY_LENGTH: (_MALFORMED, "a header's key is null or longer than its record"),
    HEADER_VALUE_LENGTH: (_MALFORMED, "a header's value is longer than its record"),
    RECORD_REST: (_MALFORMED, "a record is longer than its fields"),
    TOO_FEW_RECORDS: (_MISCOUNTED, "the payload has fewer records than the header states"),
    TOO_MANY_BYTES: (_MISCOUNTED, "bytes remain after the last record"),
    INNER_CRC: (DefectCode.INNER_CRC_MISMATCH, "an inner message fails its checksum"),
    NESTED: (DefectCode.NESTED_WRAPPER, "an inner message is itself a wrapper"),
    INNER_SIZE: (_MALFORMED, "an inner message's size is too small"),
    INNER_CUT: (_MALFORMED, "the last inner message is truncated"),
    INNER_MAGIC: (_MALFORMED, "an inner message has a magic above 1"),
    MESSAGE_LENGTHS: (_MALFORMED, "key and value do not fill an inner message"),
    INNER_OFFSETS: (
        DefectCode.OFFSET_OUT_OF_ORDER,
        "the offsets of inner messages do not rise from 0 on",
    ),
    WRAPPER_OFFSET: (_MALFORMED, "the wrapper's offset does not fit that of its last message"),
    REPEATED_OFFSETS: (DefectCode.OFFSET_OUT_OF_ORDER, "batches before it have these offsets"),
}
