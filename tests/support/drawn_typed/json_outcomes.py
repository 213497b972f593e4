"""JSON values without a schema, with a JSON Schema and of Kafka Connect, and what Python reads."""

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Any

from support.drawn_typed.outcomes import Outcome
from support.json_values import exact
from support.value_campaign.json_pairs import json_text

_REFUSED = frozenset({"bad_json", "bad_utf8", "depth"})
_CONNECT = "org.apache.kafka.connect.data."
_NAMES = ("id", "ID", "a b", "first.name", "at", "amount", "value", "ä")
_LEAVES = ("int32", "int64", "double", "boolean", "string", "bytes")
_LOGICAL = {"Date": "int32", "Time": "int32", "Timestamp": "int64", "Decimal": "bytes"}

# Any: the types that JSON can hold.
Json = Any


def object_body(random: Random) -> bytes:
    """A text, mostly of an object."""
    text = json_text(random, 3)
    return (
        text if random.random() < 0.1 else f'{{"id": {random.getrandbits(70)}, "x": {text}}}'
    ).encode()


def json_outcome(body: bytes, number: int | None = None) -> Outcome:
    """What must become of a text."""
    try:
        return Outcome((exact(body),), frozenset(), number, is_json=True)
    except (ValueError, RecursionError):
        return Outcome((), _REFUSED, number)


def json_schema_text(random: Random) -> str:
    """A JSON Schema of an object whose members have some types."""
    kinds: list[Json] = [{"type": kind} for kind in ("integer", "number", "string", "boolean")]
    kinds += [{"type": "array", "items": {"type": "integer"}}, {}, {"type": ["string", "null"]}]
    members = {name: random.choice(kinds) for name in random.sample(("id", "x", "y", "z"), 3)}
    return json.dumps({"type": "object", "properties": members})


def connect_schema(random: Random, depth: int = 2) -> Json:
    """The schema of a struct in Connect's messages."""
    names = random.sample(_NAMES, random.randrange(1, 6))
    fields = [{"field": name, "optional": True, **_field(random, depth)} for name in names]
    return {"type": "struct", "fields": fields, "optional": False}


def _field(random: Random, depth: int) -> Json:
    match random.choice(
        ("leaf", "leaf", "logical", "struct", "array", "map") if depth else ("leaf",)
    ):
        case "logical":
            name = random.choice([*_LOGICAL])
            more = {"parameters": {"scale": "2"}} if name == "Decimal" else {}
            return {"type": _LOGICAL[name], "name": f"{_CONNECT}{name}", "version": 1, **more}
        case "struct":
            return connect_schema(random, depth - 1)
        case "array":
            return {"type": "array", "items": _field(random, depth - 1)}
        case "map":
            return {"type": "map", "keys": {"type": "string"}, "values": _field(random, depth - 1)}
    return {"type": random.choice(_LEAVES)}


def connect_value(random: Random, schema: Json) -> tuple[Json, Json]:
    """A payload, and the form that its columns must have."""
    if schema.get("optional") and random.random() < 0.2:
        return None, None
    match schema:
        case {"type": "struct", "fields": fields}:
            found = {each["field"]: connect_value(random, each) for each in fields}
            return {n: v for n, (v, _) in found.items()}, {n: f for n, (_, f) in found.items()}
        case {"type": "array", "items": items}:
            both = [connect_value(random, items) for _ in range(random.randrange(3))]
            return [value for value, _ in both], [each for _, each in both]
        case {"type": "map", "values": inner}:
            pairs = {key: connect_value(random, inner) for key in random.sample("abc", 2)}
            payload = {key: value for key, (value, _) in pairs.items()}
            return payload, {"$map": [[key, each] for key, (_, each) in pairs.items()]}
        case {"name": str(name)}:
            return _logical(random, name.removeprefix(_CONNECT))
    return _LEAF_VALUES[schema["type"]](random)


def _logical(random: Random, name: str) -> tuple[Json, Json]:
    match name:
        case "Decimal":
            number = random.randrange(-(10**9), 10**9)
            whole, cents = divmod(abs(number), 100)
            text = f"{'-' if number < 0 else ''}{whole}.{cents:02}"
            return _base64(number.to_bytes(6, "big", signed=True)), {"$decimal": text}
        case "Date":
            days = random.randrange(-700_000, 2_900_000)
            return days, {"$date": days}
        case "Time":
            ms = random.randrange(86_400_000)
            return ms, {"$time": ms}
    ms = random.randrange(-(10**13), 10**14)
    return ms, {"$ts": ms, "unit": "ms"}


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(random: Random) -> tuple[Json, Json]:
    text = _base64(random.randbytes(random.randrange(9)))
    return text, {"$bytes": text}


def _twice(value: Json) -> tuple[Json, Json]:
    return value, value


_LEAF_VALUES: dict[str, Callable[[Random], tuple[Json, Json]]] = {
    "int32": lambda random: _twice(random.randrange(-(1 << 31), 1 << 31)),
    "int64": lambda random: _twice(random.randrange(-(1 << 63), 1 << 63)),
    "double": lambda random: _twice(random.choice((0.5, -1e300, 5e-324, random.random()))),
    "boolean": lambda random: _twice(random.random() < 0.5),
    "string": lambda random: _twice("".join(random.choices('ab"ä€😀\n', k=random.randrange(6)))),
    "bytes": _bytes,
}
