"""A lake with a topic that many schemas wrote: 200 fields each, one of them 32 levels deep."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro

from support.encoder import Partition, Record, Segment, record_batch
from support.lakes import ingested
from support.made_logs import FIRST_MS, write_over
from support.typed_disk import schema_pair, write_registry

_FIELDS, _LEVELS, _AT_ONCE = 200, 32, 250
_KINDS: list[Any] = [
    *("int", "long", "string", "double", "boolean"),
    *(["null", "string"], ["null", "long"], {"type": "array", "items": "int"}),
]


def _names(number: int) -> list[tuple[str, int]]:
    """The fields of a schema: each later one has lost the oldest and got a new one."""
    return [(f"f{n}", n % len(_KINDS)) for n in range(number, number + _FIELDS - 1)]


def _schema(number: int) -> dict[str, Any]:
    deep: Any = "int"
    for level in range(_LEVELS - 1):
        deep = {"type": "record", "name": f"L{level}", "fields": [{"name": "x", "type": deep}]}
    fields = [{"name": name, "type": _KINDS[kind]} for name, kind in _names(number)]
    return {"type": "record", "name": "R", "fields": [*fields, {"name": "deep", "type": deep}]}


def value_of(number: int) -> dict[str, Any]:
    """The value that a schema's records have, without the fields that it lacks."""
    of_kind = [number, number << 33, f"{number}", number / 7, True, None, number, [1, number]]
    deep: Any = number
    for _ in range(_LEVELS - 1):
        deep = {"x": deep}
    return {**{name: of_kind[kind] for name, kind in _names(number)}, "deep": deep}


def lake_of_many_schemas(folder: Path, schemas: int, records_each: int) -> Path:
    """A lake whose topic `t` has records of all schemas in turn."""
    lake, numbers = folder / "lake", range(schemas)
    pairs = [schema_pair("t-value", n + 1, n + 1, schema=json.dumps(_schema(n))) for n in numbers]
    registry = [(0, pairs[n : n + 50]) for n in range(0, schemas, 50)]
    ingested(write_registry(folder / "registry", registry), lake)
    values = []
    for number in numbers:
        stream = io.BytesIO(b"\0" + (number + 1).to_bytes(4, "big"))
        stream.seek(5)
        schema = fastavro.parse_schema(_schema(number))
        fastavro.schemaless_writer(stream, schema, value_of(number))
        values.append(stream.getvalue())
    batches, offset = [], 0
    for _ in range(records_each):
        for first in range(0, schemas, _AT_ONCE):
            some = values[first : first + _AT_ONCE]
            records = [Record(b"k", value, FIRST_MS) for value in some]
            batches.append(record_batch(offset, records))
            offset += len(some)
    log = Partition("t", 0, [Segment(0, batches)])
    ingested(write_over(folder / "values", [log], broker_id=0, cluster_id="c"), lake)
    return lake
