"""Avro: fastavro reads each value as the columns say it, or both refuse it."""

import random as randoms
import string
from collections.abc import Iterator
from typing import Any

from support.avro_oracle import as_dicts, by_fastavro, form, plain_form, read, unbranched, written
from support.drawn_avro import (
    BYTES_TYPES,
    FIXED_TYPES,
    INT_TYPES,
    PRIMITIVES,
    STRICTER,
    Schema,
    name_of,
    named,
    without_logical,
)
from support.value_campaign.damage import damaged

_VALUES, _DAMAGED = 20, 40
_LEAVES = [
    *PRIMITIVES,
    *INT_TYPES,
    *BYTES_TYPES,
    *FIXED_TYPES,
    {"type": "enum", "symbols": ["A", "B"]},
]
_MOST = {
    "date": 700_000,
    "timestamp-millis": 10**13,
    "timestamp-micros": 10**16,
}
"""A number below which a time is between the years 1 and 9999."""
_LATE = ("timestamp_range", "decimal_overflow")


def avro_pairs(random: randoms.Random) -> Iterator[str]:
    """Yield for each value of one random schema how the readings differ; "" if they agree."""
    schema = named(_schema(random, random.randrange(5)), [])
    plain = without_logical(schema)
    values = [value_of(random, plain) for _ in range(_VALUES)]
    bodies = [written(plain, value) for value in values]
    for value, found, reason in zip(values, *read(schema, *bodies), strict=True):
        is_same = reason in _LATE and found is None if reason else found == form(schema, value)
        yield "" if is_same else f"{schema}: {value} is {reason or found}"
    broken = [damaged(random, random.choice(bodies)) for _ in range(_DAMAGED)]
    for body, found, reason in zip(broken, *read(plain, *broken), strict=True):
        # Of items without bytes, fastavro reads as many as an array claims to have.
        is_endless = reason in STRICTER or (reason and has_empty_items(plain))
        expected = [] if is_endless else by_fastavro(plain, body)
        is_same = not expected and found is None if reason else is_read(found, expected)
        yield "" if is_same else f"{plain}: {body.hex()} is {reason or found}, not {expected}"


def is_read(found: Any, expected: list[Any]) -> bool:
    """Whether a value is the only one that fastavro reads."""
    return [as_dicts(unbranched(found))] == [plain_form(each) for each in expected]


def has_empty_items(schema: Schema) -> bool:
    """Whether a schema has an array whose items have no bytes."""
    match schema:
        case {"type": "array", "items": items}:
            return is_empty(items) or has_empty_items(items)
        case {"type": "record", "fields": members}:
            return any(has_empty_items(each["type"]) for each in members)
        case {"values": inner}:
            return has_empty_items(inner)
    return isinstance(schema, list) and any(map(has_empty_items, schema))


def is_empty(schema: Schema) -> bool:
    """Whether values of a schema have no bytes."""
    match schema:
        case "null" | {"type": "null"} | {"type": "fixed", "size": 0}:
            return True
        case {"type": "record", "fields": members}:
            return all(is_empty(each["type"]) for each in members)
    return False


def _schema(random: randoms.Random, depth: int) -> Schema:
    kinds = ("leaf", "record", "array", "map", "optional", "union") if depth else ("leaf",)
    match random.choice(kinds):
        case "record":
            inner = [_schema(random, depth - 1) for _ in range(random.randrange(6))]
            members = [{"name": f"f{index}", "type": each} for index, each in enumerate(inner)]
            return {"type": "record", "fields": members}
        case "array":
            return {"type": "array", "items": _schema(random, depth - 1)}
        case "map":
            return {"type": "map", "values": _schema(random, depth - 1)}
        case "optional":
            inner_type = _schema(random, depth - 1)
            if inner_type == "null" or isinstance(inner_type, list):
                return inner_type
            return random.sample(["null", inner_type], 2)
        case "union":
            some = random.sample(PRIMITIVES, random.randrange(4))
            records = {"type": "record", "fields": []}, FIXED_TYPES[0], FIXED_TYPES[2]
            return [*some, *random.sample(records, random.randrange(1, 3))]
    return random.choice(_LEAVES)


def value_of(random: randoms.Random, schema: Schema) -> Any:
    """A value for fastavro's writer of the plain schema; of a logical type mostly a sound one."""
    match schema:
        case {"logicalType": str(logical)} if logical in _MOST and random.random() < 0.98:
            return random.randrange(-_MOST[logical], _MOST[logical])
        case {"logicalType": "decimal"} if random.random() < 0.98:
            number = random.randrange(10 ** random.choice((1, 5, 20, 38))) * random.choice((1, -1))
            return number.to_bytes(16, "big", signed=True)
        case {"type": "record", "fields": members}:
            return {each["name"]: value_of(random, each["type"]) for each in members}
        case {"items": items}:
            return [value_of(random, items) for _ in range(_few(random))]
        case {"values": inner}:
            return {_text(random): value_of(random, inner) for _ in range(_few(random))}
        case {"symbols": symbols}:
            return random.choice(symbols)
        case {"size": size}:
            return random.randbytes(size)
        case {"type": kind}:
            return value_of(random, kind)
        case list():
            branch = random.choice(schema)
            return name_of(branch), value_of(random, branch)
        case "null":
            return None
        case "boolean":
            return random.random() < 0.5
        case "int":
            return _integer(random, 31)
        case "long":
            return _integer(random, 63)
        case "float":
            return random.choice((0.0, -0.0, 1.5, float("inf"), float("nan"), 2.0**-149))
        case "double":
            return random.choice((random.random(), -0.0, 5e-324, float("-inf"), float("nan")))
        case "bytes":
            return random.randbytes(random.randrange(20))
    return _text(random)


def _few(random: randoms.Random) -> int:
    return random.choice((0, 1, 1, 2, 3))


def _integer(random: randoms.Random, bits: int) -> int:
    number = random.getrandbits(random.randrange(bits + 1))
    return random.choice((number, -number - 1))


def _text(random: randoms.Random) -> str:
    letters = string.ascii_letters + "äß€😀\u0000\uffff\U0010ffff"
    return "".join(random.choices(letters, k=random.choice((0, 1, 3, 8, 9, 17))))
