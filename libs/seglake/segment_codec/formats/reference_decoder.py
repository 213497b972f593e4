"""Decodes records in plain Python to one object per record, by the formats' layout tables.

It is slower than the columnar decoder (`kernels`), and passes the same tests. It is used where
single records are needed: for markers, and to inspect a segment.
"""

from seglake.segment_codec.formats.checksum import crc32
from seglake.segment_codec.formats.errors import DefectCode, DefectError, malformed
from seglake.segment_codec.formats.message_set import (
    CHECKSUM_START,
    CODEC_MASK,
    LENGTH,
    PREFIX,
    SIZE_STOP,
    SMALLEST_SIZE,
    TIMESTAMP,
    MessageRun,
    Wrapper,
    body,
    timestamp_of,
    wrapped_messages,
)
from seglake.segment_codec.formats.record import Record, RecordHeader
from seglake.segment_codec.formats.record_batch import RecordBatch, plain_records
from seglake.segment_codec.formats.units import HIGHEST_OFFSET, Unit
from seglake.segment_codec.formats.varints import read_varint, read_varlong

_SMALLEST_RECORD_BODY_BYTES = 6


def decode(unit: Unit, max_decompressed_bytes: int) -> list[Record]:
    """Decode a unit's control records and the records that Kafka's consumer would return.

    Args:
        unit: the batch, wrapper or run of messages.
        max_decompressed_bytes: highest accepted size of the uncompressed records.

    Raises:
        DefectError: the unit is damaged; the error has the code for its row in quarantine.
    """
    match unit:
        case RecordBatch():
            records, error = given_records(unit, max_decompressed_bytes)
            if error is not None:
                raise error
            return records
        case Wrapper():
            return _wrapper_records(
                unit, memoryview(wrapped_messages(unit, max_decompressed_bytes))
            )
        case MessageRun():
            return _messages(unit.data)
        case _:
            raise TypeError(f"not a unit of a log: {unit!r}")


def given_records(
    batch: RecordBatch, max_decompressed_bytes: int
) -> tuple[list[Record], DefectError | None]:
    """Return the records that Kafka's consumer returns before it finds a wrong record count.

    A record whose offset does not exceed all earlier offsets is skipped.

    Args:
        batch: the batch.
        max_decompressed_bytes: highest accepted size of the uncompressed records.

    Returns:
        The records, and the error for a wrong count, else None.

    Raises:
        DefectError: the batch has another defect, so no record can be trusted.
    """
    records, error = stored_records(batch, max_decompressed_bytes)
    has_rest = error is not None and len(records) == batch.header.record_count
    return _rising(records[:-1] if has_rest else records), error


def stored_records(
    batch: RecordBatch, max_decompressed_bytes: int
) -> tuple[list[Record], DefectError | None]:
    """Return all records of a batch in the order of bytes, also those that Kafka's consumers skip.

    Args:
        batch: the batch.
        max_decompressed_bytes: highest accepted size of the uncompressed records.

    Returns:
        The records, and the error for a wrong count, else None.

    Raises:
        DefectError: the batch has another defect, so no record can be trusted.
    """
    data = plain_records(batch, max_decompressed_bytes)
    records: list[Record] = []
    position = 0
    for _ in range(batch.header.record_count):
        if position == len(data):
            return records, _miscounted("there are fewer records than the header states")
        length, position = read_varint(data, position, len(data))
        if not _SMALLEST_RECORD_BODY_BYTES <= length <= len(data) - position:
            raise malformed(f"a record of {length} bytes in the {len(data) - position} that remain")
        records.append(_record(data, position, position + length, batch))
        position += length
    if position != len(data):
        error = _miscounted(f"{len(data) - position} bytes remain after the last record")
        return records, error
    return records, None


def _rising(records: list[Record]) -> list[Record]:
    """Return the records whose offset exceeds those of all earlier records."""
    found: list[Record] = []
    for record in records:
        if not found or record.offset > found[-1].offset:
            found.append(record)
    return found


