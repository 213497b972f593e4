"""What the statuses of the compiled loops mean: the code of the defect, and a text for a person."""

from seglake.segment_codec import _kernel_statuses as statuses
from seglake.segment_codec.errors import DefectCode

_MALFORMED = DefectCode.MALFORMED_RECORD
_MISCOUNTED = DefectCode.RECORD_COUNT_MISMATCH

FAULTS: dict[int, tuple[DefectCode, str]] = {
    statuses.VARINT: (_MALFORMED, "a varint is cut off or too long"),
    statuses.RECORD_LENGTH: (_MALFORMED, "a record's length does not fit"),
    statuses.OFFSET_DELTA: (_MALFORMED, "an offset delta does not rise, or is above the last one"),
    statuses.KEY_LENGTH: (_MALFORMED, "a key is longer than its record"),
    statuses.VALUE_LENGTH: (_MALFORMED, "a value is longer than its record"),
    statuses.HEADER_COUNT: (_MALFORMED, "a header count is negative or too large"),
    statuses.HEADER_KEY_LENGTH: (_MALFORMED, "a header's key is null or longer than its record"),
    statuses.HEADER_VALUE_LENGTH: (_MALFORMED, "a header's value is longer than its record"),
    statuses.RECORD_REST: (_MALFORMED, "a record is longer than what it holds"),
    statuses.TOO_FEW_RECORDS: (_MISCOUNTED, "the payload holds fewer records than the header says"),
    statuses.TOO_MANY_BYTES: (_MISCOUNTED, "bytes are left after the last record"),
    statuses.INNER_CRC: (DefectCode.INNER_CRC_MISMATCH, "an inner message fails its checksum"),
    statuses.NESTED: (DefectCode.NESTED_WRAPPER, "an inner message is a wrapper itself"),
    statuses.INNER_SIZE: (_MALFORMED, "an inner message's size is too small"),
    statuses.INNER_CUT: (_MALFORMED, "the last inner message is cut"),
    statuses.INNER_MAGIC: (_MALFORMED, "an inner message has a magic above 1"),
    statuses.MESSAGE_LENGTHS: (_MALFORMED, "key and value do not use up an inner message"),
    statuses.INNER_OFFSETS: (_MALFORMED, "the offsets of inner messages do not rise"),
    statuses.REPEATED_OFFSETS: (
        DefectCode.OFFSET_OUT_OF_ORDER,
        "a wrapper begins below the end of what came before it",
    ),
    statuses.WRAPPER_OFFSET: (_MALFORMED, "the wrapper's offset is not that of its last message"),
}
