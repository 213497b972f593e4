"""A file of `records` with made values, and the tasks by which seglake decodes it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seglake.lake.parquet_files import ParquetFile
from seglake.lake.tables import RECORDS, Table
from seglake.lake.typed_tables import typed_table
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.registry.schema_files import listed_registrations
from seglake.value_codec.registry.schema_registry import SchemaRegistry
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders, SchemaUse
from seglake.value_decoding.decoded_parts import PartTyping
from seglake.value_decoding.json_shapes import TypesTask, json_types
from seglake.value_decoding.rows_task import RowsTask
from seglake.value_decoding.tasks import DecodeTask, SurveyTask, decode, survey
from seglake.value_decoding.typed_rows import Stamp
from seglake.value_decoding.typings import KEY_COLUMN, value_typing

_GROUP_BYTES = 24 << 20  # as `read.decoded_bytes`
_CONTEXTS = {"key": ".", "value": "."}


def registry_of(text: str, schema_type: str) -> SchemaRegistry:
    """A registry with a schema of id 1."""
    item = {"subject": "t-value", "version": 1, "id": 1, "schemaType": schema_type, "schema": text}
    registry = SchemaRegistry()
    for each in listed_registrations(json.dumps([item]).encode()):
        registry.supplement(each)
    return registry


def write_records(lake: Path, values: Sequence[bytes]) -> str:
    """Write a file of `records` as an ingest does, and return its path."""
    file = ParquetFile(LocalStorage(), str(lake), RECORDS, "t")
    at_once = max(_GROUP_BYTES // max(map(len, values[:1000])), 1)
    for first in range(0, len(values), at_once):
        file.write(_rows(values[first : first + at_once], first))
    written = file.close()
    assert written is not None
    return str(lake / RECORDS.name / written.path)


def _rows(values: Sequence[bytes], first: int) -> pa.RecordBatch:
    offsets = np.arange(first, first + len(values))
    numbers = {"partition": 0, "timestampType": 0, "generation": 1}
    texts = {"source_id": "cluster", "topic_id": "topic", "run_id": "run"}
    columns: list[Any] = []
    for field in RECORDS.file_schema:
        if field.name == "value":
            columns.append(pa.array(values, pa.binary()))
        elif field.name in texts:
            columns.append(pa.array([texts[field.name]] * len(values)).dictionary_encode())
        elif field.name in numbers:
            columns.append(pa.array(np.full(len(values), numbers[field.name]), field.type))
        elif field.name in ("offset", "timestamp", "timestamp_ms", "batch_base_offset"):
            columns.append(pa.array(offsets, pa.int64()).cast(field.type))
        else:
            columns.append(pa.nulls(len(values), field.type))
    return pa.RecordBatch.from_arrays(columns, names=RECORDS.file_schema.names)


@dataclass(frozen=True, slots=True)
class TypedRecords:
    """A lake with a file of `records`, and what its values are.

    Attributes:
        values: the values, with their frames.
        registry: has their schema as id 1; None for JSON without a schema.
    """

    lake: Path
    path: str
    values: Sequence[bytes]
    registry: SchemaRegistry | None

    def decode(self) -> None:
        """Decode the file into a typed table's, by the tasks of `seglake deserialize`."""
        registry = self.registry or SchemaRegistry()
        survey(SurveyTask(self._task, registry, _CONTEXTS))
        self.decoding(self.uses())()

    def uses(self) -> Sequence[tuple[str, SchemaUse]]:
        """The schema of the values; of JSON, its types are found in all of them."""
        if self.registry is None:
            shape = json_types(TypesTask(self._task, {"value": Form.JSON}))["value"].shape
            return [("", SchemaUse("", JsonReader(shape)))]
        use = SchemaReaders(self.registry).of_id(".", 1)
        if use.messages is None:
            return [("id 1", use)]
        message = use.of_message((0,))
        return [(f"id 1 {message.name}", message)]

    def decoding(self, uses: Sequence[tuple[str, SchemaUse]]) -> Callable[[], None]:
        """The decoding of the file, once its types are known."""
        typing = value_typing(uses, [KEY_COLUMN], [])
        form = Form.JSON if self.registry is None else Form.CONFLUENT
        plain = uses[0][1] if self.registry is None else TEXT_USE
        fields = [pa.field(KEY_COLUMN, pa.binary()), *typing.fields]
        table: Table = typed_table("typed/t", ("t", "", Form.NONE, form), fields).table
        task = DecodeTask(
            rows=self._task,
            lake_path=str(self.lake),
            topic="t",
            tables=(table,),
            key=None,
            value=PartTyping("value", form, ".", (typing,), plain),
            registry=self.registry or SchemaRegistry(),
            stamp=Stamp("run", 1),
            compression_level=1,
            max_raw_bytes=1 << 20,
        )

        def run() -> None:
            report = decode(task)
            [file] = report.files
            assert not report.reasons, report.reasons
            assert file.row_count == len(self.values)
            Path(self.lake, table.name, file.path).unlink()

        return run

    @property
    def _task(self) -> RowsTask:
        return RowsTask(
            storage=LocalStorage(),
            path=self.path,
            source_id="cluster",
            generations={0: frozenset({1})},
            first_offset=0,
            last_offset=len(self.values) - 1,
        )
