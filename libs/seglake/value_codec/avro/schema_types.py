"""Reads the text of an Avro schema into types.

Source: Apache Avro 1.12, specification. Parts that do not matter for decoding with the writer's
schema are ignored: defaults, aliases, orders and documentation.

| in the schema | what becomes of it |
| --- | --- |
| a logical type that is unknown, or that its base cannot have | ignored |
| a named type inside itself | the same AvroType: types may form a circle |
| the same name twice, or a name that nothing defines | SchemaTextError |
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

_DEEPEST_SCHEMA = 200  # most nested levels of a schema's JSON
_MOST_TYPES = 20_000  # most types that a schema names, with its imports


class Kind(StrEnum):
    """Kind of an Avro type, in the schema's own words."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    FIXED = "fixed"
    ENUM = "enum"
    RECORD = "record"
    ARRAY = "array"
    MAP = "map"
    UNION = "union"


class Logical(StrEnum):
    """Logical type of Avro, in the schema's own words."""

    DECIMAL = "decimal"
    DATE = "date"
    TIME_MILLIS = "time-millis"
    TIME_MICROS = "time-micros"
    TIMESTAMP_MILLIS = "timestamp-millis"
    TIMESTAMP_MICROS = "timestamp-micros"
    TIMESTAMP_NANOS = "timestamp-nanos"
    LOCAL_TIMESTAMP_MILLIS = "local-timestamp-millis"
    LOCAL_TIMESTAMP_MICROS = "local-timestamp-micros"
    LOCAL_TIMESTAMP_NANOS = "local-timestamp-nanos"
    UUID = "uuid"
    DURATION = "duration"


_BASES: Mapping[Logical, frozenset[Kind]] = {
    Logical.DECIMAL: frozenset({Kind.BYTES, Kind.FIXED}),
    Logical.DATE: frozenset({Kind.INT}),
    Logical.TIME_MILLIS: frozenset({Kind.INT}),
    Logical.TIME_MICROS: frozenset({Kind.LONG}),
    Logical.TIMESTAMP_MILLIS: frozenset({Kind.LONG}),
    Logical.TIMESTAMP_MICROS: frozenset({Kind.LONG}),
    Logical.TIMESTAMP_NANOS: frozenset({Kind.LONG}),
    Logical.LOCAL_TIMESTAMP_MILLIS: frozenset({Kind.LONG}),
    Logical.LOCAL_TIMESTAMP_MICROS: frozenset({Kind.LONG}),
    Logical.LOCAL_TIMESTAMP_NANOS: frozenset({Kind.LONG}),
    Logical.UUID: frozenset({Kind.STRING, Kind.FIXED}),
    Logical.DURATION: frozenset({Kind.FIXED}),
}
_FIXED_SIZES = {Logical.UUID: 16, Logical.DURATION: 12}
_PRIMITIVES = frozenset(
    {
        *(Kind.NULL, Kind.BOOLEAN, Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE),
        *(Kind.BYTES, Kind.STRING),
    }
)


class SchemaTextError(ValueError):
    """Error for a text that is no Avro schema; the message says why."""


class Field(NamedTuple):
    """Field of an Avro record."""

    name: str
    type: "AvroType"


@dataclass(slots=True, eq=False)
class AvroType:
    """A type. All uses of a named type are one object, so two types may share parts.

    Attributes:
        name: full name of a record, enum or fixed, else "".
        precision: most digits of a decimal, else 0.
        scale: digits of a decimal after the point.
        size: bytes of a fixed, else 0.
        symbols: symbols of an enum.
        fields: fields of a record.
        branches: types of a union's branches; for an array or a map, the one type of its items or
            values.
        is_empty: whether values of the type have no bytes.
    """

    kind: Kind
    name: str = ""
    logical: Logical | None = None
    precision: int = 0
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    branches: tuple["AvroType", ...] = ()
    is_empty: bool = False


def parsed_schema(text: str, imports: Mapping[str, str]) -> AvroType:
    """Return the type that a schema's text defines.

    Args:
        text: JSON, or the bare name of a primitive type, which old clients wrote.
        imports: texts of the schemas that the text names; a schema precedes those that need it.

    Raises:
        SchemaTextError: the text, or one of the imports, is no schema.

    >>> parsed_schema('["null", {"type": "int", "logicalType": "date"}]', {}).branches[1].logical
    <Logical.DATE: 'date'>
    """
    reader = _Reader()
    for imported in dict.fromkeys(imports.values()):  # two names may lead to the same schema
        reader.read(_json(imported))
    return reader.read(_json(text))


# Any: the types that JSON can hold.
def _json(text: str) -> Any:
    if text in _PRIMITIVES:
        return text
    try:
        found = json.loads(text)
        # Fails for half a surrogate pair, which is in no name.
        json.dumps(found, ensure_ascii=False).encode()
        return found
    except (ValueError, RecursionError):
        raise SchemaTextError("the schema is no JSON") from None


