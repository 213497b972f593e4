from typing import Any

import pyarrow as pa
import pytest

from seglake.lake.errors import SchemaError
from seglake.lake.tables import (
    BATCHES,
    CHECKPOINTS,
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    GAPS,
    HEADERS_TYPE,
    PARTITIONS_TYPE,
    QUARANTINE,
    RECORDS,
    TABLES,
    TRANSACTION_STATE,
    Table,
    check,
    check_whole,
    tables_of,
)

# The public contract, word for word: "name:type", in order.
CONTRACT = {
    "records": (
        "key:binary value:binary topic:string partition:int offset:bigint timestamp:timestamp "
        "timestampType:int headers:array<struct<key:string,value:binary>> timestamp_ms:bigint "
        "source_id:string topic_id:string transaction_state:string batch_base_offset:bigint "
        "run_id:string"
    ),
    "batches": (
        "source_id:string topic_id:string topic:string partition:int base_offset:bigint "
        "last_offset:bigint record_count:int row_count:int magic:int codec:string size_bytes:int "
        "uncompressed_bytes:int timestamp_type:int base_timestamp_ms:bigint "
        "max_timestamp_ms:bigint delete_horizon_ms:bigint leader_epoch:int producer_id:bigint "
        "producer_epoch:int base_sequence:int is_transactional:boolean is_control:boolean "
        "control_type:string transaction_state:string crc:bigint broker_id:int segment:string "
        "position:bigint state:string run_id:string"
    ),
    "quarantine": (
        "source_id:string topic_id:string topic:string partition:int broker_id:int segment:string "
        "position:bigint length_bytes:bigint defect_code:string defect_detail:string "
        "base_offset:bigint last_offset:bigint record_count:int magic:int codec:string "
        "expected_crc:bigint computed_crc:bigint previous_offset:bigint next_offset:bigint "
        "raw:binary raw_sha256:string raw_is_complete:boolean kafka_would_truncate:boolean "
        "resolution:string run_id:string quarantined_at:timestamp"
    ),
    "gaps": (
        "source_id:string topic_id:string topic:string partition:int start_offset:bigint "
        "next_offset:bigint cause:string detail:string run_id:string attempt_id:string"
    ),
    "consumer_offsets": (
        "source_id:string kind:string group_id:string topic:string partition:int offset:bigint "
        "leader_epoch:int metadata:string commit_timestamp:timestamp commit_timestamp_ms:bigint "
        "expire_timestamp:timestamp expire_timestamp_ms:bigint topic_id:string member_id:string "
        "is_tombstone:boolean detail:string key_type:int value_version:int key:binary "
        "value:binary unread_reason:string record_topic_id:string record_partition:int "
        "record_offset:bigint record_timestamp:timestamp record_timestamp_ms:bigint "
        "transaction_state:string run_id:string"
    ),
    "transaction_state": (
        "source_id:string transactional_id:string producer_id:bigint producer_epoch:int "
        "timeout_ms:int state:string partitions:array<struct<topic:string,partition:int>> "
        "last_update_timestamp:timestamp last_update_timestamp_ms:bigint "
        "start_timestamp:timestamp start_timestamp_ms:bigint previous_producer_id:bigint "
        "next_producer_id:bigint next_producer_epoch:int client_transaction_version:int "
        "is_tombstone:boolean key_type:int value_version:int key:binary value:binary "
        "unread_reason:string record_topic_id:string record_partition:int record_offset:bigint "
        "record_timestamp:timestamp record_timestamp_ms:bigint run_id:string"
    ),
    "cluster_metadata": (
        "source_id:string record_type:string topic:string topic_id:string partition:int "
        "replicas:array<int> isr:array<int> leader:int leader_epoch:int partition_epoch:int "
        "node_id:int resource_type:string resource_name:string name:string value:string "
        "feature_level:int is_redacted:boolean detail:string type_id:int type_version:int "
        "unread_reason:string snapshot:string record_topic_id:string record_partition:int "
        "record_offset:bigint record_timestamp:timestamp record_timestamp_ms:bigint run_id:string"
    ),
    "checkpoints": (
        "source_id:string topic_id:string topic:string partition:int kind:string "
        "start_offset:bigint next_offset:bigint records:bigint batches:bigint "
        "quarantined_batches:bigint bytes:bigint min_timestamp_ms:bigint max_timestamp_ms:bigint "
        "log_start_offset:bigint high_watermark:bigint last_stable_offset:bigint "
        "log_end_offset:bigint leader_epoch:int last_batch_base_offset:bigint "
        "last_batch_crc:bigint offset_sum:decimal(38,0) key_bytes:bigint value_bytes:bigint "
        "isolation:string upper_bound:string run_id:string attempt_id:string "
        "committed_at:timestamp generation:bigint"
    ),
}
ARROW: dict[str, "pa.DataType"] = {
    "binary": pa.binary(),
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "decimal(38,0)": pa.decimal128(38, 0),
    "array<struct<key:string,value:binary>>": HEADERS_TYPE,
    "array<struct<topic:string,partition:int>>": PARTITIONS_TYPE,
    "array<int>": pa.list_(pa.field("element", pa.int32())),
}


