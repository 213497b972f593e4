"""Canonical form of an Avro schema, and its fingerprint.

Source: Apache Avro 1.12, specification, "Parsing Canonical Form for Schemas" and "Schema
Fingerprints". The text has a referenced schema's type where the type is first used, as in the
writer's text.
"""

import json
from typing import Any

from seglake.value_codec.avro.schema_types import AvroType, Kind

_EMPTY = 0xC15D213AA4D7A795


def fingerprint(schema: AvroType) -> int:
    """Return the CRC-64-AVRO of a schema's canonical form.

    >>> f"{fingerprint(AvroType(Kind.NULL)):016x}"
    '63dd24e7cc258f8a'
    """
    found = _EMPTY
    for byte in canonical_form(schema).encode():
        found = (found >> 8) ^ _TABLE[(found ^ byte) & 0xFF]
    return found


def canonical_form(schema: AvroType) -> str:
    """Return a schema in the form from which its fingerprint is computed.

    >>> canonical_form(AvroType(Kind.MAP, branches=(AvroType(Kind.INT),)))
    '{"type":"map","values":"int"}'
    """
    return json.dumps(_plain(schema, set()), separators=(",", ":"), ensure_ascii=False)


# Any: JSON values.
def _plain(of: AvroType, written: set[str]) -> Any:
    """Return a type as JSON; of a named type that is written already, its name."""
    if of.name in written:
        return of.name
    if of.name:
        written.add(of.name)
    inner = [_plain(each, written) for each in of.branches]
    named = {"name": of.name, "type": of.kind}
    match of.kind:
        case Kind.RECORD:
            fields = [{"name": each.name, "type": _plain(each.type, written)} for each in of.fields]
            return {**named, "fields": fields}
        case Kind.ENUM:
            return {**named, "symbols": of.symbols}
        case Kind.FIXED:
            return {**named, "size": of.size}
        case Kind.ARRAY:
            return {"type": of.kind, "items": inner[0]}
        case Kind.MAP:
            return {"type": of.kind, "values": inner[0]}
        case Kind.UNION:
            return inner
    return of.kind


def _remainder(byte: int) -> int:
    """Return the CRC-64-AVRO remainder of a byte."""
    for _ in range(8):
        byte = (byte >> 1) ^ (_EMPTY & -(byte & 1))
    return byte


_TABLE = [_remainder(byte) for byte in range(256)]
