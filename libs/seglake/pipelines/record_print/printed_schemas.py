"""Finds the registry with the schemas to decode printed records."""

from collections.abc import Iterable
from contextlib import suppress

import pyarrow as pa

from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.named_subjects import check_subjects
from seglake.log_tables.registry_files import schemas_at
from seglake.log_tables.registry_rows import lake_registries
from seglake.pipelines.record_print.typed_parts import TypedParts
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import NothingSelectedError
from seglake.storage.storage import Storage
from seglake.value_codec.registry.registry_records import registry_record
from seglake.value_codec.registry.schema_registry import RecordedAt, SchemaRegistry


def registry_of_lake(
    lake: str, storage: Storage, topic: str, source_id: str | None, schemas: str | None
) -> SchemaRegistry:
    """Return the registry of a lake's cluster.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        topic: the registry's topic.
        source_id: the cluster; None if the lake has only one with a registry.
        schemas: a file or folder with more schemas; None for none.

    Raises:
        LakeFolderError, WrongCallError: a wrong call, or several clusters have a registry.
    """
    tables = LakeTables(storage.locate(lake), storage)
    tables.require()
    given = [] if schemas is None else schemas_at(schemas, storage)
    found = lake_registries(tables, topic, source_id, given)
    if len(found) > 1:
        names = ", ".join(each.source_id for each in found)
        raise WrongCallError(f"several clusters have schemas, choose one with --source-id: {names}")
    return found[0].registry


def registry_of_records(
    records: Iterable[pa.RecordBatch], topic: str, storage: Storage, schemas: str | None
) -> SchemaRegistry:
    """Return the registry built from the records of its topic.

    Args:
        records: the records of the topic, with keys, values, offsets and timestamps.
        topic: name of the topic.
        storage: the storage of the schemas.
        schemas: a file or folder with more schemas; None for none.

    Raises:
        WrongCallError: there is no schema.
    """
    registry = SchemaRegistry()
    with suppress(NothingSelectedError):  # no such topic in the source
        for batch in records:
            for row in batch.to_pylist():
                at = RecordedAt(row["offset"], row["timestamp_ms"])
                registry.add(registry_record(row["key"], row["value"]), at)
    for given in [] if schemas is None else schemas_at(schemas, storage):
        registry.supplement(given)
    if not registry.schemas:
        raise WrongCallError(
            f"there are no schemas to decode with: the source has no topic {topic} of a schema"
            " registry; name it with --registry, or give the schemas with --schemas"
        )
    return registry


def parts_of(registry: SchemaRegistry, settings: Settings) -> TypedParts:
    """Return the decoder of keys and values by a registry, and by the subjects of a setting.

    Raises:
        WrongCallError: the registry lacks a subject that the setting names for a selected topic.
    """
    subjects = settings.values.subjects
    check_subjects(subjects, [registry], settings.select.selects_topic)
    return TypedParts(registry, dict(subjects))
