"""Implementation of `seglake deserialize --dry-run`: decodes everything, and only counts."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import TypedTableError
from seglake.lake.tables import RECORDS
from seglake.lake.typed_tables import TypedTable, check_writable, typed_tables
from seglake.log_tables.current_rows import current_rows
from seglake.log_tables.registry_files import schemas_at
from seglake.log_tables.registry_rows import REGISTRY_TOPIC, LakeRegistry, lake_registries
from seglake.pipelines.lake_deserialize.decode_counts import DecodeCounts
from seglake.pipelines.lake_deserialize.deserialize_choice import incomplete_registries
from seglake.pipelines.lake_deserialize.part_counts import PartCounts
from seglake.pipelines.lake_deserialize.pending_works import checked_topics, new_works
from seglake.pipelines.lake_deserialize.topic_plan import (
    NotTyped,
    TopicFacts,
    TopicForm,
    TopicWork,
    form_of,
)
from seglake.pipelines.lake_deserialize.topic_surveys import TopicSurveys
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import SelectSettings
from seglake.storage.storage import Storage
from seglake.task_engine.engine import LocalEngine
from seglake.value_codec.frames.forms import HEADERS, Form
from seglake.value_codec.schema_readers import SchemaReaders

_COLUMNS = ("key", "value", "headers", "offset")
_MOST_NAMED = 10  # most columns that a note names


def count_decodable(
    lake: str,
    storage: Storage,
    reporter: RunReporter,
    select: SelectSettings,
    topic: str = REGISTRY_TOPIC,
    source_id: str | None = None,
    schemas: str | None = None,
    subjects: Mapping[str, str] | None = None,
) -> DecodeCounts:
    """Decode the keys and values of a lake's current records, and count those that decode.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        reporter: shows the steps.
        select: selects the topics.
        topic: the registries' topic.
        source_id: the only cluster whose topics are read; None for all.
        schemas: a file or folder with more schemas; None for none.
        subjects: subjects of bodies without frames, by `<topic>-key` or `<topic>-value`.

    Raises:
        LakeFolderError: there is no lake.
        WrongCallError: no cluster has the topic that a call names, or no topic is selected.
    """
    tables = LakeTables(storage.locate(lake), storage)
    tables.require()
    given = [] if schemas is None else schemas_at(schemas, storage)
    registries = lake_registries(tables, topic, source_id, given, everywhere=True)
    named = subjects or {}
    unmatched = checked_topics(tables.topics(), registries, select, named)
    parts: list[PartCounts] = []
    left_out, notes = unmatched.missing, [*unmatched.notes, *incomplete_registries(registries)]
    surveys = TopicSurveys(tables, LocalEngine(1), reporter)
    planned = {each.table.name: each for each in typed_tables(tables)}
    for each in registries:
        topics = [t for t in each.ledger.topics if t != each.topic and select.selects_topic(t)]
        readers = SchemaReaders(each.registry)
        facts = _facts(tables, surveys, each, topics, named, [*planned.values()])
        reasons, apart = _plans(tables, facts, readers, planned)
        left_out |= reasons
        notes += apart
        reporter.step("decoding keys and values")
        parts += _counts(tables, facts, readers, reasons)
    return DecodeCounts(parts, left_out, notes)


def _facts(
    tables: LakeTables,
    surveys: TopicSurveys,
    source: LakeRegistry,
    topics: Sequence[str],
    subjects: Mapping[str, str],
    known: Sequence[TypedTable],
) -> list[TopicFacts]:
    """Return the facts of each topic: of its new records, or without them of its tables."""
    works = {work.topic: work for work in new_works(tables, source, dict.fromkeys(topics, 0))}
    every = [
        works.get(topic) or TopicWork(source=source, topic=topic, generation=0, attempts={})
        for topic in topics
    ]
    tasks = [surveys.rows_tasks(work) if work.attempts else [] for work in every]
    facts = surveys.facts(every, tasks, known, subjects)
    types = surveys.json_types(facts, tasks)
    return [replace(each, types=found) for each, found in zip(facts, types, strict=True)]


def _plans(
    tables: LakeTables,
    facts: Sequence[TopicFacts],
    readers: SchemaReaders,
    planned: dict[str, TypedTable],
) -> tuple[dict[str, str], list[str]]:
    """Plan the tables of topics; return why a run would leave topics out, and notes on columns.

    Args:
        tables: the lake.
        facts: the topics, in the order of a run.
        readers: the readers of the cluster's schemas.
        planned: the typed tables that exist, or that the run would make before; is added to.
    """
    left_out, notes = {}, []
    for each in facts:
        topic = each.work.topic
        try:
            form = form_of(each, readers) if each.work.attempts else None
            for table in () if form is None else form.tables:
                check_writable(tables, table, planned)
                planned[table.table.name] = table
        except (NotTyped, TypedTableError) as reason:
            if str(reason):
                left_out[topic] = NotTyped(str(reason)).of_topic(topic)
        else:
            notes += [] if form is None else _columns_apart(each, form)
    return left_out, notes


def _columns_apart(facts: TopicFacts, form: TopicForm) -> list[str]:
    """Return a note on the new columns of types that do not fit the columns of their fields."""
    there = {field.name for each in facts.known for field in each.table.schema}
    typings = [*form.value.typings, *(() if form.key is None else form.key.typings)]
    found = [
        f"{'.'.join(column.column)} ({column.first})"
        for typing in typings
        for column in typing.merged.columns
        if column.is_apart and column.column[0] not in there
    ]
    if not found:
        return []
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    named = ", ".join(found[:_MOST_NAMED]) + more
    return [f"{facts.work.topic}: types that do not fit get columns of their own: {named}"]


def _counts(
    tables: LakeTables,
    facts: Sequence[TopicFacts],
    readers: SchemaReaders,
    left_out: Container[str],
) -> Iterator[PartCounts]:
    """Yield the counts of keys and of values of topics."""
    for found in facts:
        for part in _of_topic(tables, found, readers):
            if found.work.topic in left_out:
                part.leave_out()
            yield part


def _of_topic(tables: LakeTables, facts: TopicFacts, readers: SchemaReaders) -> list[PartCounts]:
    """Return the counts of a topic's keys and values, decoded in the form that a run would use."""
    source, topic, parts = facts.work.source, facts.work.topic, []
    for part in HEADERS:
        found = facts.part(part)
        # Bodies without a frame decode only by a named subject.
        form = Form.NONE if found.form is Form.BARE and not found.subject else found.form
        parts.append(PartCounts(source.source_id, topic, part, form, found.subject))
    for partition, rows in _rows_of(tables, source, topic, _COLUMNS):
        for counts in parts:
            counts.add(rows, partition, readers)
    return parts


def _rows_of(
    tables: LakeTables, found: LakeRegistry, topic: str, columns: tuple[str, ...]
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the current rows of a topic, with their partitions."""
    keys = [key for key in found.ledger.partitions() if key.topic == topic]
    for key in sorted(keys, key=lambda key: (key.partition, key.topic_id or "")):
        log = found.ledger.of(key)
        for rows in current_rows(log, tables, found.source_id, RECORDS, columns):
            yield key.partition, rows
