"""Decodes a task and gives its records as they come, in the columns that a query reads. Effect."""

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

import pyarrow as pa

from seglake.kafka_log.offset_gaps import GapCause
from seglake.lake.table_checks import plain_type
from seglake.lake.tables import GAPS, QUARANTINE, RECORDS, Table
from seglake.pipelines.segment_query.errors import DataLossError
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_decoding.decoded_rows import Row
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.segment_decoding.tasks import (
    DecodeSettings,
    DecodeTask,
    PartitionSplit,
    SplitReport,
)

_OF_A_LAKE = ("batch_base_offset", "run_id", "generation")
SCHEMA: pa.Schema = pa.schema([field for field in RECORDS.schema if field.name not in _OF_A_LAKE])
"""The columns of `records` without those that lead to rows of other tables."""

_NO_EVIDENCE = frozenset({GapCause.QUARANTINED, GapCause.MISSING})
_GAP = itemgetter(*map(GAPS.schema.names.index, ("cause", "start_offset", "next_offset")))
_DEFECT = itemgetter(
    *map(
        QUARANTINE.schema.names.index,
        ("defect_code", "segment", "position", "defect_detail", "previous_offset"),
    )
)


class Damage(NamedTuple):
    """What is wrong in a log, and where, for a person.

    Attributes:
        is_lost: records may be missing for it; else what is damaged was met before, whole.
        after_offset: it lies behind the records up to this offset; -1 if it lies before them all.
    """

    text: str
    is_lost: bool = True
    after_offset: int = -1


def records_of(task: DecodeTask, *, fails_on_loss: bool) -> Iterator[pa.RecordBatch]:
    """Yield the records of a task, in offset order within each of its splits.

    Raises:
        DataLossError: bytes are damaged or offsets are missing; only if `fails_on_loss`.
        SourceVanishedError, StorageError, SegmentCodecError: a segment is not what it was.
    """
    on_damage = _refuse if fails_on_loss else lambda damage: None
    for split in task.splits:
        yield from records_in(split, task.settings, on_damage)


def records_in(
    split: PartitionSplit,
    settings: DecodeSettings,
    on_damage: Callable[[Damage], None],
    schema: pa.Schema = SCHEMA,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a split in offset order.

    Args:
        on_damage: told of damage before the rows that follow it; of offsets that it took between
            batches, at the split's end.
        schema: those of the columns that are wanted.

    Raises:
        SourceVanishedError, StorageError, SegmentCodecError: a segment is not what it was.
    """

    def tell(found: Iterable[Damage]) -> None:
        for damage in found:
            on_damage(damage._replace(text=f"{split.key}: {damage.text}"))

    decoder = SplitDecoder(split, settings)
    is_first, is_start_damaged = True, False
    for table, rows in decoder.rows():
        if not isinstance(rows, pa.RecordBatch):
            tell(_damage(table, rows))
        elif table is RECORDS:  # a query reads records as they are, not interpreted
            if is_first:
                report = decoder.report()
                is_first, is_start_damaged = False, report.has_leading_defect
                tell(_leading_loss(split, report) if is_start_damaged else ())
            yield _in_query_columns(rows, split.key.topic, schema)
    if not is_start_damaged:
        tell(_leading_loss(split, decoder.report()))


def _refuse(damage: Damage) -> None:
    if damage.is_lost:
        raise DataLossError(damage.text)


def _damage(table: Table, rows: Iterable[Row]) -> Iterator[Damage]:
    """What rows of `quarantine` and `gaps` say is damaged or lost."""
    for row in rows:
        if table is QUARANTINE:
            code, segment, position, detail, previous_offset = _DEFECT(row)
            yield Damage(
                f"{code} in {segment} at position {position}: {detail}",
                is_lost=code != DefectCode.OFFSET_OUT_OF_ORDER,  # these offsets were met before
                after_offset=-1 if previous_offset is None else previous_offset,
            )
        elif table is GAPS:
            cause, start, stop = _GAP(row)
            if cause in _NO_EVIDENCE:
                yield _missing(start, stop)


def _leading_loss(split: PartitionSplit, report: SplitReport) -> Iterator[Damage]:
    """What is missing in front of the first batch, of which there is no row."""
    piece = split.segment_splits[0]
    start = max(split.floor_offset, piece.expected_offset)
    if report.first_offset is None:
        if report.has_leading_defect and start < split.range_next:
            yield _missing(start, split.range_next)
    elif start < report.first_offset:
        is_cleaned = piece.is_cleaned or report.is_compacted_at_start
        if report.has_leading_defect or not is_cleaned:
            yield _missing(start, report.first_offset)


def _missing(start: int, stop: int) -> Damage:
    text = f"the offsets [{start}, {stop}) have no readable record"
    return Damage(text, after_offset=start - 1)


def _in_query_columns(rows: pa.RecordBatch, topic: str, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with their topic, in types that every reader of Arrow's stream knows."""
    found = dict(zip(rows.schema.names, rows.columns, strict=True))
    found["topic"] = pa.repeat(topic, rows.num_rows)
    arrays = [
        found[field.name]
        if found[field.name].type == field.type
        else found[field.name].cast(plain_type(found[field.name].type)).cast(field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
