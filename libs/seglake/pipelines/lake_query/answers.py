"""Writes an answer: as a table for a person, JSON lines, CSV, or a Parquet file.

If several columns have the same name, the later ones are renamed to `NAME_1` and `NAME_2`, except
in the table for a person.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from json.encoder import encode_basestring
from typing import Any, BinaryIO, NamedTuple, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from seglake.pipelines.lake_query.errors import query_failed
from seglake.pipelines.lake_query.value_texts import (
    Text,
    csv_text,
    is_number,
    json_text,
    printed_text,
    width,
)

SHOWN_ROWS = 1000
_SHOWN_CHARACTERS = 120
_CUT = "..."


class OutputFormat(StrEnum):
    """Formats of rows in a stream."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class Answer(NamedTuple):
    """An answer: its columns, and its rows as a stream that can be read once."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]


def write(answer: Answer, form: OutputFormat, out: TextIO) -> None:
    """Write all rows, or only the first 1000 in a table for a person.

    Args:
        answer: the answer; its rows are read to the end, except for a table.
        form: the format of the rows.
        out: the text stream to write to; it stays open.
    """
    match form:
        case OutputFormat.TABLE:
            _write_table(answer, out)
        case OutputFormat.JSON:
            _write_json(answer, out)
        case OutputFormat.CSV:
            _write_csv(answer, out)


def write_parquet(answer: Answer, sink: BinaryIO) -> int:
    """Write all rows as one Parquet file, and return their number."""
    names = single_names(answer.schema.names)
    schema = pa.schema(
        [field.with_name(name) for name, field in zip(names, answer.schema, strict=True)]
    )
    rows = 0
    with pq.ParquetWriter(sink, schema) as file:
        for batch in answer.batches:
            file.write_batch(pa.record_batch(batch.columns, schema=schema))
            rows += batch.num_rows
    return rows


def single_names(names: Iterable[str]) -> list[str]:
    """Return names of columns; repeated names get a number."""
    used: dict[str, None] = {}
    for name in names:
        free, count = name, 0
        while free in used:
            count += 1
            free = f"{name}_{count}"
        used[free] = None
    return [*used]


def _write_json(answer: Answer, out: TextIO) -> None:
    names = [encode_basestring(name) for name in single_names(answer.schema.names)]
    texts = [json_text(field.type) for field in answer.schema]
    for batch in answer.batches:
        columns = (
            [f"{name}:{text(value)}" for value in _values(column)]
            for name, text, column in zip(names, texts, batch.columns, strict=True)
        )
        out.writelines(f"{{{','.join(row)}}}\n" for row in zip(*columns, strict=True))


def _write_csv(answer: Answer, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(single_names(answer.schema.names))
    writer.writerows(_rows(answer, csv_text))


def _write_table(answer: Answer, out: TextIO) -> None:
    rows = [*islice(_rows(answer, printed_text), SHOWN_ROWS + 1)]
    is_cut = any(len(cell) > _SHOWN_CHARACTERS for row in rows[:SHOWN_ROWS] for cell in row)
    shown = [[_cut(cell) for cell in row] for row in rows[:SHOWN_ROWS]]
    names = [_cut(name) for name in answer.schema.names]
    widths = [max(map(width, column)) for column in zip(names, *shown, strict=True)]
    is_right = [is_number(field.type) for field in answer.schema]
    line = f"+{'+'.join('-' * (columns + 2) for columns in widths)}+\n"
    out.write(f"{line}{_row(names, widths, is_right)}{line}")
    out.writelines(_row(row, widths, is_right) for row in shown)
    out.write(line if shown else "")
    if len(rows) > SHOWN_ROWS:
        out.write(f"only the first {SHOWN_ROWS} rows are shown: --json and --csv have all\n")
    if is_cut:
        out.write(f"cells are cut at {_SHOWN_CHARACTERS} characters: --json shows them in full\n")


def _rows(answer: Answer, text_of: Callable[[pa.DataType], Text]) -> Iterator[tuple[str, ...]]:
    texts = [text_of(field.type) for field in answer.schema]
    for batch in answer.batches:
        columns = (
            map(text, _values(column)) for text, column in zip(texts, batch.columns, strict=True)
        )
        yield from zip(*columns, strict=True)


def _values(column: "pa.Array[Any]") -> list[Any]:
    """Return a column's values as Python's objects.

    Raises:
        QueryFailedError: Python cannot hold a value, such as a year above 9999 or nanoseconds.
    """
    try:
        return column.to_pylist()
    except (ValueError, OverflowError) as error:
        raise query_failed(f"{error}; --parquet writes such values") from error


def _cut(cell: str) -> str:
    if len(cell) <= _SHOWN_CHARACTERS:
        return cell
    return cell[: _SHOWN_CHARACTERS - len(_CUT)] + _CUT


def _row(cells: Sequence[str], widths: Sequence[int], is_right: Sequence[bool]) -> str:
    padded = (
        f"{' ' * (columns - width(cell))}{cell}"
        if right
        else f"{cell}{' ' * (columns - width(cell))}"
        for cell, columns, right in zip(cells, widths, is_right, strict=True)
    )
    return f"| {' | '.join(padded)} |\n"
