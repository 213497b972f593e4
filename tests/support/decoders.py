"""Both decoders of the codec behind one call, so that each test of one is a test of the other.

The reference decoder hands out records; the columnar one is fed a single unit, and its arrays are
turned back into records. Where it tells a time as -1 because there is none, so does this.
"""

from collections.abc import Callable, Iterable

from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.formats.record import Record, RecordHeader
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.columns import ColumnBuilder
from seglake.segment_codec.kernels.flush import Columns
from seglake.segment_codec.kernels.outcomes import PiecesOutcome, UnitOutcome
from support.encoder import EncodedBatch
from support.walks import sound_unit

ANY_SIZE = 64 << 20
LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1
_INLINE_BYTES = 12

Decoder = Callable[[Unit, int], list[Record]]


def by_reference(unit: Unit, max_bytes: int = ANY_SIZE) -> list[Record]:
    """The records of one unit by the plain decoder; a DefectError where it has one."""
    return [
        record if record.timestamp_ms is not None else record._replace(timestamp_ms=-1)
        for record in decode(unit, max_bytes)
    ]


def by_columns(unit: Unit, max_bytes: int = ANY_SIZE) -> list[Record]:
    """Decode with the compiled decoder; raise its outcome's fault as the reference decoder does."""
    builder = ColumnBuilder(max_bytes)
    builder.add(unit, LOWEST, HIGHEST)
    columns, (outcome,) = builder.flush()
    if isinstance(outcome, PiecesOutcome):
        parts = [piece.unit for piece in outcome.pieces if isinstance(piece, UnitOutcome)]
        by_part = [record for part in parts for record in by_reference(part, max_bytes)]
        assert records_of(columns) == by_part
        defect = next(piece for piece in outcome.pieces if isinstance(piece, Defect))
        raise DefectError(defect.code, defect.detail)
    if outcome.fault is not None:
        raise DefectError(*outcome.fault)
    return records_of(columns)


DECODERS: dict[str, Decoder] = {"reference": by_reference, "columns": by_columns}


def by_both(unit: Unit, max_bytes: int = ANY_SIZE) -> list[Record] | DefectError:
    """Decode with both decoders, and require one result: equal records, or defects of one code."""
    expected, found = (_outcome(decoder, unit, max_bytes) for decoder in DECODERS.values())
    if isinstance(expected, DefectError) or isinstance(found, DefectError):
        codes = [each.code if isinstance(each, DefectError) else each for each in (expected, found)]
        assert codes[0] == codes[1], unit
    else:
        assert found == expected, unit
    return expected


def decoded(decoder: Decoder, batch: EncodedBatch | bytes, base_offset: int = 0) -> list[Record]:
    """The records of one sound batch by one of the decoders."""
    return decoder(sound_unit(batch, base_offset), ANY_SIZE)


def code_of(batch: EncodedBatch | bytes, max_bytes: int = ANY_SIZE) -> DefectCode:
    """The defect that both decoders find in a batch whose checksum holds."""
    outcome = by_both(sound_unit(batch), max_bytes)
    assert isinstance(outcome, DefectError), outcome
    return outcome.code


def records_by_columns(units: Iterable[Unit], flush_bytes: int = 1 << 20) -> list[Record]:
    """The records of many sound units, decoded in flushes as a conversion does."""
    builder = ColumnBuilder(ANY_SIZE)
    found: list[Record] = []
    for unit in units:
        if not builder.accepts(unit) or builder.plain_bytes > flush_bytes:
            found += _flushed(builder)
        builder.add(unit, LOWEST, HIGHEST)
    return found + _flushed(builder)


def records_of(columns: Columns) -> list[Record]:
    """Every row as a record."""
    data = columns.data.tobytes()
    keys = _binaries(columns.key_views.tolist(), columns.has_key.tolist(), data)
    values = _binaries(columns.value_views.tolist(), columns.has_value.tolist(), data)
    headers = _headers(columns)
    return [
        Record(offset, timestamp_ms, key, value, tuple(headers[start:stop]))
        for offset, timestamp_ms, key, value, start, stop in zip(
            columns.offsets.tolist(),
            columns.timestamps_ms.tolist(),
            keys,
            values,
            columns.header_stops[:-1].tolist(),
            columns.header_stops[1:].tolist(),
            strict=True,
        )
    ]


def _outcome(decoder: Decoder, unit: Unit, max_bytes: int) -> list[Record] | DefectError:
    try:
        return decoder(unit, max_bytes)
    except DefectError as error:
        return error


def _flushed(builder: ColumnBuilder) -> list[Record]:
    columns, outcomes = builder.flush()
    for outcome in outcomes:
        assert isinstance(outcome, UnitOutcome), outcome
        assert outcome.fault is None, outcome
        is_old = not isinstance(outcome.unit, RecordBatch)
        assert outcome.record_count or not is_old, outcome
    return records_of(columns)


def _headers(columns: Columns) -> list[RecordHeader]:
    names = columns.names.tobytes()
    contents = columns.header_values.tobytes()
    found = []
    name_start = value_start = 0
    for name_stop, value_stop, has_value in zip(
        columns.name_stops[1:].tolist(),
        columns.header_value_stops[1:].tolist(),
        columns.has_header_value.tolist(),
        strict=True,
    ):
        value = contents[value_start:value_stop] if has_value else None
        assert has_value or value_start == value_stop
        found.append(RecordHeader(names[name_start:name_stop], value))
        name_start, value_start = name_stop, value_stop
    return found


def _binaries(views: list[list[int]], has_value: list[bool], data: bytes) -> list[bytes | None]:
    found = [_binary(view, data) for view in views]
    assert all(is_there or not value for value, is_there in zip(found, has_value, strict=True))
    return [value if is_there else None for value, is_there in zip(found, has_value, strict=True)]


def _binary(view: list[int], data: bytes) -> bytes:
    """One binary view as Arrow defines it; the prefix of a long one must be right too."""
    length, *words = view
    inline = b"".join((word & 0xFFFFFFFF).to_bytes(4, "little") for word in words)
    if length <= _INLINE_BYTES:
        assert not any(inline[length:])
        return inline[:length]
    _, buffer_number, place = words
    value = data[place : place + length]
    assert (buffer_number, len(value), value[:4]) == (0, length, inline[:4])
    return value
