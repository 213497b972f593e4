"""Whether the batches of a walk can be decoded: the checks that no checksum makes.

Batches are decoded in groups, without keeping rows, so that small ones cost little each.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from seglake.segment_codec.columns import ColumnBuilder, UnitOutcome
from seglake.segment_codec.control_record import ControlType, control_type
from seglake.segment_codec.errors import DefectCode, DefectError
from seglake.segment_codec.offset_order import Unit
from seglake.segment_codec.record_batch import RecordBatch
from seglake.segment_codec.reference_decoder import decode
from seglake.segment_codec.segment import Defect, Item, Tail

MOST_DECOMPRESSED_BYTES = 64 << 20  # of one batch; what lies above is a defect, as in a conversion

_GROUP_BYTES = 4 << 20
_GROUP_UNITS = 512


class Sound(NamedTuple):
    """A batch that decodes; `first_offset` and `record_count` are known for old wrappers too."""

    unit: Unit
    first_offset: int
    record_count: int
    plain_bytes: int
    control_type: ControlType | None


def judged(items: Iterable[Item]) -> Iterator[Sound | Defect | Tail]:
    """The items of a walk, in their order, with every batch decoded.

    Reads ahead by one group: at most _GROUP_UNITS batches or about _GROUP_BYTES decompressed.
    """
    builder = ColumnBuilder(MOST_DECOMPRESSED_BYTES)
    waiting = 0
    for item in items:
        if isinstance(item, Defect | Tail):
            fault: Defect | Tail | None = item
        else:
            if not builder.accepts(item):
                yield from _flushed(builder)
                waiting = 0
            fault = _added(builder, item)
        waiting += 1
        if fault is not None or builder.plain_bytes >= _GROUP_BYTES or waiting >= _GROUP_UNITS:
            yield from _flushed(builder)
            waiting = 0
        if fault is not None:
            yield fault
    yield from _flushed(builder)


def _added(builder: ColumnBuilder, unit: Unit) -> Defect | None:
    """Add a unit to the group; its defect when it cannot be decompressed."""
    try:
        builder.add(unit, 0, 0)  # no row is wanted, only the verdict
    except DefectError as error:
        return _defect_of(unit, error.code, error.detail)
    return None


def _flushed(builder: ColumnBuilder) -> Iterator[Sound | Defect]:
    _, outcomes = builder.flush()
    for outcome in outcomes:
        yield _verdict(outcome)


def _verdict(outcome: UnitOutcome) -> Sound | Defect:
    unit = outcome.unit
    if outcome.fault is not None:
        return _defect_of(unit, *outcome.fault)
    control: ControlType | None = None
    if isinstance(unit, RecordBatch) and unit.header.is_control:
        try:
            control = control_type(decode(unit, MOST_DECOMPRESSED_BYTES))
        except DefectError as error:
            return _defect_of(unit, error.code, error.detail)
    return Sound(unit, outcome.first_offset, outcome.record_count, outcome.plain_bytes, control)


def _defect_of(unit: Unit, code: DefectCode, detail: str) -> Defect:
    """The defect of a batch whose checksum holds."""
    header = unit.header if isinstance(unit, RecordBatch) else None
    return Defect(
        unit.position,
        unit.size_bytes,
        code,
        detail,
        unit.first_offset,
        base_offset=None if header is None else unit.first_offset,
        last_offset=unit.last_offset,
        record_count=None if header is None else header.record_count,
        magic=unit.magic,
        codec_id=None if header is None else header.codec_id,
    )
