"""Defines all tables: columns in order, partitioning, and columns with statistics.

All columns are nullable. Times are UTC with microseconds; `_ms` columns have Kafka's raw
milliseconds. Ranges are half-open.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import pyarrow as pa

# A column of any type; in pyarrow's stubs, fields are generic in their type.
Column: TypeAlias = "pa.Field[Any]"


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

    @classmethod
    def of(
        cls,
        name: str,
        *columns: Column,
        statistics: str = "",
        partition_by: tuple[str, ...] = (),
        topics: frozenset[str] | None = None,
        since: int = 0,
        added: frozenset[str] = frozenset(),
    ) -> Self:
        """Return a table; `statistics` has names of columns, separated by blanks."""
        schema, counted = pa.schema(columns), tuple(statistics.split())
        return cls(name, schema, partition_by, counted, topics, since, added)

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


def _columns(kind: pa.DataType, names: str) -> list[Column]:
    """Return columns of one type; `names` are separated by blanks."""
    return [pa.field(name, kind) for name in names.split()]


int_columns = partial(_columns, pa.int32())
bigint_columns = partial(_columns, pa.int64())
string_columns = partial(_columns, pa.string())
binary_columns = partial(_columns, pa.binary())
boolean_columns = partial(_columns, pa.bool_())
timestamp_columns = partial(_columns, pa.timestamp("us", tz="UTC"))


def list_of(kind: pa.DataType) -> "pa.ListType[Any]":
    """Return a list type, with Parquet's name for its elements."""
    return pa.list_(pa.field("element", kind))


HEADERS_TYPE = list_of(pa.struct([*string_columns("key"), *binary_columns("value")]))
PARTITIONS_TYPE = list_of(pa.struct([*string_columns("topic"), *int_columns("partition")]))
NOT_INGESTED_TYPE = list_of(
    pa.struct([*string_columns("reason"), *bigint_columns("from_offset log_end_offset")])
)
LEADER_EPOCHS_TYPE = list_of(
    pa.struct([*int_columns("leader_epoch"), *bigint_columns("start_offset")])
)
_INTS = list_of(pa.int32())

# Number of the commit that added the row, counted for each source and topic.
_GENERATION = bigint_columns("generation")

# Topic id, partition and offset of the record from which the row was decoded.
_RECORD_PLACE = [
    *string_columns("record_topic_id"),
    *int_columns("record_partition"),
    *bigint_columns("record_offset"),
    *timestamp_columns("record_timestamp"),
    *bigint_columns("record_timestamp_ms"),
]


RECORDS = Table.of(
    "records",
    *binary_columns("key value"),
    *string_columns("topic"),
    *int_columns("partition"),
    *bigint_columns("offset"),
    *timestamp_columns("timestamp"),
    *int_columns("timestampType"),
    pa.field("headers", HEADERS_TYPE),
    *bigint_columns("timestamp_ms"),
    *string_columns("source_id topic_id transaction_state"),
    *bigint_columns("batch_base_offset"),
    *string_columns("run_id"),
    *_GENERATION,
    statistics="partition offset timestamp timestamp_ms batch_base_offset",
    partition_by=("topic",),
)

BATCHES = Table.of(
    "batches",
    *string_columns("source_id topic_id topic"),
    *int_columns("partition"),
    *bigint_columns("base_offset last_offset"),
    *int_columns("record_count row_count magic"),
    *string_columns("codec"),
    *int_columns("size_bytes uncompressed_bytes timestamp_type"),
    *bigint_columns("base_timestamp_ms max_timestamp_ms delete_horizon_ms"),
    *int_columns("leader_epoch"),
    *bigint_columns("producer_id"),
    *int_columns("producer_epoch base_sequence"),
    *boolean_columns("is_transactional is_control"),
    *string_columns("control_type transaction_state"),
    *bigint_columns("crc"),
    *int_columns("broker_id"),
    *string_columns("segment"),
    *bigint_columns("position"),
    *string_columns("state run_id"),
    *_GENERATION,
    statistics="partition base_offset last_offset base_timestamp_ms max_timestamp_ms producer_id",
    partition_by=("topic",),
)

QUARANTINE = Table.of(
    "quarantine",
    *string_columns("source_id topic_id topic"),
    *int_columns("partition broker_id"),
    *string_columns("segment"),
    *bigint_columns("position length_bytes"),
    *string_columns("defect_code defect_detail"),
    *bigint_columns("base_offset last_offset"),
    *int_columns("record_count magic"),
    *string_columns("codec"),
    *bigint_columns("expected_crc computed_crc previous_offset next_offset"),
    *binary_columns("raw"),
    *string_columns("raw_sha256"),
    *boolean_columns("raw_is_complete kafka_would_truncate"),
    *string_columns("resolution run_id"),
    *timestamp_columns("quarantined_at"),
    *_GENERATION,
    statistics="partition position previous_offset next_offset quarantined_at",
)

GAPS = Table.of(
    "gaps",
    *string_columns("source_id topic_id topic"),
    *int_columns("partition"),
    *bigint_columns("start_offset next_offset"),
    *string_columns("cause detail run_id attempt_id"),
    statistics="partition start_offset next_offset",
)

