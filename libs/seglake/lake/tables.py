"""Defines all tables: columns in order, partitioning, and columns with statistics.

All columns are nullable. Times are UTC with microseconds; `_ms` columns have Kafka's raw
milliseconds. Ranges are half-open.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

# A column of any type; in pyarrow's stubs, fields are generic in their type.
_Field: TypeAlias = "pa.Field[Any]"


class Table(NamedTuple):
    """Definition of a table.

    Attributes:
        statistics_columns: columns of numbers and timestamps with statistics, so that readers can
            skip files.
        topics: topics whose commits add rows to the table; None for all topics, empty if no topic's
            commits do.
        since: lake format that introduced the table, see `lake_format`.
        added: columns that a later lake format introduced; they are the last columns.
    """

    name: str
    schema: pa.Schema
    partition_by: tuple[str, ...]
    statistics_columns: tuple[str, ...]
    topics: frozenset[str] | None = None
    since: int = 0
    added: frozenset[str] = frozenset()

    def serves(self, topic: str) -> bool:
        """Return whether the topic's commits add rows to the table."""
        return self.topics is None or topic in self.topics

    @property
    def is_apart(self) -> bool:
        """Return whether the table takes no part in topics' commits, so that it may be dropped."""
        return self.topics == frozenset()

    @property
    def file_schema(self) -> pa.Schema:
        """Return the columns in data files: all except the partition columns."""
        return pa.schema([field for field in self.schema if field.name not in self.partition_by])

    # Any: columns have values of many types.
    def to_arrow(self, rows: Iterable[Sequence[Any]]) -> pa.RecordBatch:
        """Convert at least one row, with values in the order of `file_schema`, to Arrow."""
        schema, columns = self.file_schema, zip(*rows, strict=True)
        arrays = [pa.array(column, f.type) for column, f in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(kind: pa.DataType, names: str) -> list[_Field]:
    """Return columns of one type; `names` are separated by blanks."""
    return [pa.field(name, kind) for name in names.split()]


_int = partial(_columns, pa.int32())
_bigint = partial(_columns, pa.int64())
_string = partial(_columns, pa.string())
_binary = partial(_columns, pa.binary())
_boolean = partial(_columns, pa.bool_())
_timestamp = partial(_columns, pa.timestamp("us", tz="UTC"))


def _list_of(kind: pa.DataType) -> "pa.ListType[Any]":
    """Return a list type, with Parquet's name for its elements."""
    return pa.list_(pa.field("element", kind))


HEADERS_TYPE = _list_of(pa.struct([*_string("key"), *_binary("value")]))
PARTITIONS_TYPE = _list_of(pa.struct([*_string("topic"), *_int("partition")]))
NOT_INGESTED_TYPE = _list_of(
    pa.struct([*_string("reason"), *_bigint("from_offset log_end_offset")])
)
LEADER_EPOCHS_TYPE = _list_of(pa.struct([*_int("leader_epoch"), *_bigint("start_offset")]))
_INTS = _list_of(pa.int32())

# Number of the commit that added the row, counted for each source and topic.
_GENERATION = _bigint("generation")

# Topic id, partition and offset of the record from which the row was decoded.
_RECORD_PLACE = [
    *_string("record_topic_id"),
    *_int("record_partition"),
    *_bigint("record_offset"),
    *_timestamp("record_timestamp"),
    *_bigint("record_timestamp_ms"),
]


def _table(
    name: str,
    *columns: _Field,
    statistics: str,
    partition_by: tuple[str, ...] = (),
    topics: frozenset[str] | None = None,
    since: int = 0,
    added: frozenset[str] = frozenset(),
) -> Table:
    """Return a table; `statistics` has names of columns, separated by blanks."""
    return Table(
        name=name,
        schema=pa.schema(columns),
        partition_by=partition_by,
        statistics_columns=tuple(statistics.split()),
        topics=topics,
        since=since,
        added=added,
    )


RECORDS = _table(
    "records",
    *_binary("key value"),
    *_string("topic"),
    *_int("partition"),
    *_bigint("offset"),
    *_timestamp("timestamp"),
    *_int("timestampType"),
    pa.field("headers", HEADERS_TYPE),
    *_bigint("timestamp_ms"),
    *_string("source_id topic_id transaction_state"),
    *_bigint("batch_base_offset"),
    *_string("run_id"),
    *_GENERATION,
    statistics="partition offset timestamp timestamp_ms batch_base_offset",
    partition_by=("topic",),
)

BATCHES = _table(
    "batches",
    *_string("source_id topic_id topic"),
    *_int("partition"),
    *_bigint("base_offset last_offset"),
    *_int("record_count row_count magic"),
    *_string("codec"),
    *_int("size_bytes uncompressed_bytes timestamp_type"),
    *_bigint("base_timestamp_ms max_timestamp_ms delete_horizon_ms"),
    *_int("leader_epoch"),
    *_bigint("producer_id"),
    *_int("producer_epoch base_sequence"),
    *_boolean("is_transactional is_control"),
    *_string("control_type transaction_state"),
    *_bigint("crc"),
    *_int("broker_id"),
    *_string("segment"),
    *_bigint("position"),
    *_string("state run_id"),
    *_GENERATION,
    statistics="partition base_offset last_offset base_timestamp_ms max_timestamp_ms producer_id",
    partition_by=("topic",),
)

QUARANTINE = _table(
    "quarantine",
    *_string("source_id topic_id topic"),
    *_int("partition broker_id"),
    *_string("segment"),
    *_bigint("position length_bytes"),
    *_string("defect_code defect_detail"),
    *_bigint("base_offset last_offset"),
    *_int("record_count magic"),
    *_string("codec"),
    *_bigint("expected_crc computed_crc previous_offset next_offset"),
    *_binary("raw"),
    *_string("raw_sha256"),
    *_boolean("raw_is_complete kafka_would_truncate"),
    *_string("resolution run_id"),
    *_timestamp("quarantined_at"),
    *_GENERATION,
    statistics="partition position previous_offset next_offset quarantined_at",
)

GAPS = _table(
    "gaps",
    *_string("source_id topic_id topic"),
    *_int("partition"),
    *_bigint("start_offset next_offset"),
    *_string("cause detail run_id attempt_id"),
    statistics="partition start_offset next_offset",
)

CONSUMER_OFFSETS = _table(
    "consumer_offsets",
    *_string("source_id kind group_id topic"),
    *_int("partition"),
    *_bigint("offset"),
    *_int("leader_epoch"),
    *_string("metadata"),
    *_timestamp("commit_timestamp"),
    *_bigint("commit_timestamp_ms"),
    *_timestamp("expire_timestamp"),
    *_bigint("expire_timestamp_ms"),
    *_string("topic_id member_id"),
    *_boolean("is_tombstone"),
    *_string("detail"),
    *_int("key_type value_version"),
    *_binary("key value"),
    *_string("unread_reason"),
    *_RECORD_PLACE,
    *_string("transaction_state run_id"),
    *_GENERATION,
    statistics="partition offset commit_timestamp record_partition record_offset record_timestamp",
    topics=frozenset({"__consumer_offsets"}),
)

TRANSACTION_STATE = _table(
    "transaction_state",
    *_string("source_id transactional_id"),
    *_bigint("producer_id"),
    *_int("producer_epoch timeout_ms"),
    *_string("state"),
    pa.field("partitions", PARTITIONS_TYPE),
    *_timestamp("last_update_timestamp"),
    *_bigint("last_update_timestamp_ms"),
    *_timestamp("start_timestamp"),
    *_bigint("start_timestamp_ms"),
    *_bigint("previous_producer_id next_producer_id"),
    *_int("next_producer_epoch client_transaction_version"),
    *_boolean("is_tombstone"),
    *_int("key_type value_version"),
    *_binary("key value"),
    *_string("unread_reason"),
    *_RECORD_PLACE,
    *_string("run_id"),
    *_GENERATION,
    statistics="producer_id last_update_timestamp record_partition record_offset record_timestamp",
    topics=frozenset({"__transaction_state"}),
)

CLUSTER_METADATA = _table(
    "cluster_metadata",
    *_string("source_id record_type topic topic_id"),
    *_int("partition"),
    pa.field("replicas", _INTS),
    pa.field("isr", _INTS),
    *_int("leader leader_epoch partition_epoch node_id"),
    *_string("resource_type resource_name name value"),
    *_int("feature_level"),
    *_boolean("is_redacted"),
    *_string("detail"),
    *_int("type_id type_version"),
    *_string("unread_reason snapshot"),
    *_RECORD_PLACE,
    *_string("run_id"),
    *_GENERATION,
    statistics="partition node_id record_offset record_timestamp",
    topics=frozenset({"__cluster_metadata"}),
)

REMOTE_LOG_METADATA = _table(
    "remote_log_metadata",
    *_string("source_id event topic topic_id"),
    *_int("partition"),
    *_string("segment_id state"),
    *_bigint("start_offset end_offset"),
    pa.field("leader_epochs", LEADER_EPOCHS_TYPE),
    *_int("size_bytes broker_id"),
    *_timestamp("max_timestamp"),
    *_bigint("max_timestamp_ms"),
    *_timestamp("event_timestamp"),
    *_bigint("event_timestamp_ms"),
    *_binary("custom_metadata"),
    *_boolean("is_transaction_index_empty is_tombstone"),
    *_int("type_id type_version"),
    *_binary("key value"),
    *_string("unread_reason"),
    *_RECORD_PLACE,
    *_string("run_id"),
    *_GENERATION,
    statistics="partition start_offset end_offset event_timestamp record_offset record_timestamp",
    topics=frozenset({"__remote_log_metadata"}),
    since=3,
)

CHECKPOINTS = _table(
    "checkpoints",
    *_string("source_id topic_id topic"),
    *_int("partition"),
    *_string("kind"),
    *_bigint("start_offset next_offset records batches quarantined_batches bytes"),
    *_bigint("min_timestamp_ms max_timestamp_ms"),
    *_bigint("log_start_offset high_watermark last_stable_offset log_end_offset"),
    *_int("leader_epoch"),
    *_bigint("last_batch_base_offset last_batch_crc"),
    pa.field("offset_sum", pa.decimal128(38, 0)),
    *_bigint("key_bytes value_bytes"),
    *_string("isolation upper_bound run_id attempt_id"),
    *_timestamp("committed_at"),
    *_GENERATION,
    statistics="partition start_offset next_offset committed_at generation",
)

# What runs have observed about partitions; no other table depends on these rows.
# They are appended outside of topics' commits.
OBSERVATIONS = _table(
    "observations",
    *_string("source_id topic_id topic"),
    *_int("partition broker_id"),
    *_bigint("log_start_offset high_watermark last_stable_offset log_end_offset next_offset"),
    *_string("stopped_by detail"),
    pa.field("not_ingested", NOT_INGESTED_TYPE),
    *_bigint("first_log_end_offset"),
    *_timestamp("waiting_since"),
    *_string("listing run_id"),
    *_timestamp("observed_at"),
    statistics="partition log_end_offset next_offset observed_at",
    topics=frozenset(),
    since=1,
)

# Records decoded from damaged batches.
# A row belongs to the row of `quarantine` with the same position, hash and generation.
# The view hides it once that row is resolved.
SALVAGED_RECORDS = _table(
    "salvaged_records",
    *RECORDS.schema,
    *_boolean("is_trusted is_damaged"),
    *_string("damage damage_field"),
    *_int("damage_position damage_bit broker_id"),
    *_string("segment"),
    *_bigint("position"),
    *_string("defect_code raw_sha256"),
    *_timestamp("salvaged_at"),
    statistics="partition offset timestamp timestamp_ms batch_base_offset",
    topics=frozenset(),
    since=2,
)

TABLES = (
    RECORDS,
    BATCHES,
    QUARANTINE,
    GAPS,
    CONSUMER_OFFSETS,
    TRANSACTION_STATE,
    CLUSTER_METADATA,
    REMOTE_LOG_METADATA,
    CHECKPOINTS,
    OBSERVATIONS,
    SALVAGED_RECORDS,
)
"""Tables in the order of commits: `records` decides, `checkpoints` is last and publishes."""

ADDED_TYPES: Mapping[str, pa.DataType] = {
    name: table.schema.field(name).type for table in TABLES for name in table.added
}
"""Types of columns that files of earlier formats lack; in all tables, a name has the same type."""

REQUIRED_TABLES = tuple(table for table in TABLES if table.since == 0)
"""Tables that lakes of all formats have; an upgrade adds the others."""


class CommitTables(NamedTuple):
    """Tables of one kind of commits, in their order: the first decides, the last publishes.

    Attributes:
        tables: at least two tables; the first is partitioned by topic.
    """

    tables: tuple[Table, ...]

    @property
    def deciding(self) -> Table:
        """Return the table whose commit decides."""
        return self.tables[0]

    @property
    def publishing(self) -> Table:
        """Return the table whose commit publishes the rows of all tables."""
        return self.tables[-1]

    def of(self, topics: Iterable[str]) -> tuple[Table, ...]:
        """Return the tables to which commits of these topics write, in the order of commits."""
        named = list(topics)
        return tuple(table for table in self.tables if any(map(table.serves, named)))


LOG_TABLES = CommitTables(tuple(table for table in TABLES if not table.is_apart))
"""Tables to which an ingest commits a wave, in their order."""
