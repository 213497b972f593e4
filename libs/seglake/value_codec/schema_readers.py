"""Readers of values by the schemas of a registry, each made once a process."""

import hashlib
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from seglake.value_codec.avro.canonical_form import fingerprint
from seglake.value_codec.avro.schema_types import SchemaTextError, parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from seglake.value_codec.connect.connect_schemas import ConnectSchemaError, connect_schema
from seglake.value_codec.decoded import ColumnReader
from seglake.value_codec.json.schema_shapes import JsonSchemaError, json_schema
from seglake.value_codec.json.shapes import Kind, Shape
from seglake.value_codec.json.value_reader import JsonReader
from seglake.value_codec.protobuf.compiler import ProtoTextError, has_protobuf
from seglake.value_codec.protobuf.schema_messages import SchemaMessages
from seglake.value_codec.registry.schema_registry import (
    ResolveError,
    SchemaRegistry,
    StoredSchema,
)
from seglake.value_codec.registry.schemas import DEFAULT_CONTEXT, SchemaType
from seglake.value_codec.reject_reasons import RejectReason

_MOST_TEXTS = 10_000  # most schemas of messages to remember
_MOST_SCHEMAS = 1_024  # most schemas whose readers a process keeps for its next tasks
_NAME_DIGITS = 16


class SchemaUse(NamedTuple):
    """Reader for the values of a schema, or the reason why no value can be read.

    Attributes:
        name: type and full name of the schema, for a person.
        reader: reads the values; None if they cannot be read.
        problem: why no value of the schema decodes; None if there is a reader, or if there are
            messages.
        schema_id: id of the schema; None if the id is unknown, or the schema has no id.
        context: context of the id.
        messages: for Protobuf, the messages of the schema: each value names one of them.
    """

    name: str
    reader: ColumnReader | None = None
    problem: RejectReason | None = None
    schema_id: int | None = None
    context: str = DEFAULT_CONTEXT
    messages: SchemaMessages | None = None

    def of_message(self, path: tuple[int, ...], *, is_glue: bool = False) -> "SchemaUse":
        """Return the use of a message of the schema, by the indexes that lead to it.

        Args:
            path: the indexes.
            is_glue: whether the only index is Glue's.
        """
        found: tuple[str, ColumnReader] | None = None
        if self.messages is not None:
            found = self.messages.numbered(path[0]) if is_glue else self.messages.at(path)
        return self._of_found(found)

    def of_named_message(self, name: str) -> "SchemaUse":
        """Return the use of a message of the schema, by its full name."""
        return self._of_found(None if self.messages is None else self.messages.named(name))

    def _of_found(self, found: tuple[str, ColumnReader] | None) -> "SchemaUse":
        if found is None:
            return self._replace(messages=None, problem=RejectReason.BAD_MESSAGE_INDEX)
        return self._replace(
            messages=None, name=f"{SchemaType.PROTOBUF} {found[0]}", reader=found[1]
        )


TEXT_USE = SchemaUse("", JsonReader(Shape(Kind.TEXT)))
"""Way to read JSON of no known shape: as text."""
_UNKNOWN_ID = SchemaUse("unknown", problem=RejectReason.UNKNOWN_SCHEMA_ID)


