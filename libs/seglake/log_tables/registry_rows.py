"""Reads the schema registries of a lake: the records of `_schemas` in `records`.

Schemas that a caller gives are added, then those that earlier runs stored and no record has.

A registry is a topic of a cluster. Records that lost an election are read too, before all other
records, because a producer may have used a schema id whose registration was lost.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import read_rows
from seglake.lake.tables import GAPS, RECORDS
from seglake.log_tables.current_gaps import GAP_COLUMNS, CurrentGap, fillable_gaps, fillable_rows
from seglake.log_tables.earlier_schemas import earlier_schemas
from seglake.log_tables.known_sources import LakeSources
from seglake.log_tables.source_ledger import SourceLedger
from seglake.near_names import did_you_mean
from seglake.value_codec.registry.registry_records import Registration, registry_record
from seglake.value_codec.registry.schema_registry import RecordedAt, SchemaRegistry

REGISTRY_TOPIC = "_schemas"
"""Default of the registry's setting `kafkastore.topic`."""

_COLUMNS = ("source_id", "topic_id", "partition", "offset", "timestamp_ms", "key", "value")
_READ = (*_COLUMNS, "generation")


class LakeRegistry(NamedTuple):
    """A schema registry of a lake.

    Attributes:
        ledger: ledger of the registry's cluster.
        gaps: offsets of the topic that the lake lacks, except offsets that the cleaner removed;
            each may have been a schema.
        record_count: number of records read.
    """

    source_id: str
    topic: str
    ledger: SourceLedger
    registry: SchemaRegistry
    gaps: list[CurrentGap]
    record_count: int

    @property
    def has_topic(self) -> bool:
        """Return whether the lake has the cluster's topic of schemas."""
        return self.topic in self.ledger.topics

    @property
    def has_recorded_schemas(self) -> bool:
        """Return whether a record of the topic has a schema."""
        return any(stored.recorded_at is not None for stored in self.registry.schemas)

    @property
    def is_empty(self) -> bool:
        """Return whether the cluster has no topic of schemas, and no schemas from elsewhere."""
        return not (self.has_topic or self.registry.schemas)


class NoRegistryError(WrongCallError):
    """Error for a lake without a topic of a schema registry."""


def lake_registries(
    tables: LakeTables,
    topic: str,
    source_id: str | None = None,
    given: Sequence[Registration] = (),
    *,
    everywhere: bool = False,
) -> list[LakeRegistry]:
    """Return the registries of a lake, by source.

    Args:
        tables: the lake.
        topic: the registries' topic.
        source_id: the only source to read; None for all.
        given: schemas to add to each registry; with such schemas, sources without the topic are
            returned too.
        everywhere: whether to also return sources without the topic, with empty registries;
            REGISTRY_TOPIC need not exist then.

    Raises:
        WrongCallError: the lake has no rows of the source.
        NoRegistryError: no source has the topic although one must, and no schemas are known; or the
            topic has no schemas.
    """
    sources = LakeSources(tables).selected(source_id)
    found = [_registry(tables, source, topic, given) for source in sources]
    topics = {name for each in found for name in each.ledger.topics}
    are_known = any(each.registry.schemas for each in found)
    is_needed = topic != REGISTRY_TOPIC or not (everywhere or are_known)
    if topic not in topics and not given and is_needed:
        raise NoRegistryError(
            f"the lake has no topic {topic}{did_you_mean(topic, topics)}: ingest the disks with the"
            " topic of the schema registry, name it with --registry if it has another name, or"
            " give the schemas with --schemas"
        )
    if not given and not everywhere:
        found = [each for each in found if not each.is_empty]
    unread = sum(len(each.registry.unread) for each in found)
    if unread and not (given or any(each.has_recorded_schemas for each in found)):
        raise NoRegistryError(
            f"topic {topic} is not a schema registry's topic: it has {unread} records, but none "
            "is a schema; name the registry's topic with --registry"
        )
    return found


def _registry(
    tables: LakeTables, source_id: str, topic: str, given: Iterable[Registration]
) -> LakeRegistry:
    """Return the registry of a source, with the given schemas added."""
    rows = tables.ledger(source_id).to_pylist()
    ledger = SourceLedger(rows)
    published = max((row["generation"] for row in rows if row["topic"] == topic), default=0)
    found = _records(tables, source_id, topic, published) if topic in ledger.topics else []
    registry = _added_up(found, ledger, topic)
    for registration in given:
        registry.supplement(registration)
    registry.complete(earlier_schemas(tables, source_id, topic))
    return LakeRegistry(
        source_id=source_id,
        topic=topic,
        ledger=ledger,
        registry=registry,
        gaps=_gaps(tables, source_id, ledger, topic),
        record_count=len(found),
    )


# Any: rows have values of many types.
def _records(
    tables: LakeTables, source_id: str, topic: str, published: int
) -> list[dict[str, Any]]:
    """Return the published rows of a topic, sorted by offset, then by generation."""
    found: list[dict[str, Any]] = []
    for path in tables.file_paths(RECORDS, topic=topic):
        for rows in read_rows(tables.storage, path, _READ):
            found += _own(rows, source_id, published)
    return sorted(found, key=itemgetter("partition", "offset", "generation"))


def _own(rows: pa.Table, source_id: str, published: int) -> Iterator[dict[str, Any]]:
    for row in rows.to_pylist():
        if row["source_id"] == source_id and row["generation"] <= published:
            yield row


def _added_up(rows: list[dict[str, Any]], ledger: SourceLedger, topic: str) -> SchemaRegistry:
    """Return the registry after all rows; rows that lost an election are applied first."""
    current = [
        ledger.of_row({**row, "topic": topic}).is_current(row["offset"], row["generation"])
        for row in rows
    ]
    registry = SchemaRegistry()
    for is_current in (False, True):
        for row in (row for row, counts in zip(rows, current, strict=True) if counts is is_current):
            at = RecordedAt(row["offset"], row["timestamp_ms"])
            registry.add(registry_record(row["key"], row["value"]), at)
    return registry


def _gaps(tables: LakeTables, source_id: str, ledger: SourceLedger, topic: str) -> list[CurrentGap]:
    rows = tables.rows(GAPS, source_id, GAP_COLUMNS)
    found = fillable_gaps(fillable_rows(rows), ledger)
    return [gap for key, gaps in found.items() if key.topic == topic for gap in gaps]
