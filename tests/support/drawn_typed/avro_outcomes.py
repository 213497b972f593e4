"""What a typed table must have of an Avro value, as fastavro reads it."""

import json
from collections.abc import Iterator
from typing import Any

from support.avro_oracle import by_fastavro, form
from support.drawn_avro import STRICTER, Schema, name_of, without_logical
from support.drawn_typed.avro_schemas import text_of
from support.drawn_typed.outcomes import Outcome
from support.value_campaign.avro_pairs import has_empty_items

_PER_DAY = {"date": 1, "timestamp-millis": 86_400_000, "timestamp-micros": 86_400_000_000}
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_OF_BODIES = {"short", "trailing_bytes", "bad_utf8", "depth", *STRICTER}


def avro_outcome(schema: Schema, body: bytes, number: int, *, is_sound: bool) -> Outcome:
    """What must become of a body.

    Args:
        schema: the writer's schema.
        body: the bytes.
        number: the schema's place among those of the cluster.
        is_sound: whether fastavro wrote the bytes, so that nothing but a number may be refused.
    """
    plain = without_logical(schema)
    # Of items without bytes, fastavro reads as many as an array claims to have.
    is_read = is_sound or not has_empty_items(plain)
    once = json.loads(text_of(plain))
    found = by_fastavro(once, body, names_types=True) if is_read else []
    if not found:
        return Outcome((), frozenset(_OF_BODIES), number)
    value = branched(schema, found[0])
    late = frozenset(_late_faults(schema, value))
    stricter = frozenset() if is_sound else frozenset(STRICTER)
    if late:
        return Outcome((), late | stricter, number)
    is_wrapped = isinstance(schema, str | list) or schema["type"] != "record"
    return Outcome((form(schema, value),), stricter, number, is_wrapped)


def branched(schema: Schema, value: Any) -> Any:
    """The value with the branch of each union: fastavro names those of named types only."""
    match schema:
        case list():
            given, inner = value if isinstance(value, tuple) else (None, value)
            branch = next(e for e in schema if (name_of(e) == given if given else _is_of(e, inner)))
            return name_of(branch), branched(branch, inner)
        case {"type": "record", "fields": fields}:
            return {f["name"]: branched(f["type"], value[f["name"]]) for f in fields}
        case {"items": items}:
            return [branched(items, each) for each in value]
        case {"values": inner}:
            return {key: branched(inner, each) for key, each in value.items()}
    return value


def _is_of(schema: Schema, value: Any) -> bool:
    """Whether a type without a name has a value; no drawn union has two numbers of one kind."""
    kinds = {"boolean": bool, "int": int, "long": int, "float": float, "double": float}
    kinds |= {"bytes": bytes, "string": str, "array": list, "map": dict, "null": type(None)}
    kind = schema["type"] if isinstance(schema, dict) else schema
    return type(value) is kinds.get(kind)


def _late_faults(schema: Schema, value: Any) -> Iterator[str]:
    """Reasons why no column can hold a value whose bytes are sound."""
    match schema:
        case list():
            name, inner = value
            yield from _late_faults(next(e for e in schema if name_of(e) == name), inner)
        case {"type": "record", "fields": fields}:
            for each in fields:
                yield from _late_faults(each["type"], value[each["name"]])
        case {"items": items}:
            for each in value:
                yield from _late_faults(items, each)
        case {"values": inner}:
            for each in value.values():
                yield from _late_faults(inner, each)
        case {"logicalType": "decimal", "precision": 38}:
            if abs(int.from_bytes(value, "big", signed=True)) >= 10**38:
                yield "decimal_overflow"
        case {"logicalType": str(logical)} if logical in _PER_DAY:
            if not _FIRST_DAY <= value // _PER_DAY[logical] <= _LAST_DAY:
                yield "timestamp_range"
