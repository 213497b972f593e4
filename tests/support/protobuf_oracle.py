"""Protobuf messages compared with the oracle of the typed disk."""

import json
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any

from support.typed_disk import Json, oracle_schemas

PROTOBUF_IDS = {s["id"] for s in oracle_schemas() if s.get("schemaType") == "PROTOBUF"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_same_message(expected: Json, found: Json) -> bool:
    """Return whether a struct has exactly the fields and values of the oracle."""
    left = dict(found)
    left.pop("_present", None)
    for name, value in expected.items():
        match name:
            case "$oneof":
                if any(left.pop(f"{oneof}_case") != case for oneof, case in value.items()):
                    return False
            case "$unknown":
                if left.pop("_unknown") != b"".join(wire(*field) for field in value):
                    return False
            case _ if name in left:
                if not is_same(value, left.pop(name)):
                    return False
            case _:
                if not is_same_json(value, left.pop(f"{name}_json")):
                    return False
    return not any(value for name, value in left.items())


def is_same(expected: Any, found: Any) -> bool:
    match expected:
        case {"$map": pairs}:
            return len(pairs) == len(found) and all(
                key == k and is_same(value, v)
                for (key, value), (k, v) in zip(pairs, found, strict=True)
            )
        case {"$pbts": [seconds, nanos]}:
            micros = timedelta(seconds=seconds, microseconds=nanos // 1000)
            return found in (_EPOCH + micros, micros // timedelta(microseconds=1))
        case {"$pbdur": [seconds, nanos]}:
            return bool(found == seconds * 10**9 + nanos)
        case {"$wrapper": value}:
            return is_same(value, found)
        case {"$json": value}:
            return bool(json.loads(found) == value)
        case {"$any": url, "$bytes": content}:
            return bool(found == {"type_url": url, "value": b64decode(content)})
        case {"$mask": paths}:
            return bool(found == ",".join(paths))
        case {"$bytes": content}:
            return bool(found == b64decode(content))
        case {"$enum": number}:
            return bool(found == str(number))
        case {"$float": name}:
            return str(found) in (name.lower(), {"Infinity": "inf", "-Infinity": "-inf"}.get(name))
        case dict():
            return isinstance(found, dict) and is_same_message(expected, found)
        case list():
            return len(expected) == len(found) and all(map(is_same, expected, found))
    return bool(expected == found)


def is_same_json(expected: Any, found: str | None) -> bool:
    """Return whether the JSON text of a message too deep for columns is the oracle's message."""
    if expected is None or found is None:
        return expected is found
    return bool(json.loads(found)["id"] == expected["id"])


def wire(number: int, kind: int, value: Any) -> bytes:
    """An unknown field, as it is written."""
    tag = varint(number << 3 | kind)
    match kind:
        case 0:
            return tag + varint(value)
        case 2:
            content = b64decode(value["$bytes"])
            return tag + varint(len(content)) + content
    return tag + int(value).to_bytes(8 if kind == 1 else 4, "little")


def varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)
