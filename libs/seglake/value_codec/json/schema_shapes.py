"""Shapes of the values that a JSON Schema describes.

| schema | shape |
| --- | --- |
| `type`: `boolean`, `integer`, `number`, `string`; or one of these and `null` | the same |
| `integer` and `number` | number |
| `properties`, also those of all parts of `allOf`, and of the target of `$ref` | object |
| `items` | list |
| `enum`, `const` without a type | the kind of its values, if they have one |
| `oneOf`, `anyOf` with one part that says a type, beside `null` | that of the part |
| several types; none; `true`; an object without properties | JSON text |
| a type in itself, from the fifth time on; what is nested deeper than 32 levels | JSON text |

Values are not validated: values that do not fit the shape stay JSON text (`JsonReader`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

from seglake.value_codec.json.shapes import Kind, Shape, is_text, merged_shapes
from seglake.value_codec.kernels.json_operations import MOST_LEVELS

_KINDS = {
    "boolean": Kind.BOOLEAN,
    "integer": Kind.INTEGER,
    "number": Kind.NUMBER,
    "string": Kind.STRING,
    "array": Kind.LIST,
    "object": Kind.OBJECT,
}
_KINDS_OF_VALUES = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.NUMBER,
    str: Kind.STRING,
    type(None): Kind.NULL,
}
_TEXT, _NULL = Shape(Kind.TEXT), Shape(Kind.NULL)
_MOST_TIMES = 4  # most times that a schema may stand inside itself
_MOST_PLACES = 5000  # most parts of the shape of one schema


# Any: the types that JSON can hold.
Document = Any


class JsonSchemaError(ValueError):
    """Error for a text that is no JSON Schema: neither an object nor a boolean."""


class JsonSchema(NamedTuple):
    """A JSON Schema.

    Attributes:
        title: its title, or nothing.
        shape: the shape of its values.
    """

    title: str
    shape: Shape


def json_schema(text: str, references: Mapping[str, str]) -> JsonSchema:
    """Parse a JSON Schema: its title, and the shape of its values.

    Args:
        text: the schema.
        references: texts of other schemas, by the name that `$ref` has for each.

    Raises:
        JsonSchemaError: a text is neither an object nor a boolean.

    >>> json_schema('{"type": ["null", "integer"]}', {}).shape.kind
    <Kind.INTEGER: 'integer'>
    """
    root = _document(text)
    others = {name: _document(other) for name, other in references.items()}
    title = root.get("title") if isinstance(root, dict) else None
    shape = _Shapes(root, others).of(root, root, ())
    return JsonSchema(str(title) if is_text(title) else "", shape or _TEXT)


def _document(text: str) -> Document:
    """Parse the text of a JSON Schema."""
    try:
        root = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JsonSchemaError("the schema is no JSON") from error
    if not isinstance(root, dict | bool):
        raise JsonSchemaError("the schema is neither an object nor a boolean")
    return root


class _Shapes:
    """Maker of the shapes of a schema's parts; None for a part that describes no type."""

    def __init__(self, root: Document, others: Mapping[str, Document]) -> None:
        self._documents = dict(others)
        for document in (root, *others.values()):
            name = document.get("$id") if isinstance(document, dict) else None
            if isinstance(name, str):
                self._documents.setdefault(urldefrag(name).url, document)
        self._left = _MOST_PLACES

    def of(self, schema: Document, document: Document, entered: tuple[int, ...]) -> Shape | None:
        """Return the shape of a part.

        Args:
            schema: the part.
            document: the whole schema that has it.
            entered: the parts that hold it, outermost first.
        """
        self._left -= 1
        if not isinstance(schema, dict):
            return None
        times = entered.count(id(schema))
        if self._left < 0 or len(entered) >= MOST_LEVELS or times >= _MOST_TIMES:
            return _TEXT
        inside = (*entered, id(schema))
        parts = [self._own(schema, document, inside)]
        parts += [self._either(schema.get(key), document, inside) for key in ("oneOf", "anyOf")]
        parts += [self.of(part, document, inside) for part in _list(schema.get("allOf"))]
        if isinstance(schema.get("$ref"), str):
            target = self._target(schema["$ref"], document)
            parts.append(_TEXT if target is None else self.of(*target, inside))
        known = [part for part in parts if part is not None]
        return reduce(_both, known) if known else None

    def _own(
        self, schema: Mapping[str, Document], document: Document, inside: tuple[int, ...]
    ) -> Shape | None:
        """Return the shape that a part's own keywords describe."""
        kind = _own_kind(schema)
        if kind is Kind.OBJECT:
            properties = schema.get("properties")
            members = properties.items() if isinstance(properties, dict) else ()
            shapes = {
                key: self.of(member, document, inside) or _TEXT
                for key, member in members
                if is_text(key)  # a column's name must be UTF-8; other members stay text
            }
            return Shape(Kind.OBJECT, shapes)
        if kind is Kind.LIST:
            items = schema.get("items")
            are_alike = isinstance(items, dict) and "prefixItems" not in schema
            found = self.of(items, document, inside) if are_alike else None
            return Shape(Kind.LIST, items=found or _TEXT)
        return None if kind is None else Shape(kind)

    def _either(self, parts: Document, document: Document, inside: tuple[int, ...]) -> Shape | None:
        """Return the shape of values that may match any of several schemas (`oneOf`, `anyOf`)."""
        found = [self.of(part, document, inside) for part in _list(parts)]
        others = [part for part in found if part is not None and part.kind is not Kind.NULL]
        if not others:
            return None
        return others[0] if len(others) == 1 and None not in found else _TEXT

    def _target(self, reference: str, document: Document) -> tuple[Document, Document] | None:
        """Return the part to which a reference leads, and the schema of this part."""
        base, fragment = urldefrag(reference)
        if base:
            document = self._documents.get(reference, self._documents.get(base))
        fragment = "" if reference in self._documents else unquote(fragment)
        if fragment and not fragment.startswith("/"):
            named = (part for part in _parts(document) if fragment in _anchors(part))
            found = next(named, None)
            return None if found is None else (found, document)
        found = document
        for step in fragment.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list):
                found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
            else:
                found = found.get(key) if isinstance(found, dict) else None
        return None if found is None else (found, document)


