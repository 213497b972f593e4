"""Implementation of `seglake deserialize --dry-run`: decodes everything, and only counts."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import RECORDS
from seglake.lake.typed_tables import typed_tables
from seglake.log_tables.current_rows import current_rows
from seglake.log_tables.registry_files import schemas_at
from seglake.log_tables.registry_rows import REGISTRY_TOPIC, LakeRegistry, lake_registries
from seglake.pipelines.lake_deserialize.decode_counts import DecodeCounts
from seglake.pipelines.lake_deserialize.part_counts import PartCounts
from seglake.pipelines.lake_deserialize.pending_works import checked_topics, new_works
from seglake.pipelines.lake_deserialize.topic_plan import NotTyped, TopicFacts, TopicWork, form_of
from seglake.pipelines.lake_deserialize.topic_surveys import TopicSurveys
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import SelectSettings
from seglake.storage.storage import Storage
from seglake.task_engine.engine import LocalEngine
from seglake.value_codec.frames.forms import HEADERS, Form
from seglake.value_codec.schema_readers import SchemaReaders

_COLUMNS = ("key", "value", "headers", "offset")


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
    lacking = [] if given else [each.source_id for each in registries if not each.has_topic]
    named = subjects or {}
    unmatched = checked_topics(tables.topics(), registries, select, named)
    parts: list[PartCounts] = []
    left_out = unmatched.missing
    surveys = TopicSurveys(tables, LocalEngine(1), reporter)
    for each in registries:
        topics = [t for t in each.ledger.topics if t != each.topic and select.selects_topic(t)]
        readers = SchemaReaders(each.registry)
        facts = _facts(tables, surveys, each, topics, named)
        reasons = _reasons(facts, readers)
        left_out |= reasons
        reporter.step("decoding keys and values")
        for found in facts:
            of_topic = _of_topic(tables, found, readers)
            if found.work.topic in reasons:
                for part in of_topic:
                    part.leave_out()
            parts += of_topic
    return DecodeCounts(parts, left_out, unmatched.notes, lacking)


def _facts(
    tables: LakeTables,
    surveys: TopicSurveys,
    source: LakeRegistry,
    topics: Sequence[str],
    subjects: Mapping[str, str],
) -> list[TopicFacts]:
    """Return the facts of each topic: of its new records, or without them of its tables."""
    works = {work.topic: work for work in new_works(tables, source, dict.fromkeys(topics, 0))}
    every = [
        works.get(topic) or TopicWork(source=source, topic=topic, generation=0, attempts={})
        for topic in topics
    ]
    tasks = [surveys.rows_tasks(work) if work.attempts else [] for work in every]
    return surveys.facts(every, tasks, typed_tables(tables), subjects)


def _reasons(facts: Sequence[TopicFacts], readers: SchemaReaders) -> dict[str, str]:
    """Return why a run would leave topics out, by topic."""
    found = {}
    for each in facts:
        try:
            if each.work.attempts:
                form_of(each, readers)
        except NotTyped as reason:
            if str(reason):
                found[each.work.topic] = reason.of_topic(each.work.topic)
    return found


def _of_topic(tables: LakeTables, facts: TopicFacts, readers: SchemaReaders) -> list[PartCounts]:
    """Return the counts of a topic's keys and values, decoded in the form that a run would use."""
    source, topic, parts = facts.work.source, facts.work.topic, []
    for part in HEADERS:
        found = facts.part(part)
        # Bodies without a frame decode only by a named subject.
        form = Form.NONE if found.form is Form.BARE and not found.subject else found.form
        parts.append(PartCounts(source.source_id, topic, part, found.context, form, found.subject))
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
