"""Rows of `typed_columns`: the field of a schema for each column of a topic."""

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from seglake.lake.appends import append_lacking
from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.parquet_rows import read_rows
from seglake.lake.value_tables import TYPED_COLUMNS
from seglake.pipelines.lake_deserialize.topic_plan import TopicForm, TopicWork
from seglake.value_codec.merging import MergedColumn
from seglake.value_codec.type_promotion import type_name
from seglake.value_decoding.typings import Typing

_APP = "seglake/columns"  # its version rises with each commit, so that no row is added twice
_IDENTITY = ("table", "part", "column", "path")


def store_columns(tables: LakeTables, work: TopicWork, form: TopicForm, run_id: str) -> None:
    """Add a topic's missing rows to `typed_columns`; durable on return."""
    now_ms = time.time_ns() // 1_000_000
    own = {"source_id": work.source.source_id, "run_id": run_id, "added_at": now_ms * 1000}
    found = [own | row for row in _rows(form)]

    def lacking(handle: Handle) -> list[DataFile]:
        paths = tables.file_paths(TYPED_COLUMNS, topic=work.topic, handle=handle)
        there = {
            _identity(row)
            for path in paths
            for rows in read_rows(tables.storage, path, _IDENTITY)
            for row in rows.to_pylist()
        }
        new = [row for row in found if _identity(row) not in there]
        if not new:
            return []
        batch = pa.RecordBatch.from_pylist(new, schema=TYPED_COLUMNS.file_schema)
        with ParquetFile(tables.storage, tables.lake_path, TYPED_COLUMNS, work.topic) as file:
            file.write(batch)
            written = file.close()
        return [] if written is None else [written]

    append_lacking(tables, TYPED_COLUMNS, lacking, app=_APP, run_id=run_id, now_ms=now_ms)


# Any: columns have values of many types.
def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return (*(row[name] for name in _IDENTITY[:-1]), tuple(row["path"]))


def _rows(form: TopicForm) -> Iterator[dict[str, Any]]:
    """Yield the columns of each table of a topic, columns of keys first."""
    for table, typing in zip(form.tables, form.value.typings, strict=True):
        name = table.table.name
        for key in () if form.key is None else form.key.typings:
            for column in key.merged.columns:
                yield {"table": name, "part": "key", **_column(column, key)}
        for column in typing.merged.columns:
            yield {"table": name, "part": "value", **_column(column, typing)}


def _column(column: MergedColumn, typing: Typing) -> dict[str, Any]:
    path, is_apart = typing.path_of(column)
    kind, _, number = column.first.partition(" ")
    return {
        "column": ".".join(column.column),  # names in a table have no dots
        "path": path,
        "type": type_name(column.type),
        "since_schema": column.first,
        "since_schema_id": int(number) if kind == "id" else None,
        "is_apart": is_apart,
    }
