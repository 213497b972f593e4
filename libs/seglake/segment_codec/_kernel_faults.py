"""What the statuses of the compiled loops mean: the code of the defect, and a text for a person."""

from seglake.segment_codec import _kernel_parts as parts
from seglake.segment_codec.errors import DefectCode

_MALFORMED = DefectCode.MALFORMED_RECORD
_MISCOUNTED = DefectCode.RECORD_COUNT_MISMATCH

FAULTS: dict[int, tuple[DefectCode, str]] = {
    parts.VARINT: (_MALFORMED, "a varint is cut off or too long"),
    parts.RECORD_LENGTH: (_MALFORMED, "a record's length does not fit"),
    parts.OFFSET_DELTA: (_MALFORMED, "an offset delta does not rise, or is above the last one"),
    parts.KEY_LENGTH: (_MALFORMED, "a key is longer than its record"),
    parts.VALUE_LENGTH: (_MALFORMED, "a value is longer than its record"),
    parts.HEADER_COUNT: (_MALFORMED, "a header count is negative or too large"),
    parts.HEADER_KEY_LENGTH: (_MALFORMED, "a header's key is null or longer than its record"),
    parts.HEADER_VALUE_LENGTH: (_MALFORMED, "a header's value is longer than its record"),
    parts.RECORD_REST: (_MALFORMED, "a record is longer than what it holds"),
    parts.TOO_FEW_RECORDS: (_MISCOUNTED, "the payload holds fewer records than the header says"),
    parts.TOO_MANY_BYTES: (_MISCOUNTED, "bytes are left after the last record"),
    parts.INNER_CRC: (DefectCode.INNER_CRC_MISMATCH, "an inner message fails its checksum"),
    parts.NESTED: (DefectCode.NESTED_WRAPPER, "an inner message is a wrapper itself"),
    parts.INNER_SIZE: (_MALFORMED, "an inner message's size is too small"),
    parts.INNER_CUT: (_MALFORMED, "the last inner message is cut"),
    parts.INNER_MAGIC: (_MALFORMED, "an inner message has a magic above 1"),
    parts.MESSAGE_LENGTHS: (_MALFORMED, "key and value do not use up an inner message"),
    parts.INNER_OFFSETS: (_MALFORMED, "the offsets of inner messages do not rise"),
    parts.REPEATED_OFFSETS: (
        DefectCode.OFFSET_OUT_OF_ORDER,
        "a wrapper begins below the end of what came before it",
    ),
    parts.WRAPPER_OFFSET: (_MALFORMED, "the wrapper's offset is not that of its last message"),
}