@dataclass(slots=True)
class _Reader:
    """Reader of Avro schemas that refer to one another by name."""

    named: dict[str, AvroType] = field(default_factory=dict)
    depth: int = 0
    types: int = 0

    def read(self, schema: Any, namespace: str = "") -> AvroType:
        """Read the type that a schema inside of a namespace defines."""
        if self.depth > _DEEPEST_SCHEMA:
            raise SchemaTextError("the schema is nested too deeply")
        if self.types == _MOST_TYPES:
            raise SchemaTextError("the schema has too many types")
        self.depth += 1
        self.types += 1
        try:
            match schema:
                case str():
                    return self._of_name(schema, namespace)
                case list():
                    branches = tuple(self.read(branch, namespace) for branch in schema)
                    return AvroType(Kind.UNION, branches=branches)
                case dict():
                    return self._of_object(schema, namespace)
            raise SchemaTextError(f"{_short(schema)} is no type")
        finally:
            self.depth -= 1

    def _of_name(self, name: str, namespace: str) -> AvroType:
        if name in _PRIMITIVES:
            return AvroType(Kind(name), is_empty=name == Kind.NULL)
        for full in (_full_name(name, namespace), name):
            if full in self.named:
                return self.named[full]
        raise SchemaTextError(f"{_short(name)} is the name of no type")

    def _of_object(self, schema: dict[str, Any], namespace: str) -> AvroType:
        kind = schema.get("type")
        if not isinstance(kind, str):
            if kind is None:
                raise SchemaTextError("an object has no type")
            return self.read(kind, namespace)
        match kind:
            case "record" | "error":
                return self._record(schema, namespace)
            case "enum":
                symbols = schema.get("symbols")
                if not isinstance(symbols, list) or {type(each) for each in symbols} - {str}:
                    raise SchemaTextError("an enum has no symbols")
                return self._add(schema, namespace, AvroType(Kind.ENUM, symbols=tuple(symbols)))
            case "fixed":
                size = _size(schema.get("size"))
                found = AvroType(Kind.FIXED, size=size, is_empty=size == 0)
                return self._add(schema, namespace, _with_logical(found, schema))
            case "array" | "map":
                part = "items" if kind == "array" else "values"
                if part not in schema:
                    raise SchemaTextError(f"a type {kind} has no {part}")
                return AvroType(Kind(kind), branches=(self.read(schema[part], namespace),))
        found = self._of_name(kind, namespace)
        return _with_logical(found, schema) if kind in _PRIMITIVES else found

    def _record(self, schema: dict[str, Any], namespace: str) -> AvroType:
        """Read a record's type; its own fields may name it."""
        found = self._add(schema, namespace, AvroType(Kind.RECORD))
        own_namespace = found.name.rpartition(".")[0]
        members = schema.get("fields")
        if not isinstance(members, list):
            raise SchemaTextError(f"record {_short(found.name)} has no fields")
        fields = []
        for member in members:
            if not isinstance(member, dict) or not isinstance(member.get("name"), str):
                raise SchemaTextError(f"record {_short(found.name)} has a field without a name")
            fields.append(Field(member["name"], self.read(member.get("type"), own_namespace)))
        if len({name for name, _ in fields}) < len(fields):
            raise SchemaTextError(f"record {_short(found.name)} has a field twice")
        found.fields = tuple(fields)
        found.is_empty = all(each.type.is_empty for each in fields)
        return found

    def _add(self, schema: dict[str, Any], namespace: str, found: AvroType) -> AvroType:
        """Give a type its full name, and store it under that name."""
        name, own = schema.get("name"), schema.get("namespace", namespace)
        if not isinstance(name, str) or not name:
            raise SchemaTextError(f"a type {found.kind} has no name")
        found.name = _full_name(name, own if isinstance(own, str) else "")
        if found.name in self.named:
            raise SchemaTextError(f"{_short(found.name)} is defined twice")
        self.named[found.name] = found
        return found


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _with_logical(found: AvroType, schema: dict[str, Any]) -> AvroType:
    """Set the type's logical type if the schema has one that fits its base."""
    name = schema.get("logicalType")
    if name not in list(Logical) or found.kind not in _BASES[Logical(name)]:
        return found
    if name == Logical.DECIMAL:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if type(precision) is not int or type(scale) is not int:
            return found
        if not 0 <= scale <= precision or precision == 0:
            return found
        found.precision, found.scale = precision, scale
    elif found.kind is Kind.FIXED and found.size != _FIXED_SIZES[Logical(name)]:
        return found
    found.logical = Logical(name)
    return found


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 31:
        raise SchemaTextError("the size of a fixed is no number of bytes")
    return value


def _short(value: object) -> str:
    """Return a part of a schema as text, cut for a message."""
    return str(value)[:80]
