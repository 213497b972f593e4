"""Registry built from the records of `_schemas`: every schema that it ever had.

Deleted schemas are kept, since records written before the deletion still have their ids: each id
that was ever registered decodes. An id belongs to a context; several subjects and versions may
share it.
"""

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from seglake.value_codec.avro.schema_types import SchemaTextError, parsed_schema
from seglake.value_codec.json.schema_shapes import JsonSchemaError, json_schema
from seglake.value_codec.protobuf.compiler import ProtoTextError, has_protobuf
from seglake.value_codec.protobuf.schema_messages import SchemaMessages
from seglake.value_codec.registry.registry_records import (
    NO_ID,
    Deletion,
    RecordKind,
    Registration,
    RegistryRecord,
)
from seglake.value_codec.registry.schemas import (
    DEFAULT_CONTEXT,
    Reference,
    SchemaContent,
    SchemaType,
    SubjectVersion,
)

_LATEST = -1
_DEEPEST_REFERENCE = 32
_MOST_SCHEMAS = 1_024  # most schemas whose problems a process remembers


class RecordedAt(NamedTuple):
    """Offset and time of a record of `_schemas`.

    Attributes:
        timestamp_ms: time of the record, in ms since 1970.
    """

    offset: int
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSchema:
    """A schema that a registry has, or once had, under a subject and version.

    Attributes:
        recorded_at: the record that first registered it; None if no record has it.
        deletion: how the schema was deleted; None if it was never deleted, or was registered again.
        given_guid: GUID of 16 bytes that a file names; None for the computed one.
    """

    place: SubjectVersion
    schema_id: int
    content: SchemaContent
    recorded_at: RecordedAt | None
    deletion: Deletion | None
    given_guid: bytes | None = None

    @property
    def guid(self) -> UUID:
        """Return the GUID by which records name the schema."""
        return UUID(bytes=self.given_guid) if self.given_guid else self.content.guid()

    # Any: the types that JSON can hold.
    def facts(self) -> dict[str, Any]:
        """Return what lists and tables have of a schema besides its id and its content."""
        return {
            "subject": self.place.subject,
            "version": self.place.version,
            "context": self.place.context,
            "guid": str(self.guid),
            "schema_type": self.content.schema_type,
            "is_encrypting": self.content.is_encrypting,
            "deletion": self.deletion,
            "offset": self.recorded_at and self.recorded_at.offset,
            "timestamp_ms": self.recorded_at and self.recorded_at.timestamp_ms,
        }


class ResolveError(ValueError):
    """Error for a reference that cannot be resolved; the message has its name and the reason."""


class _Entry(NamedTuple):
    """Identity of a stored schema."""

    place: SubjectVersion
    schema_id: int
    text: str


