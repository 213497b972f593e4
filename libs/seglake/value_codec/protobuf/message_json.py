"""A message as a JSON value, for messages too deep for columns; includes unset fields."""

from base64 import b64encode
from typing import Any

from seglake.value_codec.protobuf.converters import json_number, json_value, unknown_bytes


# Any: neither the library nor JSON has types.
def message_json(message: Any) -> Any:
    """Return a message as a value of JSON.

    Bytes are base64, enums names, integers exact. Fields that the schema does not have are in
    `_unknown`. Timestamps and durations are objects of seconds and nanos, like any message.
    """
    if message.DESCRIPTOR.full_name in _JSON_TYPES:
        return json_value(message)
    found = {}
    for field in message.DESCRIPTOR.fields:
        if not field.has_presence or message.HasField(field.name):
            found[field.name] = _field(getattr(message, field.name), field)
    if unknown := unknown_bytes(message):
        found["_unknown"] = b64encode(unknown).decode()
    return found


_JSON_TYPES = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))


def _field(value: Any, field: Any) -> Any:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        of_value = inner.fields_by_name["value"]
        return {str(key): _one(each, of_value) for key, each in sorted(value.items())}
    if field.is_repeated:
        return [_one(each, field) for each in value]
    return _one(value, field)


def _one(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return message_json(value)
    if field.type == field.TYPE_ENUM:
        named = field.enum_type.values_by_number.get(value)
        return value if named is None else named.name
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return json_number(value) if isinstance(value, float) else value
