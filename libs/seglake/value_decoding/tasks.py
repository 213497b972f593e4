"""Tasks of `deserialize`: survey a file of `records`; decode its rows into typed tables.

Both tasks read one row group at a time, and only rows of the attempts that the run decodes.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.tables import Table
from seglake.lake.value_tables import VALUE_REJECTS
from seglake.value_codec.decoded import TooManyItemsError
from seglake.value_codec.frames.evidence import FormEvidence
from seglake.value_codec.registry.schema_registry import SchemaRegistry
from seglake.value_codec.schema_readers import SchemaReaders
from seglake.value_decoding.decoded_parts import (
    DecodedPart,
    PartTyping,
    UnforeseenSchemaError,
    decoded_part,
)
from seglake.value_decoding.record_parts import part_of
from seglake.value_decoding.retries import are_of, resolved_rows
from seglake.value_decoding.rows_task import Attempt, RecordOffsets, RowsTask
from seglake.value_decoding.typed_rows import (
    RECORD_COLUMNS,
    Stamp,
    reject_rows,
    typed_rows,
)

Mask: TypeAlias = NDArray[np.bool_]
_COUNTED = ("typed_rows", "value_rejects", "key_rejects")


class SurveyTask(NamedTuple):
    """Rows to survey.

    Attributes:
        subjects: subject of the topic's keys and of its values, by part.
    """

    rows: RowsTask
    registry: SchemaRegistry
    subjects: Mapping[str, str]


def survey(task: SurveyTask) -> dict[str, FormEvidence]:
    """Return the form and the schemas that the keys and values show, by part."""
    readers = SchemaReaders(task.registry)
    found = {part: FormEvidence() for part in task.subjects}
    for rows in task.rows.rows(("headers", *task.subjects)):
        for part, subject in task.subjects.items():
            found[part].add_bodies(*part_of(rows, part)[1:], readers, subject)
    return found


class RejectedRecords(NamedTuple):
    """Records with a rejected value, and records with a rejected key."""

    values: RecordOffsets
    keys: RecordOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeTask:
    """Rows to decode, with the tables and columns for them.

    Attributes:
        tables: the typed tables; tombstones go to the first one.
        key: the columns of keys; None to keep their bytes.
        registry: the registry with all schemas.
        max_raw_bytes: most bytes of a rejected key or value to store in `value_rejects`.
        retried: only when rejected records are decoded again: the records whose value was rejected,
            and those of them whose key was rejected too.
    """

    rows: RowsTask
    lake_path: str
    topic: str
    tables: tuple[Table, ...]
    key: PartTyping | None
    value: PartTyping
    registry: SchemaRegistry
    stamp: Stamp
    compression_level: int
    max_raw_bytes: int
    retried: RejectedRecords | None = None


@dataclass(slots=True)
class Counts:
    """Counts of an attempt's rows."""

    records: int = 0
    typed_rows: int = 0
    value_rejects: int = 0
    key_rejects: int = 0

    def add(self, other: "Counts") -> None:
        """Add other counts."""
        self.records += other.records
        self.typed_rows += other.typed_rows
        self.value_rejects += other.value_rejects
        self.key_rejects += other.key_rejects


@dataclass(slots=True)
class DecodeReport:
    """Files that a task wrote, and the counts of each attempt.

    Attributes:
        reasons: number of rejects, by part and reason.
        is_unforeseen: whether the task ended early, at a schema that its plan does not have.
    """

    files: list[DataFile] = field(default_factory=list)
    counts: dict[Attempt, Counts] = field(default_factory=dict)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    is_unforeseen: bool = False


def decode(task: DecodeTask) -> DecodeReport:
    """Decode the rows of a task into finished files that no table has yet."""
    report, readers = DecodeReport(), SchemaReaders(task.registry)
    with ExitStack() as stack:
        files = [
            stack.enter_context(
                ParquetFile(
                    task.rows.storage, task.lake_path, table, task.topic, task.compression_level
                )
            )
            for table in (*task.tables, VALUE_REJECTS)
        ]
        try:
            for rows in task.rows.rows(RECORD_COLUMNS):
                if rows.num_rows:
                    _decode_parts(task, rows, readers, files, report)
        except UnforeseenSchemaError:  # the files vanish
            return DecodeReport(is_unforeseen=True)
        report.files = [file for each in files if (file := each.close()) is not None]
    return report


