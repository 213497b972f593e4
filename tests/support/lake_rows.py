"""Made-up rows for each table, written as real files and gathered into waves."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from seglake.lake.commit_protocol import Attempt
from seglake.lake.delta_commit import versions
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.table_checks import plain_type
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import (
    BATCHES,
    CHECKPOINTS,
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    GAPS,
    LOG_TABLES,
    QUARANTINE,
    RECORDS,
    TRANSACTION_STATE,
    Table,
)
from seglake.lake.waves import TopicWave
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Storage

SOURCE = "cluster-1"
NOW_MS = 1_700_000_000_000
PLAIN_TABLES = LOG_TABLES.of(["orders"])
"""Tables in which each commit of a topic that is not internal adds rows."""


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake for a test; its `tables` hold no state."""

    path: Path
    storage: Storage
    tables: LakeTables


def new_lake(path: Path) -> Lake:
    lake = lake_at(path)
    create_missing(lake.tables)
    return lake


def lake_at(path: Path) -> Lake:
    storage = LocalStorage()
    lake_path = storage.locate(str(path))
    return Lake(path=path, storage=storage, tables=LakeTables(lake_path, storage))


def rows(table: Table, topic: str, offsets: range, **columns: object) -> pa.RecordBatch:
    """Rows whose numbers are the offsets; `columns` overrides a column, None empties it."""
    arrays = []
    for field in table.file_schema:
        value = columns[field.name] if field.name in columns else _value(field, topic, offsets)
        arrays.append(value if isinstance(value, pa.Array) else _filled(field, value, offsets))
    return pa.RecordBatch.from_arrays(arrays, names=table.file_schema.names)


# Any: an array of whatever type the column has.
def _filled(field: "pa.Field[Any]", value: object, offsets: range) -> "pa.Array[Any]":
    values = value if isinstance(value, list) else [value] * len(offsets)
    filled: pa.Array[Any] = pa.array(values, field.type)
    return filled


def _value(field: "pa.Field[pa.DataType]", topic: str, offsets: range) -> object:
    kind = plain_type(field.type)
    if field.name == "topic":
        return topic
    if field.name in ("partition", "magic"):
        return 2
    if pa.types.is_timestamp(kind):
        return [datetime.fromtimestamp((NOW_MS + n) / 1000, UTC) for n in offsets]
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return list(offsets)
    if pa.types.is_boolean(kind):
        return False
    if pa.types.is_list(kind):
        return [[_element(kind.value_type, n)] for n in offsets]
    if pa.types.is_binary(kind):
        return [b"%s-%d" % (topic.encode(), n) for n in offsets]
    return field.name


def _element(kind: pa.DataType, number: int) -> object:
    if not pa.types.is_struct(kind):
        return number
    texts = {pa.string(): "trace", pa.binary(): b"%d" % number}
    return {field.name: texts.get(field.type, number) for field in kind}


def write_file(lake: Lake, table: Table, topic: str, *batches: pa.RecordBatch) -> DataFile:
    with ParquetFile(lake.storage, lake.tables.lake_path, table, topic) as file:
        for batch in batches:
            file.write(batch)
        written = file.close()
    if written is None:
        raise ValueError("a test's file must have rows")
    return written


def wave(
    lake: Lake,
    topic: str,
    generation: int,
    offsets: range,
    *,
    tables: tuple[Table, ...] | None = None,
    attempt_id: str = "attempt",
) -> TopicWave:
    """One file for each of the tables, None for the topic's, all with the same offsets."""
    constants: dict[str, object] = {
        "source_id": SOURCE,
        "generation": generation,
        "attempt_id": attempt_id,
        "run_id": attempt_id,
    }
    files = []
    for table in LOG_TABLES.of([topic]) if tables is None else tables:
        names = table.file_schema.names
        own = {name: value for name, value in constants.items() if name in names}
        files.append(write_file(lake, table, topic, rows(table, topic, offsets, **own)))
    return TopicWave(topic=topic, generation=generation, files=tuple(files))


def next_wave(lake: Lake, topic: str, offsets: range, **options: str) -> TopicWave:
    generation = versions(lake.tables, SOURCE, [topic])[topic].deciding + 1
    return wave(lake, topic, generation, offsets, attempt_id=options.get("attempt_id", "attempt"))


def attempt_of(source_id: str, attempt_id: str) -> Attempt:
    return Attempt(source_id=source_id, attempt_id=attempt_id, run_id="run", now_ms=NOW_MS)


def new_attempt() -> str:
    return str(uuid.uuid4())


OFFSET_COLUMN = {
    RECORDS.name: "offset",
    BATCHES.name: "base_offset",
    QUARANTINE.name: "base_offset",
    GAPS.name: "start_offset",
    CONSUMER_OFFSETS.name: "record_offset",
    TRANSACTION_STATE.name: "record_offset",
    CLUSTER_METADATA.name: "record_offset",
    CHECKPOINTS.name: "start_offset",
}


def read_offsets(lake: Lake, table: Table, topic: str) -> list[int]:
    """The topic's rows as a reader sees them, by their offsets, sorted, doubles kept.

    A table that serves one topic only has no other's.
    """
    filters = [("topic", "=", topic)] if table.topics is None else None
    found = lake.tables.open(table).to_pyarrow_table(filters=filters)
    return sorted(int(n) for n in found[OFFSET_COLUMN[table.name]].to_pylist() if n is not None)