class SchemaReaders:
    """Readers of a registry's schemas, by id or GUID."""

    def __init__(self, registry: SchemaRegistry) -> None:
        """Store the registry; readers are made on demand."""
        self._registry = registry
        self._of_connect: dict[bytes, tuple[str, SchemaUse]] = {}
        self._of_shape: dict[str, SchemaUse] = {}
        self._uses: dict[tuple[str, int] | bytes | str, SchemaUse] = {}
        self._of_fingerprint: dict[int, StoredSchema] | None = None

    def named(self, subject: str, name: str) -> SchemaUse:
        """Return how values of a schema are read: `id 7`, `GUID …` or `fingerprint …`.

        Args:
            subject: subject of the keys or values, see `SchemaRegistry.candidates`.
            name: the schema, as `frames.Frame` names it.
        """
        kind, _, text = name.partition(" ")
        if kind == "id":
            return self.of_id(subject, int(text))
        if kind == "fingerprint":
            return self.of_fingerprint(int(text, 16))
        return self.of_guid(UUID(text).bytes)

    def of_id(self, subject: str, schema_id: int) -> SchemaUse:
        """Return how keys or values of a subject are read that name this schema id."""
        key = subject, schema_id
        if key in self._uses:
            return self._uses[key]
        found = self._registry.candidates(subject, schema_id)
        if len(found) > 1:
            return SchemaUse("several", problem=RejectReason.AMBIGUOUS_SCHEMA_ID)
        return self._use(found[0], key) if found else _UNKNOWN_ID

    def of_guid(self, guid: bytes) -> SchemaUse:
        """Return how values are read that name this GUID of 16 bytes."""
        found = self._registry.of_guid(guid)
        if found is None:
            return SchemaUse("unknown", problem=RejectReason.UNKNOWN_GUID)
        return self._use(found, guid)

    def of_fingerprint(self, found: int) -> SchemaUse:
        """Return the use of the Avro schema with a fingerprint; the first one, if several have it.

        Schemas with one fingerprint differ in documentation, defaults and logical types only.
        """
        stored = self._fingerprints().get(found)
        if stored is None:
            return _UNKNOWN_ID
        return self._use(stored, found.to_bytes(8, "little"), is_raw_bytes=False)

    def of_subject(self, text: str) -> tuple[str, SchemaUse] | None:
        """Return the name and the use of the latest schema of a subject; None if there is none.

        Args:
            text: the subject; of Protobuf with the message, else the first one:
                `<subject>#<full name>`.
        """
        subject, _, message = text.partition("#")
        stored = self._registry.latest(subject)
        if stored is None:
            return None
        use = self._use(stored, subject, is_raw_bytes=False)
        if use.messages is not None:
            use = use.of_named_message(message) if message else use.of_message((0,))
        number = stored.schema_id
        return (f"id {number}" if number else f"GUID {stored.guid}"), use

    def of_connect(self, text: bytes) -> tuple[str, SchemaUse]:
        """Return the name and the use of a schema that stands in a message of Kafka Connect.

        Schemas that say the same of their payloads have one name and one use.
        """
        key = hashlib.sha256(text).digest()
        if key not in self._of_connect:
            # Each message of a topic may have another text.
            if len(self._of_connect) >= _MOST_TEXTS:
                self._of_connect.clear()
            self._of_connect[key] = self._connect_use(text)
        return self._of_connect[key]

    def _connect_use(self, text: bytes) -> tuple[str, SchemaUse]:
        try:
            title, shape = connect_schema(text)
        except ConnectSchemaError:
            return "", SchemaUse("", problem=RejectReason.SCHEMA_UNPARSEABLE)
        name = f"schema {hashlib.sha256(repr(shape).encode()).hexdigest()[:_NAME_DIGITS]}"
        use = self._of_shape.get(name) or SchemaUse(title, JsonReader(shape))
        if len(self._of_shape) < _MOST_TEXTS:
            self._of_shape.setdefault(name, use)
        return name, use

    def _fingerprints(self) -> dict[int, StoredSchema]:
        """Return the registry's Avro schemas by their fingerprints, computed once."""
        if self._of_fingerprint is None:
            self._of_fingerprint = {}
            for stored in self._registry.schemas:
                if stored.content.schema_type == SchemaType.AVRO:
                    try:
                        schema = parsed_schema(stored.content.text, self._registry.resolve(stored))
                    except (ResolveError, SchemaTextError):
                        continue
                    self._of_fingerprint.setdefault(fingerprint(schema), stored)
        return self._of_fingerprint

    def _use(
        self,
        stored: StoredSchema,
        key: tuple[str, int] | bytes | str,
        *,
        is_raw_bytes: bool = True,
    ) -> SchemaUse:
        """Return the reader of a schema, made once for each key, or why there is none."""
        if key not in self._uses:
            found = self._reading(stored, is_raw_bytes=is_raw_bytes)
            self._uses[key] = found._replace(
                schema_id=stored.schema_id or None, context=stored.place.context
            )
        return self._uses[key]

    def _reading(self, stored: StoredSchema, *, is_raw_bytes: bool) -> SchemaUse:
        content = stored.content
        if content.schema_type not in list(SchemaType):
            return SchemaUse(content.schema_type, problem=RejectReason.UNSUPPORTED_SCHEMA)
        if content.is_encrypting:
            return SchemaUse(content.schema_type, problem=RejectReason.ENCRYPTED)

        try:
            imports = tuple(self._registry.resolve(stored).items())
            if content.schema_type == SchemaType.PROTOBUF and not has_protobuf():
                return SchemaUse(SchemaType.PROTOBUF, problem=RejectReason.PROTOBUF_MISSING)
            return _use_of(content.schema_type, content.text, imports, is_raw_bytes=is_raw_bytes)
        except ResolveError:
            return SchemaUse(content.schema_type, problem=RejectReason.REFERENCE_MISSING)
        except (SchemaTextError, JsonSchemaError, ProtoTextError):
            return SchemaUse(content.schema_type, problem=RejectReason.SCHEMA_UNPARSEABLE)


@lru_cache(maxsize=_MOST_SCHEMAS)
def _use_of(
    schema_type: str, text: str, imports: tuple[tuple[str, str], ...], *, is_raw_bytes: bool
) -> SchemaUse:
    """Return how values of a schema are read; each process makes it once for all of its tasks."""
    references = dict(imports)
    match schema_type:
        case SchemaType.AVRO:
            avro = parsed_schema(text, references)
            name = f"{SchemaType.AVRO} {avro.name or avro.kind}"
            return SchemaUse(name, AvroReader(avro, is_raw_bytes=is_raw_bytes))
        case SchemaType.JSON:
            schema = json_schema(text, references)
            return SchemaUse(f"{SchemaType.JSON} {schema.title}".rstrip(), JsonReader(schema.shape))
    return SchemaUse(SchemaType.PROTOBUF, messages=SchemaMessages(text, references))
