"""Changes of a captured table as Debezium and Confluent's Avro converter write them."""

import io
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import fastavro

from support.made_logs import FIRST_MS
from support.typed_disk import Json, Pair, schema_pair

_NAME = "shop.inventory.rows"
KEY, WIDE_KEY, VALUE, LONGER_VALUE = range(1, 5)
"""Ids of schemas: with keys of int and of long, and values without and with a mail."""


def _key(kind: str) -> Json:
    fields = [{"name": "id", "type": kind}]
    return {"type": "record", "name": "Key", "namespace": _NAME, "fields": fields}


def _envelope(*columns: Json) -> Json:
    """The schema of an envelope, with the members that Debezium's connector for MySQL writes."""
    value = {"type": "record", "name": "Value", "fields": [{"name": "id", "type": "int"}, *columns]}
    source = {
        "type": "record",
        "name": "Source",
        "namespace": "io.debezium.connector.mysql",
        "fields": [
            {"name": "ts_ms", "type": "long"},
            {"name": "snapshot", "type": [{"type": "string"}, "null"], "default": "false"},
            {"name": "file", "type": "string"},
            {"name": "pos", "type": "long"},
        ],
    }
    fields = [
        {"name": "before", "type": ["null", value], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": source},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ]
    return {"type": "record", "name": "Envelope", "namespace": _NAME, "fields": fields}


_TEXT: Json = {"name": "name", "type": ["null", "string"], "default": None}
_MAIL: Json = {"name": "mail", "type": ["null", "string"], "default": None}
_SCHEMAS = {
    KEY: _key("int"),
    WIDE_KEY: _key("long"),
    VALUE: _envelope(_TEXT),
    LONGER_VALUE: _envelope(_TEXT, _MAIL),
}


class Change(NamedTuple):
    """A change of a row; without an operation, the tombstone that follows a deletion."""

    op: str
    number: int
    columns: Mapping[str, object] = MappingProxyType({})
    schemas: tuple[int, int] = (KEY, VALUE)

    def pair(self, offset: int) -> Pair:
        """Key and value as Debezium writes them; a truncation has no key."""
        key = None if self.op == "t" else _frame(self.schemas[0], {"id": self.number})
        if not self.op:
            return key, None
        row = {"id": self.number, **self.columns}
        source = {"ts_ms": FIRST_MS, "snapshot": "false", "file": "binlog.1", "pos": offset}
        envelope = {
            "before": row if self.op == "d" else None,
            "after": row if self.op in "cru" else None,
            "source": source,
            "op": self.op,
            "ts_ms": FIRST_MS + offset,
        }
        return key, _frame(self.schemas[1], envelope)


def _frame(schema_id: int, value: Json) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, _SCHEMAS[schema_id], value)
    return b"\0" + schema_id.to_bytes(4, "big") + body.getvalue()


def registered(*schema_ids: int) -> list[Pair]:
    """The registry's records of these schemas."""
    return [
        schema_pair(
            "rows-key" if schema_id in (KEY, WIDE_KEY) else "rows-value",
            1 if schema_id in (KEY, VALUE) else 2,
            schema_id,
            schema=json.dumps(_SCHEMAS[schema_id]),
        )
        for schema_id in schema_ids
    ]