@dataclass(slots=True)
class SchemaRegistry:
    """Schemas of a registry, made by adding the records of its topic in order.

    Attributes:
        unread: for each record that cannot be read, its place and the reason.
    """

    unread: list[tuple[RecordedAt | None, str]] = field(default_factory=list)
    _stored: dict[_Entry, StoredSchema] = field(default_factory=dict)
    _of_subject: dict[str, list[_Entry]] = field(default_factory=dict)
    _of_id: dict[int, list[_Entry]] = field(default_factory=dict)
    _of_guid: dict[bytes, _Entry] = field(default_factory=dict)

    def add(self, record: RegistryRecord, recorded_at: RecordedAt | None) -> None:
        """Add the next record, in the order of the topic."""
        match record:
            case RegistryRecord(RecordKind.REGISTER, registration=Registration() as registered):
                self._register(registered, recorded_at)
            case RegistryRecord(RecordKind.HARD_DELETE, SubjectVersion() as place):
                there = self._of_subject.get(place.subject, ())
                self._delete([e for e in there if e.place == place], Deletion.HARD)
            case RegistryRecord(RecordKind.SOFT_DELETE, SubjectVersion(subject, last)):
                there = self._of_subject.get(subject, ())
                due = [e for e in there if e.place.version <= last]
                self._delete([e for e in due if not self._stored[e].deletion], Deletion.SOFT)
            case RegistryRecord(RecordKind.UNREADABLE, unread_reason=reason):
                self.unread.append((recorded_at, reason))

    def supplement(self, given: Registration) -> None:
        """Add a schema that is in no record; a schema from a record keeps its state."""
        entry = _Entry(given.place, given.schema_id, given.content.text)
        if entry not in self._stored:
            self._register(given, None)
        if given.guid is not None:
            self._of_guid.setdefault(given.guid, entry)
            if self._stored[entry].given_guid is None:
                self._stored[entry] = replace(self._stored[entry], given_guid=given.guid)

    def complete(self, earlier: Iterable[Registration]) -> None:
        """Add schemas that an earlier run knew, unless another schema has their id or GUID now."""
        for each in [each for each in earlier if not self._contradicts(each)]:
            self.supplement(each)

    def _contradicts(self, earlier: Registration) -> bool:
        """Return whether another schema has the id, or else the GUID, of an earlier schema."""
        if _Entry(earlier.place, earlier.schema_id, earlier.content.text) in self._stored:
            return False
        if earlier.schema_id != NO_ID:
            known = self.of_id(earlier.place.context, earlier.schema_id)
        else:
            of_guid = None if earlier.guid is None else self.of_guid(earlier.guid)
            known = [] if of_guid is None else [of_guid]
        meanings = [_meaning(each.content) for each in known]
        return bool(meanings) and _meaning(earlier.content) not in meanings

    def _register(self, found: Registration, recorded_at: RecordedAt | None) -> None:
        """Add a schema; of a known schema, store whether it is deleted or registered again."""
        entry = _Entry(found.place, found.schema_id, found.content.text)
        known = self._stored.get(entry)
        if known is None:
            self._of_subject.setdefault(found.place.subject, []).append(entry)
            if found.schema_id != NO_ID:
                self._of_id.setdefault(found.schema_id, []).append(entry)
            self._of_guid.setdefault(found.content.guid().bytes, entry)
        self._stored[entry] = StoredSchema(
            place=found.place,
            schema_id=found.schema_id,
            content=found.content,
            recorded_at=recorded_at if known is None else known.recorded_at,
            deletion=found.deletion,
        )

    def _delete(self, entries: Iterable[_Entry], how: Deletion) -> None:
        for entry in entries:
            self._stored[entry] = replace(self._stored[entry], deletion=how)

    @property
    def schemas(self) -> Sequence[StoredSchema]:
        """Return every schema that the registry ever had, in the order of their registration."""
        return [*self._stored.values()]

    def of_id(self, context: str, schema_id: int) -> Sequence[StoredSchema]:
        """Return the different schemas with an id, the first registered one first.

        There are several only if the registry gave the id out again after a hard delete, or if a
        schema from a file contradicts it. Texts that differ only in blanks or in the order of keys
        count as one schema.
        """
        return self._different(schema_id, {context})

    def has_subject(self, name: str) -> bool:
        """Return whether any context has, or once had, a subject."""
        places = (e.place for entries in self._of_subject.values() for e in entries[:1])
        return any(place.name == name for place in places)

    def of_guid(self, guid: bytes) -> StoredSchema | None:
        """Return the schema with a GUID of 16 bytes; None if there is none."""
        entry = self._of_guid.get(guid)
        return None if entry is None else self._stored[entry]

    def latest(self, subject: str) -> StoredSchema | None:
        """Return a subject's latest schema that is not deleted, else its latest schema, or None.

        Args:
            subject: name of the subject, with its context if that is not the default.
        """
        found = [self._stored[entry] for entry in self._of_subject.get(subject, ())]
        return max(found, key=lambda s: (s.deletion is None, s.place.version), default=None)

    def contexts_of(self, subject: str) -> frozenset[str]:
        """Return the contexts that ids in keys or values of a subject may belong to.

        They are the default context if it has the subject, else the contexts that have it. Of a
        subject that no context has, they are the default context if it has any schema, else all.

        Args:
            subject: the subject, without a context or with the only one that counts.
        """
        asked = SubjectVersion(subject, 0)
        if asked.subject != asked.name:
            return frozenset((asked.context,))
        places = [e.place for entries in self._of_subject.values() for e in entries[:1]]
        found = {place.context for place in places if place.name == subject}
        found = found or {place.context for place in places} or {DEFAULT_CONTEXT}
        return frozenset((DEFAULT_CONTEXT,) if DEFAULT_CONTEXT in found else found)

    def candidates(self, subject: str, schema_id: int) -> Sequence[StoredSchema]:
        """Return the different schemas that an id may name in keys or values of a subject.

        As in the registry, an id of the default context counts if it is the subject's there, else
        the ids that are the subject's in other contexts. An id that is the subject's in no context
        is looked for in the subject's contexts. Source: confluentinc/schema-registry 794611b,
        KafkaSchemaRegistry.getSchemaKeyUsingContexts.

        Args:
            subject: the subject, without a context or with the only one that counts.
            schema_id: the id.
        """
        places = [entry.place for entry in self._of_id.get(schema_id, ())]
        own = {place.context for place in places if place.name == subject}
        if DEFAULT_CONTEXT in own:
            own = {DEFAULT_CONTEXT}
        return self._different(schema_id, own or self.contexts_of(subject)) if places else ()

    def _different(self, schema_id: int, contexts: Container[str]) -> Sequence[StoredSchema]:
        """Return the first schema of each meaning that an id has in some contexts."""
        found: dict[object, StoredSchema] = {}
        for entry in self._of_id.get(schema_id, ()):
            if entry.place.context in contexts:
                found.setdefault(_meaning(self._stored[entry].content), self._stored[entry])
        return [*found.values()]

    def resolve(self, stored: StoredSchema) -> dict[str, str]:
        """Return the texts of all schemas that a schema refers to.

        Raises:
            ResolveError: a reference names a schema that no record has, or leads back to itself.
        """
        imports: dict[str, str] = {}
        self._collect(stored.content, stored.place, imports, (stored.place,))
        return imports

    def _collect(
        self,
        content: SchemaContent,
        place: SubjectVersion,
        imports: dict[str, str],
        importers: tuple[SubjectVersion, ...],
    ) -> None:
        """Add the imports of a schema; an import's own imports are added before it."""
        for reference in content.references:
            if reference.name in imports:
                continue
            found = self._at(place.of_reference(reference))
            if found is None:
                raise ResolveError(f"reference missing: {_named(reference)}")
            if found.place in importers or len(importers) > _DEEPEST_REFERENCE:
                raise ResolveError(f"reference in a circle: {_named(reference)}")
            self._collect(found.content, found.place, imports, (*importers, found.place))
            imports[reference.name] = found.content.text

    def _at(self, place: SubjectVersion) -> StoredSchema | None:
        """Return the newest schema under a subject and version; version -1 is the latest."""
        found = [self._stored[entry] for entry in self._of_subject.get(place.subject, ())]
        if place.version == _LATEST:
            return max(found, key=lambda s: s.place.version, default=None)
        return next((s for s in reversed(found) if s.place == place), None)

    def problem(self, stored: StoredSchema) -> str:
        """Return why values of a schema cannot be decoded; "" without a known reason."""
        content = stored.content
        if content.schema_type not in list(SchemaType):
            return f"unknown schema type {content.schema_type}"
        try:
            resolved = tuple(self.resolve(stored).items())
        except ResolveError as error:
            return str(error)
        if problem := _text_problem(content.schema_type, content.text, resolved):
            return problem
        if len(self.of_id(stored.place.context, stored.schema_id)) > 1:
            return f"id {stored.schema_id} has several schemas"
        return ""


@lru_cache(maxsize=_MOST_SCHEMAS)
def _text_problem(schema_type: str, text: str, imports: tuple[tuple[str, str], ...]) -> str:
    """Return why a text is no schema of its type; "" if it is one, or if nothing here reads it."""
    try:
        match schema_type:
            case SchemaType.AVRO:
                parsed_schema(text, dict(imports))
            case SchemaType.JSON:
                json_schema(text, dict(imports))
            case SchemaType.PROTOBUF if has_protobuf():
                SchemaMessages(text, dict(imports))
    except (SchemaTextError, JsonSchemaError, ProtoTextError) as error:
        return str(error)
    return ""


def _meaning(content: SchemaContent) -> object:
    """Return what two schemas have in common if they say the same."""
    return content.schema_type, _plain(content), content.references


def _plain(content: SchemaContent) -> str:
    """Return a schema's text in a form that ignores blanks and the order of keys."""
    try:
        return json.dumps(json.loads(content.text), sort_keys=True)
    except (ValueError, RecursionError):
        return content.text


def _named(reference: Reference) -> str:
    return f"{reference.name} ({reference.subject}, version {reference.version})"
