"""Decodes a task into a stream of records, in the columns of a query."""

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
"""Columns of `records`, except those that refer to rows of other tables."""

_NO_EVIDENCE = frozenset({GapCause.QUARANTINED, GapCause.MISSING})
_GAP = itemgetter(*map(GAPS.schema.names.index, ("cause", "start_offset", "next_offset")))
_DEFECT = itemgetter(
    *map(
        QUARANTINE.schema.names.index,
        ("defect_code", "segment", "position", "defect_detail", "previous_offset"),
    )
)


class StreamDamage(NamedTuple):
    """Damage or missing offsets in a log, for a person.

    Attributes:
        text: the damage and its position.
        is_lost: whether records may be missing; False if an earlier batch has these offsets.
        after_offset: offset of the last record before the damage; -1 if it precedes all records.
        is_in_tier: whether the offsets are in a remote tier that is not given or is unreadable; the
            log itself is undamaged.
    """

    text: str
    is_lost: bool = True
    after_offset: int = -1
    is_in_tier: bool = False


def records_of(task: DecodeTask, *, fails_on_loss: bool) -> Iterator[pa.RecordBatch]:
    """Yield the records of a task, by offset within each of its splits.

    Args:
        task: the splits to decode.
        fails_on_loss: whether to raise an error for damage and missing offsets.

    Raises:
        DataLossError: bytes are damaged or offsets are missing; raised only with `fails_on_loss`.
        SourceVanishedError, StorageError, SegmentCodecError: a segment has changed or vanished.
    """
    on_damage = _refuse if fails_on_loss else lambda damage: None
    for split in task.splits:
        yield from records_in(split, task.settings, on_damage)


def records_in(
    split: PartitionSplit,
    settings: DecodeSettings,
    on_damage: Callable[[StreamDamage], None],
    schema: pa.Schema = SCHEMA,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a split in offset order.

    Args:
        split: the part of a log to decode.
        settings: settings of the task.
        on_damage: receives damage before the rows after the damage are yielded; offsets missing
            between batches are reported at the split's end.
        schema: the columns to read.

    Raises:
        SourceVanishedError, StorageError, SegmentCodecError: a segment has changed or vanished.
    """

    def report_damage(found: Iterable[StreamDamage]) -> None:
        for damage in found:
            on_damage(damage._replace(text=f"{split.key}: {damage.text}"))

    decoder = SplitDecoder(split, settings)
    is_first, is_start_damaged = True, False
    for table, rows in decoder.rows():
        if not isinstance(rows, pa.RecordBatch):
            report_damage(_damage(table, rows))
        elif table is RECORDS:  # a query reads records, not the tables of internal topics
            if is_first:
                report = decoder.report()
                is_first, is_start_damaged = False, report.has_leading_defect
                report_damage(_leading_loss(split, report) if is_start_damaged else ())
            yield _in_query_columns(rows, split.key.topic, schema)
    if not is_start_damaged:
        report_damage(_leading_loss(split, decoder.report()))


def _refuse(damage: StreamDamage) -> None:
    if damage.is_lost:
        raise DataLossError(damage.text)


def _damage(table: Table, rows: Iterable[Row]) -> Iterator[StreamDamage]:
    """Yield the damage and losses in rows of `quarantine` and `gaps`."""
    for row in rows:
        if table is QUARANTINE:
            code, segment, position, detail, previous_offset = _DEFECT(row)
            yield StreamDamage(
                f"{code} in {segment} at position {position}: {detail}",
                # Out-of-order bytes lose no record: an earlier batch has their offsets.
                is_lost=code != DefectCode.OFFSET_OUT_OF_ORDER,
                after_offset=-1 if previous_offset is None else previous_offset,
            )
        elif table is GAPS:
            cause, start, stop = _GAP(row)
            if cause in _NO_EVIDENCE:
                yield _missing(start, stop)


def _leading_loss(split: PartitionSplit, report: SplitReport) -> Iterator[StreamDamage]:
    """Yield the offsets missing before the first batch, for which `gaps` has no row."""
    piece = split.segment_splits[0]
    start = max(split.floor_offset, piece.expected_offset)
    if report.first_offset is None:
        if report.has_leading_defect and start < split.range_next:
            yield _missing(start, split.range_next)
    elif start < report.first_offset:
        is_cleaned = piece.is_cleaned or report.is_compacted_at_start
        if report.has_leading_defect or not is_cleaned:
            yield _missing(start, report.first_offset)


def _missing(start: int, stop: int) -> StreamDamage:
    text = f"the offsets [{start}, {stop}) have no readable record"
    return StreamDamage(text, after_offset=start - 1)


def _in_query_columns(rows: pa.RecordBatch, topic: str, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows with their topic, in Arrow types that every reader knows."""
    found = dict(zip(rows.schema.names, rows.columns, strict=True))
    found["topic"] = pa.repeat(topic, rows.num_rows)
    arrays = [
        found[field.name]
        if found[field.name].type == field.type
        else found[field.name].cast(plain_type(found[field.name].type)).cast(field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
