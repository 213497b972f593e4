"""What fastavro reads, in the form in which seglake's columns say it."""

import base64
import io
import json
import math
import uuid
from typing import Any

import fastavro

from seglake.value_codec.avro.schema_types import parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.json_values import json_texts
from seglake.value_codec.reject_reasons import RejectReason
from support.drawn_avro import UNITS, Schema, name_of


def form(schema: Schema, value: Any) -> Any:
    """What the columns should say, as JSON, of fastavro's value of the plain schema."""
    match schema:
        case list():
            name, inner = value
            branch = next(each for each in schema if name_of(each) == name)
            others = [each for each in schema if each != "null"]
            if branch == "null" or len(others) == 1:
                return form(branch, inner)
            return {f"member_{name_of(e)}": form(e, inner) if e == branch else None for e in others}
        case {"type": "record", "fields": members}:
            return {m["name"]: form(m["type"], value[m["name"]]) for m in members}
        case {"items": items}:
            return [form(items, each) for each in value]
        case {"values": inner}:
            return {"$map": [[key, form(inner, each)] for key, each in value.items()]}
        case {"logicalType": "decimal", "precision": 38, "scale": scale}:
            number = int.from_bytes(value, "big", signed=True)
            digits = str(abs(number)).zfill(scale + 1)
            sign = "-" if number < 0 else ""
            return {"$decimal": f"{sign}{digits[:-scale]}.{digits[-scale:]}"}
        case {"logicalType": "uuid", "type": "fixed"}:
            return str(uuid.UUID(bytes=value))
        case {"logicalType": "date"}:
            return {"$date": value}
        case {"logicalType": str(name), "type": "int" | "long"}:
            kind = "$time" if name.startswith("time-") else "$ts"
            kind = "$local" if name.startswith("local") else kind
            return {kind: value, "unit": UNITS[name.rpartition("-")[2]]}
    match value:
        case bytes():
            return {"$bytes": base64.b64encode(value).decode()}
        case float() if not math.isfinite(value):
            sign = "-" if value < 0 else ""
            return {"$float": "NaN" if math.isnan(value) else f"{sign}Infinity"}
    return value


def read(schema: Schema, *bodies: bytes) -> tuple[list[Any], list[str]]:
    """What the columns say of bodies, as JSON, and the reasons of those that do not decode."""
    reader = AvroReader(parsed_schema(json.dumps(schema), {}), is_raw_bytes=False)
    found = reader.read(bodies_of_bytes(bodies))
    found.values.validate()
    assert found.values.type == reader.type
    assert len(found.values) == len(bodies)
    texts = [json.loads(text) for text in json_texts(found.values)]
    return texts, [RejectReason.of_code(code) if code else "" for code in found.reasons.tolist()]


def written(schema: Schema, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


class _Ending(io.BytesIO):
    """Bytes that end with an error: fastavro would read billions of empty items after the end."""

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if size is not None and len(found) < size:
            raise EOFError
        return found


def by_fastavro(schema: Schema, body: bytes, *, names_types: bool = False) -> list[Any]:
    """The value that fastavro reads up to the last byte; else none.

    Args:
        names_types: whether values of named types in unions come with the name.
    """
    stream = _Ending(body)
    try:
        value = fastavro.schemaless_reader(
            stream,
            fastavro.parse_schema(schema),
            None,
            return_record_name=False,
            return_named_type=names_types,
        )
    except (EOFError, IndexError, ValueError, OverflowError, TypeError, MemoryError, KeyError):
        return []
    return [value] if stream.tell() == len(body) else []


def unbranched(value: Any) -> Any:
    """What columns say, without the members of unions that are not set."""
    match value:
        case dict() if value and all(key.startswith("member_") for key in value):
            return next((unbranched(e) for e in value.values() if e is not None), None)
        case dict():
            return {key: unbranched(each) for key, each in value.items()}
        case list():
            return [unbranched(each) for each in value]
    return value


def plain_form(value: Any) -> Any:
    """Fastavro's value as JSON, with maps as they come."""
    match value:
        case dict():
            return {key: plain_form(each) for key, each in value.items()}
        case list():
            return [plain_form(each) for each in value]
    return form(None, value)


def as_dicts(value: Any) -> Any:
    match value:
        case {"$map": pairs}:
            return {key: as_dicts(each) for key, each in pairs}
        case dict():
            return {key: as_dicts(each) for key, each in value.items()}
        case list():
            return [as_dicts(each) for each in value]
    return value