def _decode_parts(
    task: DecodeTask,
    rows: pa.Table,
    readers: SchemaReaders,
    files: list[ParquetFile],
    report: DecodeReport,
) -> None:
    """Decode rows at once, or in halves if their values need too much memory."""
    try:
        if task.retried is None:
            _decode_rows(task, rows, readers, files, report)
        else:
            _decode_again(task, task.retried, rows, readers, files, report)
    except TooManyItemsError:  # nothing of them is written yet
        middle = rows.num_rows // 2
        for some in (rows.slice(0, middle), rows.slice(middle)):
            _decode_parts(task, some, readers, files, report)


def _decode_rows(
    task: DecodeTask,
    rows: pa.Table,
    readers: SchemaReaders,
    files: list[ParquetFile],
    report: DecodeReport,
) -> None:
    """Decode the rows of one row group; write and count them."""
    value = decoded_part(rows, task.value, readers)
    key = None if task.key is None else decoded_part(rows, task.key, readers)
    is_typed = _write_typed(task, rows, value, key, files)
    rejects = [("value", value)] + ([] if key is None else [("key", key)])
    for part, found in rejects:
        rejected = reject_rows(rows, part, found, task.stamp, task.max_raw_bytes)
        if rejected is not None:
            files[-1].write(rejected)
        report.reasons.update((part, reason) for reason in found.reject_reasons())
    has_no_key = np.zeros(rows.num_rows, np.bool_) if key is None else key.are_rejected
    _count(rows, report, (is_typed, value.are_rejected, has_no_key))


def _decode_again(
    task: DecodeTask,
    retried: RejectedRecords,
    rows: pa.Table,
    readers: SchemaReaders,
    files: list[ParquetFile],
    report: DecodeReport,
) -> None:
    """Decode a row group's rejected records again; write and count those that decode now."""
    chosen = rows.filter(pa.array(are_of(rows, retried.values)))
    some = chosen.filter(pa.array(~decoded_part(chosen, task.value, readers).are_rejected))
    if not some.num_rows:
        return
    value = decoded_part(some, task.value, readers)
    key = None if task.key is None else decoded_part(some, task.key, readers)
    is_typed = _write_typed(task, some, value, key, files)
    has_key = are_of(some, retried.keys)
    has_key &= np.True_ if key is None else ~key.are_rejected
    for part, resolved in (("value", is_typed), ("key", has_key)):
        found = resolved_rows(some, part, resolved, task.stamp)
        if found is not None:
            files[-1].write(found)
    _count(some, report, (is_typed, is_typed, has_key), is_again=True)


def _write_typed(
    task: DecodeTask,
    rows: pa.Table,
    value: DecodedPart,
    key: DecodedPart | None,
    files: list[ParquetFile],
) -> Mask:
    """Write the typed rows of records; return which records have a typed row."""
    is_typed = np.zeros(rows.num_rows, np.bool_)
    for index, table in enumerate(task.tables):
        chosen = value.tables == index
        if index == 0:
            chosen |= value.is_null
        is_typed |= chosen
        for batch in typed_rows(rows, table, chosen, (key, value), index, task.stamp):
            files[index].write(batch)
    return is_typed


def _count(
    rows: pa.Table, report: DecodeReport, masks: tuple[Mask, Mask, Mask], *, is_again: bool = False
) -> None:
    """Add the rows to the counts of their attempts.

    Args:
        rows: the records.
        report: receives the counts.
        masks: which records have a typed row, which a rejected value, and which a rejected key.
        is_again: whether the records were already counted, and their rejects are resolved now.
    """
    # Arrow groups by one dictionary only.
    attempts = rows.select(Attempt._fields).unify_dictionaries().combine_chunks()
    for name, mask in zip(_COUNTED, masks, strict=True):
        attempts = attempts.append_column(name, pa.array(mask))
    of_attempt = attempts.group_by([*Attempt._fields], use_threads=False)
    counted = of_attempt.aggregate([(name, "sum") for name in _COUNTED] + [([], "count_all")])
    sign = -1 if is_again else 1
    for each in counted.to_pylist():
        typed, values, keys = (each[f"{name}_sum"] for name in _COUNTED)
        mine = Counts(0 if is_again else each["count_all"], typed, sign * values, sign * keys)
        attempt = Attempt(*(each[name] for name in Attempt._fields))
        report.counts.setdefault(attempt, Counts()).add(mine)
