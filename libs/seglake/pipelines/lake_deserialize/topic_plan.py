"""Plans the decoding of a topic: its attempts, form, tables and columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.lake.typed_tables import PLACE_FIELDS, TypedTable, typed_name, typed_table
from seglake.log_tables.ledger_layers import REMOVALS, RangeKind
from seglake.log_tables.registry_rows import LakeRegistry
from seglake.pipelines.lake_deserialize.part_schemas import PartFacts, schema_uses
from seglake.value_codec.column_notes import Field, column_of_key
from seglake.value_codec.frames.evidence import FormEvidence
from seglake.value_codec.frames.forms import HEADERS, Form
from seglake.value_codec.registry.schemas import SchemaType
from seglake.value_codec.reject_reasons import PROTOBUF_ADVICE, RejectReason
from seglake.value_codec.schema_readers import TEXT_USE, SchemaReaders, SchemaUse
from seglake.value_decoding.decoded_parts import PartTyping
from seglake.value_decoding.json_shapes import JSON_FORMS, JsonTypes
from seglake.value_decoding.rows_task import Attempt
from seglake.value_decoding.tasks import RejectedRecords
from seglake.value_decoding.typings import KEY_COLUMN, Typing, is_record, key_typing, value_typing

_WITHOUT_ROWS = (RangeKind.SUPERSEDED, RangeKind.RELEASED, *REMOVALS)
# Any: columns of the ledger have many types.
Rows = Mapping[Attempt, list[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWork:
    """A topic with attempts that are not decoded yet.

    Attributes:
        source: the registry of the topic's cluster.
        generation: generation of the topic's next commit.
        attempts: rows of the ledger, by attempt.
        retried: if rejected records are decoded again, these records; None for a first decoding.
    """

    source: LakeRegistry
    topic: str
    generation: int
    attempts: Rows
    retried: RejectedRecords | None = None

    @property
    def own_subjects(self) -> dict[str, str]:
        """Return the topic's subjects, of its keys and of its values, by part."""
        return {part: f"{self.topic}-{part}" for part in HEADERS}

    @property
    def generations(self) -> dict[int, frozenset[int]]:
        """Return the commits with rows to decode, by partition; empty without such commits."""
        found: dict[int, set[int]] = {}
        for attempt, rows in self.attempts.items():
            if any(row["kind"] not in _WITHOUT_ROWS for row in rows):
                found.setdefault(attempt.partition, set()).add(attempt.generation)
        return {partition: frozenset(each) for partition, each in found.items()}

    @property
    def offsets(self) -> tuple[int, int]:
        """Return the first offset of the attempts, and the last one."""
        rows = [row for each in self.attempts.values() for row in each]
        return min(r["start_offset"] for r in rows), max(r["next_offset"] for r in rows) - 1


def works_of(
    source: LakeRegistry, topics: Iterable[str], generations: Mapping[str, int], done: set[Any]
) -> Iterator[TopicWork]:
    """Yield the topics that have attempts to decode.

    Args:
        source: a registry and the ledger of its cluster.
        topics: the topics to look at.
        generations: the published generation of each topic's decoded values.
        done: topic and attempt of all decoded rows.
    """
    for topic in topics:
        attempts: dict[Attempt, list[Mapping[str, Any]]] = {}
        for key in source.ledger.partitions():
            for row in source.ledger.of(key).rows if key.topic == topic else ():
                attempt = Attempt(row["topic_id"], row["partition"], row["generation"])
                if (topic, attempt) not in done:
                    attempts.setdefault(attempt, []).append(row)
        if attempts:
            yield TopicWork(
                source=source,
                topic=topic,
                generation=generations[topic] + 1,
                attempts=attempts,
            )


class TopicForm(NamedTuple):
    """Tables of a topic, and the columns of its keys and values.

    Attributes:
        tables: the tables with the necessary types; the first one has the tombstones.
        key: the columns of keys; None to keep their bytes.
    """

    tables: tuple[TypedTable, ...]
    key: PartTyping | None
    value: PartTyping


class NotTyped(ValueError):
    """Error for a topic whose values are not decoded; the message is "" if it uses no schemas."""

    def of_topic(self, topic: str) -> str:
        """Return why a topic is left out, and how a person accepts that."""
        return f"{topic}: {self}; if you accept that, exclude it: --topics '!{topic}'"


