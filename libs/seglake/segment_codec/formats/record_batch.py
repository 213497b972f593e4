"""Record batches of magic 2, the unit of appends, checksums and compression.

Layout, in bytes from the first byte of the batch, integers big-endian::

     0  base_offset             i64  offset of the first record as written; not in the checksum
     8  batch_length            i32  bytes after this field, 49 at least
    12  partition_leader_epoch  i32  set by the broker, so not in the checksum; -1 unknown
    16  magic                   i8   2; not in the checksum
    17  crc                     u32  CRC-32C of the bytes from 21 to the end
    21  attributes              i16  codec 0-2, timestamp type 3, transactional 4, control 5,
                                     delete horizon 6
    23  last_offset_delta       i32  kept by compaction, even if the last record is not
    27  base_timestamp_ms       i64  or the delete horizon, with attribute bit 6
    35  max_timestamp_ms        i64
    43  producer_id             i64  -1 none
    51  producer_epoch          i16  -1 none
    53  base_sequence           i32  -1 none
    57  record_count            i32
    61  records                      one compressed block if the codec is not 0

Source: apache/kafka 1eb7644, DefaultRecordBatch.java, class comment.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from seglake.segment_codec.formats.codec import CODECS, Codec
from seglake.segment_codec.formats.compression import decompress
from seglake.segment_codec.formats.errors import DefectCode, DefectError

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
CRC_START = struct.calcsize(">qiib")
CHECKSUM_START = struct.calcsize(">qiibI")
LENGTH_STOP = struct.calcsize(">qi")  # batch_length counts the bytes after this field
SMALLEST_LENGTH = HEADER_BYTES - LENGTH_STOP
MOST_MARKER_BYTES = 96  # most bytes of a transaction marker: the usual one has 78
# One byte each for length, attributes, two deltas, two lengths (key, value) and header count.
SMALLEST_RECORD_BYTES = 7

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40


class BatchHeader(NamedTuple):
    """Fields of a batch header, in their order on disk."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """Return the last offset in the header; a negative (damaged) delta counts as 0."""
        return self.base_offset + max(self.last_offset_delta, 0)

    @property
    def codec_id(self) -> int:
        """Return the compression codec id, which may be unassigned."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        """Return whether all records have the broker's append time, `max_timestamp_ms`."""
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        """Return whether the batch belongs to a transaction."""
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_in_transaction(self) -> bool:
        """Return whether a marker ends the batch's transaction: of a batch without a producer none.

        Source: apache/kafka 1eb7644, CompletedFetch.java, which reads such a batch as any other.
        """
        return self.is_transactional and self.producer_id >= 0

    @property
    def is_control(self) -> bool:
        """Return whether the batch has control records instead of user records."""
        return self.attributes & CONTROL != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Return whether `base_timestamp_ms` is the time after which tombstones may be removed."""
        return self.attributes & DELETE_HORIZON != 0


def is_surely_data(header: BatchHeader, size_bytes: int) -> bool:
    """Return whether a batch cannot be a transaction marker, even if some header fields are wrong.

    A transaction marker is small, and has a producer id but no sequence number.
    """
    if header.is_control or header.last_offset_delta < 0:
        return False
    # a marker has a producer id, and the sequence -1
    is_like_marker = header.producer_id >= 0 and header.base_sequence <= 0
    return size_bytes > MOST_MARKER_BYTES or not is_like_marker


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A batch with a valid checksum; `payload` is a view of the bytes, which may be compressed.

    Attributes:
        is_corrected: whether the last offset delta comes from the records, because the header's
            delta is wrong.
    """

    magic: ClassVar[int] = 2
    position: int
    size_bytes: int
    header: BatchHeader
    payload: memoryview
    is_corrected: bool = False

    @property
    def first_offset(self) -> int:
        """Return the base offset; after compaction, no record may have this offset."""
        return self.header.base_offset

    @property
    def last_offset(self) -> int:
        """Return the last offset in the header; after compaction, no record may have it."""
        return self.header.last_offset

    @property
    def crc(self) -> int:
        """Return the CRC-32C that the header states."""
        return self.header.crc

    @property
    def is_sparse(self) -> bool:
        """Return whether the batch has fewer records than offsets, as after a compaction."""
        return self.header.record_count <= self.header.last_offset_delta


def plain_records(batch: RecordBatch, max_bytes: int) -> bytes | memoryview:
    """Return the decompressed bytes of a batch's records.

    Args:
        batch: the batch.
        max_bytes: highest accepted size of the result.

    Raises:
        DefectError: unsupported_codec, decompression_failed, decompression_limit, or
            record_count_mismatch if the count in the header is negative.
    """
    header = batch.header
    codec_id = header.attributes & CODEC_MASK
    if codec_id > Codec.ZSTD:
        raise DefectError(DefectCode.UNSUPPORTED_CODEC, f"codec id {codec_id}")
    count = header.record_count
    if count == 0 and not len(batch.payload):
        return b""
    records = decompress(CODECS[codec_id], batch.payload, magic=2, max_bytes=max_bytes)
    if count < 0:
        raise DefectError(DefectCode.RECORD_COUNT_MISMATCH, f"the header states {count} records")
    return records