CONSUMER_OFFSETS = Table.of(
    "consumer_offsets",
    *string_columns("source_id kind group_id topic"),
    *int_columns("partition"),
    *bigint_columns("offset"),
    *int_columns("leader_epoch"),
    *string_columns("metadata"),
    *timestamp_columns("commit_timestamp"),
    *bigint_columns("commit_timestamp_ms"),
    *timestamp_columns("expire_timestamp"),
    *bigint_columns("expire_timestamp_ms"),
    *string_columns("topic_id member_id"),
    *boolean_columns("is_tombstone"),
    *string_columns("detail"),
    *int_columns("key_type value_version"),
    *binary_columns("key value"),
    *string_columns("unread_reason"),
    *_RECORD_PLACE,
    *string_columns("transaction_state run_id"),
    *_GENERATION,
    statistics="partition offset commit_timestamp record_partition record_offset record_timestamp",
    topics=frozenset({"__consumer_offsets"}),
)

TRANSACTION_STATE = Table.of(
    "transaction_state",
    *string_columns("source_id transactional_id"),
    *bigint_columns("producer_id"),
    *int_columns("producer_epoch timeout_ms"),
    *string_columns("state"),
    pa.field("partitions", PARTITIONS_TYPE),
    *timestamp_columns("last_update_timestamp"),
    *bigint_columns("last_update_timestamp_ms"),
    *timestamp_columns("start_timestamp"),
    *bigint_columns("start_timestamp_ms"),
    *bigint_columns("previous_producer_id next_producer_id"),
    *int_columns("next_producer_epoch client_transaction_version"),
    *boolean_columns("is_tombstone"),
    *int_columns("key_type value_version"),
    *binary_columns("key value"),
    *string_columns("unread_reason"),
    *_RECORD_PLACE,
    *string_columns("run_id"),
    *_GENERATION,
    statistics="producer_id last_update_timestamp record_partition record_offset record_timestamp",
    topics=frozenset({"__transaction_state"}),
)

CLUSTER_METADATA = Table.of(
    "cluster_metadata",
    *string_columns("source_id record_type topic topic_id"),
    *int_columns("partition"),
    pa.field("replicas", _INTS),
    pa.field("isr", _INTS),
    *int_columns("leader leader_epoch partition_epoch node_id"),
    *string_columns("resource_type resource_name name value"),
    *int_columns("feature_level"),
    *boolean_columns("is_redacted"),
    *string_columns("detail"),
    *int_columns("type_id type_version"),
    *string_columns("unread_reason snapshot"),
    *_RECORD_PLACE,
    *string_columns("run_id"),
    *_GENERATION,
    statistics="partition node_id record_offset record_timestamp",
    topics=frozenset({"__cluster_metadata"}),
)

REMOTE_LOG_METADATA = Table.of(
    "remote_log_metadata",
    *string_columns("source_id event topic topic_id"),
    *int_columns("partition"),
    *string_columns("segment_id state"),
    *bigint_columns("start_offset end_offset"),
    pa.field("leader_epochs", LEADER_EPOCHS_TYPE),
    *int_columns("size_bytes broker_id"),
    *timestamp_columns("max_timestamp"),
    *bigint_columns("max_timestamp_ms"),
    *timestamp_columns("event_timestamp"),
    *bigint_columns("event_timestamp_ms"),
    *binary_columns("custom_metadata"),
    *boolean_columns("is_transaction_index_empty is_tombstone"),
    *int_columns("type_id type_version"),
    *binary_columns("key value"),
    *string_columns("unread_reason"),
    *_RECORD_PLACE,
    *string_columns("run_id"),
    *_GENERATION,
    statistics="partition start_offset end_offset event_timestamp record_offset record_timestamp",
    topics=frozenset({"__remote_log_metadata"}),
    since=3,
)

CHECKPOINTS = Table.of(
    "checkpoints",
    *string_columns("source_id topic_id topic"),
    *int_columns("partition"),
    *string_columns("kind"),
    *bigint_columns("start_offset next_offset records batches quarantined_batches bytes"),
    *bigint_columns("min_timestamp_ms max_timestamp_ms"),
    *bigint_columns("log_start_offset high_watermark last_stable_offset log_end_offset"),
    *int_columns("leader_epoch"),
    *bigint_columns("last_batch_base_offset last_batch_crc"),
    pa.field("offset_sum", pa.decimal128(38, 0)),
    *bigint_columns("key_bytes value_bytes"),
    *string_columns("isolation upper_bound run_id attempt_id"),
    *timestamp_columns("committed_at"),
    *_GENERATION,
    statistics="partition start_offset next_offset committed_at generation",
)

# What runs have observed about partitions; no other table depends on these rows.
# They are appended outside of topics' commits.
OBSERVATIONS = Table.of(
    "observations",
    *string_columns("source_id topic_id topic"),
    *int_columns("partition broker_id"),
    *bigint_columns(
        "log_start_offset high_watermark last_stable_offset log_end_offset next_offset"
    ),
    *string_columns("stopped_by detail"),
    pa.field("not_ingested", NOT_INGESTED_TYPE),
    *bigint_columns("first_log_end_offset"),
    *timestamp_columns("waiting_since"),
    *string_columns("listing run_id"),
    *timestamp_columns("observed_at"),
    statistics="partition log_end_offset next_offset observed_at",
    topics=frozenset(),
    since=1,
)

# Records decoded from damaged batches.
# A row belongs to the row of `quarantine` with the same position, hash and generation.
# The view hides it once that row is resolved.
SALVAGED_RECORDS = Table.of(
    "salvaged_records",
    *RECORDS.schema,
    *boolean_columns("is_trusted is_damaged"),
    *string_columns("damage damage_field"),
    *int_columns("damage_position damage_bit broker_id"),
    *string_columns("segment"),
    *bigint_columns("position"),
    *string_columns("defect_code raw_sha256"),
    *timestamp_columns("salvaged_at"),
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