def _own_kind(schema: Mapping[str, Document]) -> Kind | None:
    """Return the kind of value that a part's keywords describe; None if they describe none."""
    types = schema.get("type")
    if types is not None:
        names = {types} if isinstance(types, str) else {*map(str, _list(types))}
        others = names - {"null"}
        if others == {"integer", "number"}:
            return Kind.NUMBER
        if len(others) == 1:
            return _KINDS.get(others.pop(), Kind.TEXT)
        return Kind.TEXT if others else Kind.NULL
    if isinstance(schema.get("properties"), dict):
        return Kind.OBJECT
    if "items" in schema or "prefixItems" in schema:
        return Kind.LIST
    values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
    kinds = [Shape(_KINDS_OF_VALUES.get(type(value), Kind.TEXT)) for value in values]
    if not kinds:
        return None
    found = reduce(merged_shapes, kinds)
    return Kind.TEXT if found.has_text else found.kind


def _both(first: Shape, second: Shape) -> Shape:
    """Return the shape of a value that matches both of two parts."""
    kinds = {first.kind, second.kind}
    if kinds == {Kind.INTEGER, Kind.NUMBER}:
        return Shape(Kind.INTEGER)
    if len(kinds) > 1:
        return _TEXT
    if first.kind is Kind.OBJECT:
        both = first.members.keys() & second.members.keys()
        merged = {key: _both(first.members[key], second.members[key]) for key in both}
        return Shape(Kind.OBJECT, {**first.members, **second.members, **merged})
    if first.kind is Kind.LIST and first.items and second.items:
        return Shape(Kind.LIST, items=_both(first.items, second.items))
    return first


def _list(value: Document) -> Sequence[Document]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _parts(document: Document) -> Iterator[Mapping[str, Document]]:
    """Yield each object in a document, at any depth."""
    due = [document]
    while due:
        part = due.pop()
        if isinstance(part, dict):
            yield part
        if isinstance(part, dict | list):
            due += part.values() if isinstance(part, dict) else part


def _anchors(part: Mapping[str, Document]) -> set[str]:
    """Return the names by which a reference may lead to a part."""
    names = [part.get("$anchor"), part.get("$dynamicAnchor")]
    ids = [part.get("$id"), part.get("id")]
    names += [name[1:] for name in ids if isinstance(name, str) and name.startswith("#")]
    return {name for name in names if isinstance(name, str)}
