"""Decodes the batches of a walk, to find faults that checksums do not show.

Batches are decoded in groups, which saves time with small batches; the rows are discarded.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from seglake.kafka_log.batch_headers import counted_offset, defect_of
from seglake.segment_codec.formats.control_record import ControlType, control_type
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.record import Record
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode, given_records
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.columns import LOWEST_OFFSET, ColumnBuilder
from seglake.segment_codec.kernels.damaged_wrapper import false_offset_defect
from seglake.segment_codec.kernels.outcomes import PiecesOutcome, UnitOutcome
from seglake.segment_codec.walk.segment import Item

MOST_DECOMPRESSED_BYTES = 64 << 20  # limit of one batch; a larger one is a defect, as in an ingest

_GROUP_BYTES = 4 << 20
_GROUP_UNITS = 512


class ValidBatch(NamedTuple):
    """Batch that decodes; `first_offset` and `record_count` are known for old wrappers, too.

    `last_offset` is the header's last offset or the last record's offset, whichever is higher.
    """

    unit: Unit
    first_offset: int
    last_offset: int
    record_count: int
    plain_bytes: int
    control_type: ControlType | None


def judged(items: Iterable[Item]) -> Iterator[ValidBatch | Defect | Tail]:
    """Yield the items of a walk, in order, with every batch decoded.

    Items are read ahead: up to _GROUP_UNITS batches, or about _GROUP_BYTES decompressed.
    """
    builder = ColumnBuilder(MOST_DECOMPRESSED_BYTES, reached_offset=LOWEST_OFFSET)
    waiting, highest = 0, LOWEST_OFFSET
    for item in items:
        fault: Defect | Tail | None = None
        if isinstance(item, Defect | Tail):
            fault = item
        else:
            if not builder.accepts(item):
                yield from _flushed(builder)
                waiting = 0
            try:
                ceiling_offset = max(item.last_offset + 1, counted_offset(item))
                is_late = item.first_offset < highest
                builder.add(item, LOWEST_OFFSET, ceiling_offset, is_late=is_late)
                highest = max(highest, item.last_offset + 1)
            except DefectError as error:
                fault = defect_of(item, error.code, error.detail)
        waiting += 1
        if fault is not None or builder.plain_bytes >= _GROUP_BYTES or waiting >= _GROUP_UNITS:
            yield from _flushed(builder)
            waiting = 0
        if fault is not None:
            yield fault
    yield from _flushed(builder)


def records_in(unit: Unit) -> list[Record]:
    """Return the records of a valid batch; if a record is malformed, the records before it.

    Args:
        unit: a batch that `judged` has found valid.
    """
    if isinstance(unit, RecordBatch):
        return given_records(unit, MOST_DECOMPRESSED_BYTES)[0]
    return decode(unit, MOST_DECOMPRESSED_BYTES)


def _flushed(builder: ColumnBuilder) -> Iterator[ValidBatch | Defect]:
    _, outcomes = builder.flush()
    for outcome in outcomes:
        pieces = outcome.pieces if isinstance(outcome, PiecesOutcome) else (outcome,)
        for piece in pieces:
            yield piece if isinstance(piece, Defect) else _verdict(piece)
            rest = None if isinstance(piece, Defect) else piece.fault_of_rest
            if rest is not None and isinstance(piece, UnitOutcome) and piece.is_kept:
                yield defect_of(piece.unit, *rest)
        if isinstance(outcome.unit, Wrapper) and outcome.unit.false_offset is not None:
            yield false_offset_defect(outcome.unit)


def _verdict(outcome: UnitOutcome) -> ValidBatch | Defect:
    unit = outcome.unit
    if outcome.fault is not None and not outcome.is_kept:
        return defect_of(unit, *outcome.fault)
    control: ControlType | None = None
    if isinstance(unit, RecordBatch) and unit.header.is_control:
        try:
            control = control_type(
                decode(unit, MOST_DECOMPRESSED_BYTES),
                is_transactional=unit.header.is_transactional,
            )
        except DefectError as error:
            return defect_of(unit, error.code, error.detail)
    return ValidBatch(
        unit,
        outcome.first_offset,
        max(unit.last_offset, outcome.next_offset - 1),
        outcome.record_count,
        outcome.plain_bytes,
        control,
    )
