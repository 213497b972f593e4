"""Task that finds the types of JSON, from all values or from the schemas in messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.value_codec.bodies import Bodies
from seglake.value_codec.connect.envelopes import envelopes
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.json.growth import bounded
from seglake.value_codec.json.inference import shape_of
from seglake.value_codec.json.shapes import Kind, Shape, merged_shapes
from seglake.value_codec.registry.schema_registry import SchemaRegistry
from seglake.value_codec.schema_readers import SchemaReaders
from seglake.value_decoding.record_parts import part_of
from seglake.value_decoding.rows_task import RowsTask

MOST_SCHEMAS = 1000
"""Most schemas of Connect that get columns; values of other schemas stay JSON text."""

JSON_FORMS = (Form.JSON, Form.CONNECT_JSON)


@dataclass(slots=True)
class JsonTypes:
    """Types found in the JSON of keys or values.

    Attributes:
        shape: shape of all values without a schema.
        schemas: text of one schema of each kind in messages of Connect, by name.
    """

    shape: Shape = field(default_factory=lambda: Shape(Kind.NULL))
    schemas: dict[str, bytes] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Return whether further kinds of schemas get no columns."""
        return len(self.schemas) >= MOST_SCHEMAS

    def add(self, other: "JsonTypes") -> None:
        """Add the types found in other rows."""
        self.shape = bounded(merged_shapes(self.shape, other.shape))
        for name, text in other.schemas.items():
            if not self.is_full:
                self.schemas.setdefault(name, text)


class TypesTask(NamedTuple):
    """Rows of `records` whose JSON types a task is to find.

    Attributes:
        forms: form of the keys or values, by part; parts with other forms are omitted.
    """

    rows: RowsTask
    forms: Mapping[str, Form]


def json_types(task: TypesTask) -> dict[str, JsonTypes]:
    """Return the types of JSON in the rows of a task, by part."""
    readers = SchemaReaders(SchemaRegistry())
    found = {part: JsonTypes() for part in task.forms}
    for rows in task.rows.rows(("headers", *task.forms)):
        for part, form in task.forms.items():
            bodies = part_of(rows, part).bodies
            if form is Form.JSON:
                found[part].add(JsonTypes(shape_of(bodies)))
            else:
                found[part].add(JsonTypes(schemas=_schemas(bodies, readers)))
    return found


def _schemas(bodies: Bodies, readers: SchemaReaders) -> dict[str, bytes]:
    """Return one text of each kind of schema in messages of Connect, by name."""
    found: dict[str, bytes] = {}
    for text in envelopes(bodies).texts:
        name, use = readers.of_connect(text)
        if use.reader is not None:
            found.setdefault(name, text)
    return found