class SchemasUnknown(NotTyped):
    """Error for a topic whose values have schema ids, but none of a known schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """Facts of a topic that a run knows before it decodes the topic.

    Attributes:
        work: the topic.
        surveys: facts on the form of its keys and values.
        known: its existing typed tables, whose forms and columns do not change.
        types: types of its JSON, by part; empty before they are read.
        subjects: subjects that a person names for bodies without frames, by `<topic>-<part>`.
        is_surveyed: whether its keys and values were surveyed; else `surveys` has no counts.
    """

    work: TopicWork
    surveys: Mapping[str, FormEvidence]
    known: Sequence[TypedTable]
    types: Mapping[str, JsonTypes]
    subjects: Mapping[str, str]
    is_surveyed: bool = True

    def form(self, part: str) -> Form:
        """Return the form of keys or values: that of existing tables, else of the records."""
        if self.known and self.known[0].value_form:  # a dropped table has no form
            return Form(self.known[0].key_form if part == "key" else self.known[0].value_form)
        subject = self.work.own_subjects[part]
        if subject in self.subjects:
            return Form.BARE
        has_subject = self.work.source.registry.has_subject(subject)
        evidence = self.surveys[part]
        if not evidence.bodies:
            return Form.CONFLUENT if has_subject else Form.NONE
        return evidence.chosen(has_subject=has_subject)

    def json_forms(self) -> dict[str, Form]:
        """Return the forms of keys and values that are JSON without frames, by part."""
        forms = {part: self.form(part) for part in HEADERS}
        return {part: form for part, form in forms.items() if form in JSON_FORMS}

    def part(self, part: str) -> PartFacts:
        """Return the schemas, JSON types and existing columns of keys or values."""
        registry, form = self.work.source.registry, self.form(part)
        subject = self.work.own_subjects[part]
        contexts = registry.contexts_of(subject)
        return PartFacts(
            part=part,
            form=form,
            id_subject=subject,
            named=self.surveys[part].names(form),
            subject_ids=[
                each.schema_id
                for each in registry.schemas
                if each.place.name == subject and each.place.context in contexts
            ],
            subject=self.subjects.get(subject, ""),
            types=self.types.get(part, JsonTypes()),
            there=self.columns(self.known[0].record) if self.known else [],
        )

    def columns(self, record: str) -> list[Field]:
        """Return the columns of keys and of values in the existing table of a record type."""
        found = next((each.table for each in self.known if each.record == record), None)
        return [] if found is None else [*found.schema][len(PLACE_FIELDS) :]


def form_of(facts: TopicFacts, readers: SchemaReaders) -> TopicForm:
    """Return the plan for decoding a topic: its tables, and how to read keys and values.

    Raises:
        NotTyped: its values have no schema, or a form or a schema that is not read yet.
    """
    part, key_part = facts.part("value"), facts.part("key")
    if part.form is Form.NONE:
        raise NotTyped("")
    values = _readable(part, readers)
    has_keys = key_part.form is not Form.NONE or bool(key_part.subject)
    key_uses = _readable(key_part, readers) if has_keys else []
    keys = None if key_part.form is Form.NONE else key_typing(key_uses, key_part.there)
    key_fields = [pa.field(KEY_COLUMN, pa.binary())] if keys is None else keys.fields
    key_columns = [column_of_key(field) for field in key_fields]
    names = [KEY_COLUMN, *(field.name for field in key_columns)]
    tables, typings = [], []
    for name, record, some in _split(facts.work.topic, values, facts.known):
        typing = value_typing(some, names, facts.columns(record))
        of_table = facts.work.topic, record, str(key_part.form), str(part.form)
        tables.append(typed_table(name, of_table, [*key_columns, *typing.fields]))
        typings.append(typing)
    if not tables:
        raise _unreadable(use for _, use in values)
    return TopicForm(
        tuple(tables),
        None if keys is None else _part_typing(key_part, [keys], key_uses),
        _part_typing(part, typings, values),
    )


def _readable(part: PartFacts, readers: SchemaReaders) -> list[tuple[str, SchemaUse]]:
    """Return the schemas of keys or values, each with its name in frames.

    Raises:
        NotTyped: a subject is missing or contradicts the topic's tables, or packages are missing.
    """
    if (part.form is Form.BARE) != bool(part.subject):
        raise NotTyped(
            f"the {part.part}s of its tables have the form {part.form}, which values.subjects"
            " contradicts"
        )
    found = schema_uses(part, readers)
    if part.form is Form.BARE and not found:
        raise NotTyped(f"the registry has no subject {part.subject}, which values.subjects names")
    if any(use.problem is RejectReason.PROTOBUF_MISSING for _, use in found):
        raise NotTyped(f"it has {part.part}s of {SchemaType.PROTOBUF}, which {PROTOBUF_ADVICE}")
    return found


def _part_typing(
    part: PartFacts, typings: Sequence[Typing], uses: Iterable[tuple[str, SchemaUse]]
) -> PartTyping:
    """Return how tasks turn keys or values into columns."""
    plain = next((use for name, use in uses if not name), TEXT_USE)
    return PartTyping(part.part, part.form, part.id_subject, tuple(typings), plain, part.subject)


def _unreadable(uses: Iterable[SchemaUse]) -> NotTyped:
    """Return the error that says why no schema of a topic's values can be read."""
    problems = {use.problem for use in uses if use.problem is not None}
    if not problems:
        text = "none of its values names a schema that is known: give them with --schemas"
        return SchemasUnknown(text)
    reasons = ", ".join(sorted(problems))
    return NotTyped(
        f"none of its values has a schema that can be read: {reasons}, see `seglake schemas`"
    )


def _split(
    topic: str, uses: Sequence[tuple[str, SchemaUse]], known: Sequence[TypedTable]
) -> Iterator[tuple[str, str, list[tuple[str, SchemaUse]]]]:
    """Yield the name of each table, its record type and its schemas.

    Existing tables come first, and new ones by name, as later runs find them: all runs write
    tombstones to the same table.
    """
    by_record: dict[str, list[tuple[str, SchemaUse]]] = {each.record: [] for each in known}
    for name, use in uses:
        if use.reader is not None:
            kind, _, name_of_type = use.name.partition(" ")
            is_named = is_record(use) and kind in (SchemaType.AVRO, SchemaType.PROTOBUF)
            record = name_of_type if is_named else ""
            by_record.setdefault(record, []).append((name, use))
    there = {each.record: each.table.name for each in known}
    is_alone = len(by_record) == 1 and not there
    names = {
        record: typed_name(topic) if is_alone or not record else typed_name(topic, record)
        for record in by_record
        if record not in there
    }
    for record in (*there, *sorted(names, key=names.__getitem__)):
        yield there.get(record) or names[record], record, by_record[record]
