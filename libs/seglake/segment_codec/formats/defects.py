"""Values for bytes of a segment that are not part of a valid batch."""

from dataclasses import dataclass

from seglake.segment_codec.formats.errors import DefectCode, TailKind


@dataclass(frozen=True, slots=True)
class Defect:
    """Damaged or misplaced bytes, with the header fields that could be read from them.

    A header field is None if it could not be read, and may be false.

    Attributes:
        position: first byte in the segment.
        detail: the reason, as text.
        expected_offset: exclusive end of the valid batches before these bytes.
        unfinished_offset: exclusive end of a batch that its writer will never complete; None for
            other damage, or if the header is implausible.
        content: the damaged bytes, if they are inside a compressed batch; `position` and `codec_id`
            are then those of the batch. None if the damaged bytes are in the file itself.
    """

    position: int
    size_bytes: int
    code: DefectCode
    detail: str
    expected_offset: int
    base_offset: int | None = None
    last_offset: int | None = None
    record_count: int | None = None
    magic: int | None = None
    codec_id: int | None = None
    expected_crc: int | None = None
    computed_crc: int | None = None
    unfinished_offset: int | None = None
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Tail:
    """Undamaged bytes after the last batch that no broker reads, such as preallocated zeros."""

    position: int
    size_bytes: int
    kind: TailKind
