"""Values for bytes of a segment that are not records."""

from dataclasses import dataclass

from seglake.segment_codec.formats.errors import DefectCode, TailKind


@dataclass(frozen=True, slots=True)
class Defect:
    """Bytes that are not records; offsets, counts and checksums are claims, None where unknown.

    Attributes:
        position: first byte in the segment.
        detail: the reason, in words.
        expected_offset: end offset of the sound batches before it.
        unfinished_offset: end offset of a batch that its writer will never finish; None for other
            damage, and if nothing confirms its header.
        content: the bytes if they lie inside the compressed batch at `position`, whose codec is
            `codec_id`; None if they lie in the file.
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
    """Bytes from the last batch to the end of the file that are not damage."""

    position: int
    size_bytes: int
    kind: TailKind