def columns_of(schema: pa.Schema) -> "list[pa.Field[Any]]":  # Any: a column of whatever type
    return [schema.field(index) for index in range(len(schema))]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_are_those_of_the_contract_in_its_order(table: Table) -> None:
    expected = [column.split(":", 1) for column in CONTRACT[table.name].split()]
    assert [(f.name, f.type) for f in table.schema] == [(n, ARROW[kind]) for n, kind in expected]
    assert all(field.nullable for field in table.schema)


def test_tables_are_listed_in_the_order_of_their_commits() -> None:
    assert [table.name for table in TABLES] == [
        *("records", "batches", "quarantine", "gaps"),
        *("consumer_offsets", "transaction_state", "cluster_metadata"),
        "checkpoints",
    ]


def test_a_topic_has_no_part_in_the_tables_of_another() -> None:
    assert tables_of([]) == ()
    assert tables_of(["orders", "consumer_offsets"]) == (
        *(RECORDS, BATCHES, QUARANTINE, GAPS),
        CHECKPOINTS,
    )
    assert tables_of(["__transaction_state", "orders", "__cluster_metadata"]) == (
        *(RECORDS, BATCHES, QUARANTINE, GAPS),
        *(TRANSACTION_STATE, CLUSTER_METADATA),
        CHECKPOINTS,
    )
    assert CONSUMER_OFFSETS in tables_of(["__consumer_offsets"])


def test_records_and_batches_are_partitioned_by_topic_and_nothing_else_is() -> None:
    for table in TABLES:
        assert table.partition_by == (("topic",) if table in (RECORDS, BATCHES) else ())


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_statistics_cover_only_numbers_and_timestamps_inside_the_files(table: Table) -> None:
    for name in table.statistics_columns:
        kind = table.file_schema.field(name).type
        assert pa.types.is_integer(kind) or pa.types.is_timestamp(kind)


def test_file_schema_lacks_the_partition_column() -> None:
    assert "topic" not in RECORDS.file_schema.names
    assert len(RECORDS.file_schema) == len(RECORDS.schema) - 1
    assert GAPS.file_schema == GAPS.schema


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_own_columns_pass(table: Table) -> None:
    check(table, table.file_schema)
    check_whole(table, table.schema)


def test_views_and_dictionaries_pass_for_their_values() -> None:
    disguised = {
        "key": pa.binary_view(),
        "value": pa.dictionary(pa.int32(), pa.binary()),
        "partition": pa.dictionary(pa.int8(), pa.int32()),
        "source_id": pa.dictionary(pa.int32(), pa.string()),
        "run_id": pa.dictionary(pa.int16(), pa.string()),
    }
    fields = [pa.field(f.name, disguised.get(f.name, f.type)) for f in RECORDS.file_schema]
    check(RECORDS, pa.schema(fields))


def test_error_lists_every_difference() -> None:
    fields = [field for field in columns_of(GAPS.schema) if field.name != "cause"]
    fields[3] = pa.field("partition", pa.int64())
    fields[4] = pa.field("start_offset", pa.dictionary(pa.int8(), pa.string()))
    fields += [pa.field("colour", pa.string()), pa.field("detail", pa.string())]
    with pytest.raises(SchemaError) as caught:
        check(GAPS, pa.schema(fields))
    assert caught.value.table == "gaps"
    assert caught.value.differences == (
        "column cause is missing",
        "column colour is not expected",
        "column detail comes twice",
        "column partition is int64, expected int32",
        "column start_offset is string, expected int64",
    )


def test_order_of_columns_matters() -> None:
    with pytest.raises(SchemaError, match="columns are in the order"):
        check(GAPS, pa.schema(columns_of(GAPS.schema)[::-1]))


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Paris")],
    ids=str,
)
def test_other_timestamps_are_refused(kind: pa.DataType) -> None:
    fields = [
        pa.field(f.name, kind if f.name == "timestamp" else f.type) for f in RECORDS.file_schema
    ]
    with pytest.raises(SchemaError, match="column timestamp is timestamp"):
        check(RECORDS, pa.schema(fields))


def test_partition_column_is_refused_inside_a_file() -> None:
    with pytest.raises(SchemaError, match="column topic is not expected"):
        check(RECORDS, RECORDS.schema)


def test_column_that_must_not_be_null_is_refused_in_a_table() -> None:
    fields = columns_of(GAPS.schema)
    fields[3] = fields[3].with_nullable(False)
    with pytest.raises(SchemaError, match="column partition must be nullable"):
        check_whole(GAPS, pa.schema(fields))
