"""Reasons why a key or a value does not decode: a closed list."""

from enum import StrEnum


class RejectReason(StrEnum):
    """Reasons why a key or a value does not decode, from its frame to its last byte."""

    NO_FRAME = "no_frame"  # the value is too short for a frame with a schema id
    BAD_MAGIC = "bad_magic"  # the value's first byte begins no frame
    UNKNOWN_SCHEMA_ID = "unknown_schema_id"
    UNKNOWN_GUID = "unknown_guid"
    AMBIGUOUS_SCHEMA_ID = "ambiguous_schema_id"  # the registry gave the id to two schemas
    COMPRESSED_FRAME_BAD = "compressed_frame_bad"  # Glue's zlib stream is damaged
    REFERENCE_MISSING = "reference_missing"
    SCHEMA_UNPARSEABLE = "schema_unparseable"
    UNSUPPORTED_SCHEMA = "unsupported_schema"  # no registry has schemas of this type
    BAD_MESSAGE_INDEX = "bad_message_index"  # the Protobuf schema has no such message
    PROTOBUF_MISSING = "protobuf_missing"  # the extra `protobuf` is not installed
    ENCRYPTED = "encrypted"  # a rule of the schema encrypts fields
    SHORT = "short"  # the value ends before its schema does
    TRAILING_BYTES = "trailing_bytes"
    BAD_VARINT = "bad_varint"  # too many bits, or a negative length
    BAD_BOOLEAN = "bad_boolean"  # the byte is neither 0 nor 1
    BAD_UTF8 = "bad_utf8"
    BAD_ENUM = "bad_enum"
    BAD_UNION_BRANCH = "bad_union_branch"
    DEPTH = "depth"  # the value is nested too deeply
    TOO_LARGE = "too_large"  # too many items without bytes, or too many bytes in a zlib stream
    DECIMAL_OVERFLOW = "decimal_overflow"  # the number has more digits than the schema allows
    TIMESTAMP_RANGE = "timestamp_range"  # the time is before the year 1 or after 9999
    BAD_JSON = "bad_json"  # the text is not JSON, ends inside it, or has more after it

    @property
    def code(self) -> int:
        """Return the number of the reason in arrays, above 0; tables and texts have the name."""
        return _CODES[self]

    @property
    def to_do(self) -> str:
        """Return what a person can do about values with this reason.

        >>> RejectReason.SHORT.to_do
        'look at the bytes: `raw` in value_rejects, or the record in `records`'
        """
        return _TO_DO.get(self, _LOOK)

    @classmethod
    def of_code(cls, code: int) -> "RejectReason":
        """Return the reason of a code.

        >>> RejectReason.of_code(RejectReason.SHORT.code)
        <RejectReason.SHORT: 'short'>
        """
        return _REASONS[code - 1]


UNKNOWN_SCHEMA = (RejectReason.UNKNOWN_SCHEMA_ID, RejectReason.UNKNOWN_GUID)
"""Reasons of frames that name a schema which the registry does not have."""

PROTOBUF_ADVICE = "needs more packages: pip install '.[protobuf]' in seglake's folder"
"""Advice for a run without Google's library."""
_LOOK = "look at the bytes: `raw` in value_rejects, or the record in `records`"
_GIVE_SCHEMA = (
    "ingest an older copy of the registry's topic, or give the schema with `--schemas`; then"
    " `seglake deserialize --retry-rejects`"
)
_SEE_SCHEMA = "see what is wrong with the schema: `seglake schemas`"
_SOUND = "the bytes are sound, but no column can have the value: read them in `records`"
_TO_DO = {
    RejectReason.UNKNOWN_SCHEMA_ID: _GIVE_SCHEMA,
    RejectReason.UNKNOWN_GUID: _GIVE_SCHEMA,
    RejectReason.REFERENCE_MISSING: _GIVE_SCHEMA,
    RejectReason.AMBIGUOUS_SCHEMA_ID: _SEE_SCHEMA,
    RejectReason.SCHEMA_UNPARSEABLE: _SEE_SCHEMA,
    RejectReason.UNSUPPORTED_SCHEMA: _SEE_SCHEMA,
    RejectReason.PROTOBUF_MISSING: (
        f"Protobuf {PROTOBUF_ADVICE}; then `seglake deserialize --retry-rejects`"
    ),
    RejectReason.ENCRYPTED: (
        "nothing: a rule of the schema encrypts fields, and the bytes stay in `records` for who has"
        " the keys"
    ),
    RejectReason.DECIMAL_OVERFLOW: _SOUND,
    RejectReason.TIMESTAMP_RANGE: _SOUND,
}
_REASONS = tuple(RejectReason)
_CODES = {reason: number for number, reason in enumerate(_REASONS, start=1)}
