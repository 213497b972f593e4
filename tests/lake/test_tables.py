import pyarrow as pa
import pytest

from seglake.lake.tables import (
    BATCHES,
    CHECKPOINTS,
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    GAPS,
    HEADERS_TYPE,
    LEADER_EPOCHS_TYPE,
    LOG_TABLES,
    NOT_INGESTED_TYPE,
    PARTITIONS_TYPE,
    QUARANTINE,
    RECORDS,
    TABLES,
    TRANSACTION_STATE,
    Table,
)

# The public contract, word for word: "name:type", in order.
CONTRACT = {
    "records": (
        "key:binary value:binary topic:string partition:int offset:bigint timestamp:timestamp "
        "timestampType:int headers:array<struct<key:string,value:binary>> timestamp_ms:bigint "
        "source_id:string topic_id:string transaction_state:string batch_base_offset:bigint "
        "run_id:string generation:bigint"
    ),
    "batches": (
        "source_id:string topic_id:string topic:string partition:int base_offset:bigint "
        "last_offset:bigint record_count:int row_count:int magic:int codec:string size_bytes:int "
        "uncompressed_bytes:int timestamp_type:int base_timestamp_ms:bigint "
        "max_timestamp_ms:bigint delete_horizon_ms:bigint leader_epoch:int producer_id:bigint "
        "producer_epoch:int base_sequence:int is_transactional:boolean is_control:boolean "
        "control_type:string transaction_state:string crc:bigint broker_id:int segment:string "
        "position:bigint state:string run_id:string generation:bigint"
    ),
    "quarantine": (
        "source_id:string topic_id:string topic:string partition:int broker_id:int segment:string "
        "position:bigint length_bytes:bigint defect_code:string defect_detail:string "
        "base_offset:bigint last_offset:bigint record_count:int magic:int codec:string "
        "expected_crc:bigint computed_crc:bigint previous_offset:bigint next_offset:bigint "
        "raw:binary raw_sha256:string raw_is_complete:boolean kafka_would_truncate:boolean "
        "resolution:string run_id:string quarantined_at:timestamp generation:bigint"
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
        "transaction_state:string run_id:string generation:bigint"
    ),
    "transaction_state": (
        "source_id:string transactional_id:string producer_id:bigint producer_epoch:int "
        "timeout_ms:int state:string partitions:array<struct<topic:string,partition:int>> "
        "last_update_timestamp:timestamp last_update_timestamp_ms:bigint "
        "start_timestamp:timestamp start_timestamp_ms:bigint previous_producer_id:bigint "
        "next_producer_id:bigint next_producer_epoch:int client_transaction_version:int "
        "is_tombstone:boolean key_type:int value_version:int key:binary value:binary "
        "unread_reason:string record_topic_id:string record_partition:int record_offset:bigint "
        "record_timestamp:timestamp record_timestamp_ms:bigint run_id:string "
        "generation:bigint"
    ),
    "cluster_metadata": (
        "source_id:string record_type:string topic:string topic_id:string partition:int "
        "replicas:array<int> isr:array<int> leader:int leader_epoch:int partition_epoch:int "
        "node_id:int resource_type:string resource_name:string name:string value:string "
        "feature_level:int is_redacted:boolean detail:string type_id:int type_version:int "
        "unread_reason:string snapshot:string record_topic_id:string record_partition:int "
        "record_offset:bigint record_timestamp:timestamp record_timestamp_ms:bigint run_id:string "
        "generation:bigint"
    ),
    "remote_log_metadata": (
        "source_id:string event:string topic:string topic_id:string partition:int "
        "segment_id:string state:string start_offset:bigint end_offset:bigint "
        "leader_epochs:array<struct<leader_epoch:int,start_offset:bigint>> size_bytes:int "
        "broker_id:int max_timestamp:timestamp max_timestamp_ms:bigint event_timestamp:timestamp "
        "event_timestamp_ms:bigint custom_metadata:binary is_transaction_index_empty:boolean "
        "is_tombstone:boolean type_id:int type_version:int key:binary value:binary "
        "unread_reason:string record_topic_id:string record_partition:int record_offset:bigint "
        "record_timestamp:timestamp record_timestamp_ms:bigint run_id:string generation:bigint"
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
    "observations": (
        "source_id:string topic_id:string topic:string partition:int broker_id:int "
        "log_start_offset:bigint high_watermark:bigint last_stable_offset:bigint "
        "log_end_offset:bigint next_offset:bigint stopped_by:string detail:string "
        "not_ingested:array<struct<reason:string,from_offset:bigint,log_end_offset:bigint>> "
        "first_log_end_offset:bigint waiting_since:timestamp listing:string run_id:string "
        "observed_at:timestamp"
    ),
    "salvaged_records": (
        "key:binary value:binary topic:string partition:int offset:bigint timestamp:timestamp "
        "timestampType:int headers:array<struct<key:string,value:binary>> timestamp_ms:bigint "
        "source_id:string topic_id:string transaction_state:string batch_base_offset:bigint "
        "run_id:string generation:bigint is_trusted:boolean is_damaged:boolean damage:string "
        "damage_field:string damage_position:int damage_bit:int broker_id:int segment:string "
        "position:bigint defect_code:string raw_sha256:string salvaged_at:timestamp"
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
    "array<struct<reason:string,from_offset:bigint,log_end_offset:bigint>>": NOT_INGESTED_TYPE,
    "array<struct<leader_epoch:int,start_offset:bigint>>": LEADER_EPOCHS_TYPE,
    "array<int>": pa.list_(pa.field("element", pa.int32())),
}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_are_those_of_the_contract_in_its_order(table: Table) -> None:
    expected = [column.split(":", 1) for column in CONTRACT[table.name].split()]
    assert [(f.name, f.type) for f in table.schema] == [(n, ARROW[kind]) for n, kind in expected]
    assert all(field.nullable for field in table.schema)


def test_tables_are_listed_in_the_order_of_their_commits() -> None:
    assert [table.name for table in TABLES] == [
        *("records", "batches", "quarantine", "gaps"),
        *("consumer_offsets", "transaction_state", "cluster_metadata", "remote_log_metadata"),
        *("checkpoints", "observations", "salvaged_records"),
    ]


def test_a_topic_has_no_part_in_the_tables_of_another() -> None:
    assert LOG_TABLES.of([]) == ()
    assert LOG_TABLES.of(["orders", "consumer_offsets"]) == (
        *(RECORDS, BATCHES, QUARANTINE, GAPS),
        CHECKPOINTS,
    )
    assert LOG_TABLES.of(["__transaction_state", "orders", "__cluster_metadata"]) == (
        *(RECORDS, BATCHES, QUARANTINE, GAPS),
        *(TRANSACTION_STATE, CLUSTER_METADATA),
        CHECKPOINTS,
    )
    assert CONSUMER_OFFSETS in LOG_TABLES.of(["__consumer_offsets"])


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


def test_an_ingest_decides_in_records_and_publishes_in_checkpoints() -> None:
    assert (LOG_TABLES.deciding, LOG_TABLES.publishing) == (RECORDS, CHECKPOINTS)
