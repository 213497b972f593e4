"""Avro schemas that evolve as they do in years, and what fastavro reads with them.

A schema is a tree with all definitions written out; `text_of` writes each name once.
"""

import json
from collections.abc import Collection, Iterator
from copy import deepcopy
from random import Random
from typing import Any

from support.drawn_avro import BYTES_TYPES, DECIMAL, INT_TYPES, PRIMITIVES, Schema

_FIELD_NAMES = (
    "id",
    "ID",
    "name",
    "Name",
    "amount",
    "at",
    "_offset",
    "value",
    "key",
    "tags",
    "a_b",
)
_WIDER = {"int": ("long", "double"), "long": (DECIMAL,), "float": ("double",), "string": ("bytes",)}


class AvroDrawer:
    """Draws schemas whose named types have names of their own."""

    def __init__(self, random: Random, namespace: str) -> None:
        self._random, self._namespace = random, namespace
        self._number = 0
        self.shared: list[Schema] = []  # types that schemas refer to, which never change

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{self._namespace}.{kind}{self._number}"

    def record(self, depth: int = 2) -> Schema:
        """A record with fields of all types."""
        names = self._random.sample(_FIELD_NAMES, self._random.randrange(1, 7))
        fields = [{"name": name, "type": self.type(depth)} for name in names]
        return {"type": "record", "name": self._name("Record"), "fields": fields}

    def type(self, depth: int) -> Schema:
        """A type of a field."""
        random = self._random
        kinds = ("leaf", "leaf", "optional", "record", "array", "map", "union")
        match random.choice(kinds if depth else kinds[:3]):
            case "record":
                return self.record(depth - 1)
            case "array":
                return {"type": "array", "items": self.type(depth - 1)}
            case "map":
                return {"type": "map", "values": self.type(depth - 1)}
            case "optional":
                return random.sample(["null", self._leaf()], 2)
            case "union":
                some = [random.choice(("int", "long")), random.choice(("float", "double"))]
                some += ["null", "string", "bytes", "boolean"]
                return [*random.sample(some, random.randrange(4)), self.record(0), self._enum()]
        return self._leaf()

    def _leaf(self) -> Schema:
        if self.shared and self._random.random() < 0.15:
            return self._random.choice(self.shared)
        sized = {"type": "fixed", "size": 16, "logicalType": "uuid"}
        found = self._random.choice(
            (*PRIMITIVES[1:], *INT_TYPES, *BYTES_TYPES, sized, {"type": "enum"})
        )
        if found == sized:
            return {**sized, "name": self._name("Id")}
        return self._enum() if found == {"type": "enum"} else found

    def _enum(self) -> Schema:
        return {"type": "enum", "name": self._name("Kind"), "symbols": ["A", "B"]}

    def evolved(self, schema: Schema) -> Schema:
        """A later version of a schema: some changes are compatible, some are not."""
        found = deepcopy(schema)
        records = [*_records(found, [each["name"] for each in self.shared])]
        if not records:
            return self._changed(found)
        for _ in range(self._random.randrange(1, 4)):
            fields = self._random.choice(records)["fields"]
            match self._random.choice(("add", "add", "drop", "move", "change", "change", "again")):
                case "add":
                    free = [name for name in _FIELD_NAMES if name not in _names(fields)]
                    if free:
                        new = {"name": self._random.choice(free), "type": self.type(1)}
                        fields.insert(self._random.randrange(len(fields) + 1), new)
                case "drop" if fields:
                    fields.pop(self._random.randrange(len(fields)))
                case "move":
                    self._random.shuffle(fields)
                case "change" if fields:
                    field = self._random.choice(fields)
                    field["type"] = self._changed(field["type"])
                case "again" if fields:
                    self._random.choice(fields)["type"] = self.type(1)
        return found

    def _changed(self, kind: Schema) -> Schema:
        """A type that some readers would promote to."""
        match kind:
            case {"symbols": symbols}:
                return {**kind, "symbols": [*symbols, f"C{len(symbols)}"]}
            case str() if kind in _WIDER:
                return self._random.choice(_WIDER[kind])
            case "null" | list() | {"type": "record"}:
                return kind
        return ["null", kind]


def _records(schema: Schema, fixed: Collection[str]) -> Iterator[Schema]:
    """The records in a schema without those of these names."""
    match schema:
        case {"fields": fields, "name": name} if name not in fixed:
            yield schema
            for field in fields:
                yield from _records(field["type"], fixed)
        case {"items": inner} | {"values": inner}:
            yield from _records(inner, fixed)
        case list():
            for each in schema:
                yield from _records(each, fixed)


def names_in(schema: Schema) -> Iterator[str]:
    """The names of all named types of a schema."""
    match schema:
        case {"name": name, "type": "record" | "enum" | "fixed"}:
            yield name
            for field in schema.get("fields", ()):
                yield from names_in(field["type"])
        case {"items": inner} | {"values": inner}:
            yield from names_in(inner)
        case list():
            for each in schema:
                yield from names_in(each)


def _names(fields: list[Any]) -> set[str]:
    return {field["name"] for field in fields}


def text_of(schema: Schema, external: Collection[str] = ()) -> str:
    """The schema's text; types of these names are defined elsewhere."""
    return json.dumps(_once(schema, {*external}))


def _once(schema: Schema, known: set[str]) -> Schema:
    match schema:
        case {"name": name} if name in known:
            return name
        case {"name": name, "fields": fields}:
            known.add(name)
            return {**schema, "fields": [{**f, "type": _once(f["type"], known)} for f in fields]}
        case {"name": name}:
            known.add(name)
        case {"items": items}:
            return {**schema, "items": _once(items, known)}
        case {"values": inner}:
            return {**schema, "values": _once(inner, known)}
        case list():
            return [_once(each, known) for each in schema]
    return schema
