"""Implementation of `seglake deserialize --dry-run`: decodes everything, and only counts."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.tables import RECORDS
from seglake.log_tables.current_rows import current_rows
from seglake.log_tables.named_subjects import check_subjects
from seglake.log_tables.registry_files import schemas_at
from seglake.log_tables.registry_rows import REGISTRY_TOPIC, LakeRegistry, lake_registries
from seglake.pipelines.lake_deserialize.decode_counts import DecodeCounts
from seglake.pipelines.lake_deserialize.part_counts import PartCounts
from seglake.settings.settings import SelectSettings
from seglake.settings.topic_selection import check_selection
from seglake.storage.storage import Storage
from seglake.value_codec.frames.evidence import FormEvidence
from seglake.value_codec.frames.forms import HEADERS, Form
from seglake.value_codec.schema_readers import SchemaReaders
from seglake.value_decoding.record_parts import part_of

_COLUMNS = ("key", "value", "headers", "offset")


def count_decodable(
    lake: str,
    storage: Storage,
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
    topics = tables.topics()
    unmatched = check_selection(topics, select, place="lake")
    check_subjects(
        (subjects or {}).items(),
        [each.registry for each in registries],
        lambda topic: topic in topics and select.selects_topic(topic),
    )
    return DecodeCounts(
        parts=[
            part
            for each in registries
            for part in _of_cluster(tables, each, select, subjects or {})
        ],
        missing=[*unmatched.missing.values()],
        notes=unmatched.notes,
        without_registry=lacking,
    )


def _of_cluster(
    tables: LakeTables,
    found: LakeRegistry,
    select: SelectSettings,
    subjects: Mapping[str, str],
) -> Iterator[PartCounts]:
    """Yield the counts of the topics of one cluster, without the registry's topic."""
    readers = SchemaReaders(found.registry)
    for topic in found.ledger.topics:
        if topic != found.topic and select.selects_topic(topic):
            yield from _of_topic(tables, found, topic, readers, subjects)


def _of_topic(
    tables: LakeTables,
    found: LakeRegistry,
    topic: str,
    readers: SchemaReaders,
    subjects: Mapping[str, str],
) -> list[PartCounts]:
    """Return the counts of a topic's keys and values, decoded in the form that its records show."""
    parts = []
    for part in HEADERS:
        subject = f"{topic}-{part}"
        context = found.registry.context_of(subject)
        evidence = FormEvidence()
        for _, rows in _rows_of(tables, found, topic, (part, "headers")):
            of_part = part_of(rows, part)
            evidence.add(of_part.bodies, of_part.headers, readers, context)
        form = evidence.chosen(has_subject=found.registry.has_subject(subject))
        bare = subjects.get(subject, "")
        form = Form.BARE if bare else form
        parts.append(PartCounts(found.source_id, topic, part, context, form, bare))
    for partition, rows in _rows_of(tables, found, topic, _COLUMNS):
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