def _record(data: bytes | memoryview, position: int, end: int, batch: RecordBatch) -> Record:
    """Parse the record in [position, end) of the data; its length field is before `position`."""
    timestamp_delta, position = read_varlong(data, position + 1, end)
    delta, position = read_varint(data, position, end)
    key, position = _field(data, position, end, "key")
    value, position = _field(data, position, end, "value")
    count, position = read_varint(data, position, end)
    if not 0 <= count <= end - position:
        raise malformed(f"{count} headers in {end - position} bytes")
    headers: list[RecordHeader] = []
    for _ in range(count):
        name, position = _field(data, position, end, "header key")
        if name is None:
            raise malformed("a header's key is null")
        content, position = _field(data, position, end, "header value")
        headers.append(RecordHeader(name, content))
    if position != end:
        raise malformed(f"a record is {end - position} bytes longer than its fields")
    header = batch.header
    timestamp_ms = (
        header.max_timestamp_ms
        if header.is_log_append_time
        else _wrapped_int64(header.base_timestamp_ms + timestamp_delta)
    )
    return Record(
        offset=_wrapped_int64(header.base_offset + delta),
        timestamp_ms=timestamp_ms,
        key=key,
        value=value,
        headers=tuple(headers),
    )


def _field(
    data: bytes | memoryview, position: int, end: int, what: str
) -> tuple[bytes | None, int]:
    """Return the bytes (None for null) of the field `what`, and the position after it."""
    length, position = read_varint(data, position, end)
    if length < 0:
        return None, position
    if length > end - position:
        raise malformed(f"a {what} of {length} bytes in the {end - position} that remain")
    return bytes(data[position : position + length]), position + length


def _wrapper_records(wrapper: Wrapper, data: memoryview) -> list[Record]:
    """Return the records of the inner messages, with absolute offsets and final timestamps."""
    inner = _messages(data)
    last = inner[-1].offset
    shift = wrapper.last_offset - last if wrapper.magic == 1 else 0
    if not 0 <= shift <= HIGHEST_OFFSET:  # Java would compute a negative difference
        raise malformed(f"wrapper offset {wrapper.last_offset}, last inner offset {last}")
    if inner[0].offset + shift < 0:
        raise _out_of_order(f"inner offset {inner[0].offset}")
    return [
        record._replace(
            offset=record.offset + shift, timestamp_ms=_time_in_wrapper(wrapper, record)
        )
        for record in inner
    ]


def _time_in_wrapper(wrapper: Wrapper, record: Record) -> int | None:
    """Return the timestamp in ms that Kafka's consumer gives to a message in a wrapper.

    The timestamp of a message of magic 0 in a wrapper of magic 1 is -1.
    """
    if record.timestamp_ms is None:
        return -1 if wrapper.magic == 1 else None
    time_ms = wrapper.append_time_ms
    return record.timestamp_ms if time_ms is None else time_ms


def _messages(data: memoryview) -> list[Record]:
    """Return a record for each message, with the offset in its header."""
    records: list[Record] = []
    position = 0
    while position < len(data):
        end = _checked_message_end(data, position)
        message = data[position:end]
        offset, _, _, magic, _ = PREFIX.unpack_from(message)
        key, value = (None if part is None else bytes(part) for part in body(message, magic))
        if records and offset <= records[-1].offset:
            raise _out_of_order(f"inner offset {offset} after {records[-1].offset}")
        records.append(
            Record(
                offset=offset,
                timestamp_ms=timestamp_of(message, magic),
                key=key,
                value=value,
                headers=(),
            )
        )
        position = end
    return records


def _checked_message_end(data: memoryview, position: int) -> int:
    """Check the message at a position, and return its end."""
    left = len(data) - position
    if left < SIZE_STOP:
        raise malformed("the last inner message is truncated")
    size = LENGTH.unpack_from(data, position + 8)[0]
    if size < SMALLEST_SIZE:
        raise malformed(f"an inner message of size {size}")
    if size > left - SIZE_STOP:
        raise malformed("the last inner message is truncated")
    end = position + SIZE_STOP + int(size)
    _, _, crc, magic, attributes = PREFIX.unpack_from(data, position)
    if magic not in (0, 1):
        raise malformed(f"an inner message of magic {magic}")
    if magic == 1 and size < SMALLEST_SIZE + TIMESTAMP.size:
        raise malformed(f"an inner message of size {size}")
    if crc32(data[position + CHECKSUM_START : end]) != crc:
        raise DefectError(DefectCode.INNER_CRC_MISMATCH, "an inner message fails its checksum")
    if attributes & CODEC_MASK:
        raise DefectError(DefectCode.NESTED_WRAPPER, "an inner message is itself a wrapper")
    return end


def _wrapped_int64(value: int) -> int:
    """Wrap a sum to a signed 64-bit integer, as Java's addition does."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _out_of_order(detail: str) -> DefectError:
    """Return the error for a batch or set whose offsets do not rise."""
    return DefectError(DefectCode.OFFSET_OUT_OF_ORDER, detail)


def _miscounted(detail: str) -> DefectError:
    """Return the error for a batch whose header states a wrong record count."""
    return DefectError(DefectCode.RECORD_COUNT_MISMATCH, detail)
