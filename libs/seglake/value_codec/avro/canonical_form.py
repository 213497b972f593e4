"""Canonical form of an Avro schema, and its fingerprint.

Source: Apache Avro 1.12, specification, "Parsing Canonical Form for Schemas" and "Schema
Fingerprints". The text has a referenced schema's type where the type is first used, as in the
writer's text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_EMPTY = 0xC15D213AA4D7A795
_ORDER = ("name", "type", "fields", "symbols", "items", "values", "size")
_NAMED = frozenset({"record", "error", "enum", "fixed"})


def fingerprint(text: str, imports: Mapping[str, str]) -> int:
    """Return the CRC-64-AVRO of a schema's canonical form.

    Args:
        text: a schema that `parsed_schema` reads.
        imports: texts of the schemas that the text names.

    >>> f"{fingerprint('null', {}):016x}"
    '63dd24e7cc258f8a'
    """
    found = _EMPTY
    for byte in canonical_form(text, imports).encode("utf-8", "surrogatepass"):
        found = (found >> 8) ^ _TABLE[(found ^ byte) & 0xFF]
    return found


def canonical_form(text: str, imports: Mapping[str, str]) -> str:
    """Return a schema in the form from which its fingerprint is computed.

    >>> canonical_form('{"type":{"type":"map","values":"int"},"doc":"x"}', {})
    '{"type":"map","values":"int"}'
    """
    writer = _Writer()
    for imported in imports.values():
        writer.collect(_json(imported), "")
    return json.dumps(writer.plain(_json(text), ""), separators=(",", ":"), ensure_ascii=False)


# Any: JSON values.
def _json(text: str) -> Any:
    return text if text in _PRIMITIVES else json.loads(text)


@dataclass(slots=True)
class _Writer:
    """Writer of canonical forms.

    Attributes:
        imported: named types of imports that the form does not have yet, and their namespaces.
    """

    imported: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)

    def collect(self, schema: Any, namespace: str) -> None:
        """Record the named types of an imported schema, which the form may need."""
        match schema:
            case list():
                for branch in schema:
                    self.collect(branch, namespace)
            case {"type": str(kind)} if kind in _NAMED:
                name = _full_name(schema, namespace)
                self.imported.setdefault(name, (schema, namespace))
                for member in schema.get("fields", ()):
                    self.collect(member["type"], name.rpartition(".")[0])
            case dict():
                for part in ("type", "items", "values"):
                    self.collect(schema.get(part), namespace)

    def plain(self, schema: Any, namespace: str) -> Any:
        """Return a schema with full names, ordered members, and only the parts of its meaning."""
        match schema:
            case str():
                return self._of_name(schema, namespace)
            case list():
                return [self.plain(branch, namespace) for branch in schema]
            case {"type": str(kind)} if kind in _NAMED:
                name = _full_name(schema, namespace)
                self.imported.pop(name, None)
                found = {**schema, "name": name, "type": "record" if kind == "error" else kind}
                if kind in ("record", "error"):
                    found["fields"] = [
                        {"name": each["name"], "type": self.plain(each["type"], _space(name))}
                        for each in schema["fields"]
                    ]
                return _ordered(found, _ORDER)
            case {"type": "array" | "map" as kind}:
                part = "items" if kind == "array" else "values"
                return {"type": kind, part: self.plain(schema[part], namespace)}
        return self.plain(schema["type"], namespace)

    def _of_name(self, name: str, namespace: str) -> Any:
        """Return the full name of a type, or the type itself if it is imported and new here."""
        for full in (f"{namespace}.{name}", name):
            if full in self.imported:
                return self.plain(*self.imported[full])
        is_full = "." in name or not namespace or name in _PRIMITIVES
        return name if is_full else f"{namespace}.{name}"


_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def _ordered(schema: dict[str, Any], members: tuple[str, ...]) -> dict[str, Any]:
    kept = {"record": {"fields"}, "enum": {"symbols"}, "fixed": {"size"}}[schema["type"]]
    return {name: schema[name] for name in members if name in kept | {"name", "type"}}


def _full_name(schema: dict[str, Any], namespace: str) -> str:
    name, own = schema["name"], schema.get("namespace", namespace)
    return name if "." in name or not own else f"{own}.{name}"


def _space(full_name: str) -> str:
    return full_name.rpartition(".")[0]


def _table() -> list[int]:
    """Return the CRC-64-AVRO remainder of each byte."""
    table = []
    for byte in range(256):
        remainder = byte
        for _ in range(8):
            remainder = (remainder >> 1) ^ (_EMPTY & -(remainder & 1))
        table.append(remainder)
    return table


_TABLE = _table()
