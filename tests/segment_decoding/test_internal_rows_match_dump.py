"""The decoded tables, of the brokers' disks, row by row against Kafka's own decoders."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.broker_disks import log_dir
from support.cases import cases, shared
from support.conversions import DiskCopy
from support.internal_dumps import DumpedPartition, DumpedRecord, Fields, internal_partitions
from support.lakes import Row, ingested, read_table
from support.oracle import Isolation, expected_records

OFFSETS, TRANSACTIONS, METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata"
TABLES = {
    OFFSETS: "consumer_offsets",
    TRANSACTIONS: "transaction_state",
    METADATA: "cluster_metadata",
}
COPIES = [
    ("05_compacted", "before"),
    ("05_compacted", "after"),
    ("06_transactions", "live"),
    ("06_transactions", "stopped"),
    ("10_crash", "recovered"),
    ("11_kraft", "stopped"),
    ("12_tiered", "stopped"),
    ("13_legacy_in_4x", "before"),
    ("13_legacy_in_4x", "after"),
]
KINDS = {
    "0": "offset_commit",
    "1": "offset_commit",
    "2": "classic_group",
    "3": "consumer_group",
    "5": "consumer_group_member",
    "6": "consumer_group_target_assignment",
    "7": "consumer_group_target_assignment_member",
    "8": "consumer_group_current_assignment",
    "10": "share_group_member",
    "11": "share_group",
    "12": "share_group_target_assignment",
    "13": "share_group_target_assignment_member",
    "14": "share_group_current_assignment",
    "15": "share_group_state_partitions",
}
STATES = (
    "empty",
    "ongoing",
    "prepare_commit",
    "prepare_abort",
    "complete_commit",
    "complete_abort",
)
EMBEDDED = ("subscription", "assignment")  # bytes that Kafka's tool takes apart


_TAKEN = cases(
    (DiskCopy(*copy, isolation) for copy in COPIES for isolation in Isolation),
    telling=lambda copy: copy.is_telling,
    name="-".join,
)


@pytest.fixture(scope="module", params=shared(_TAKEN))
def taken(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, Path]:
    scenario, copy, isolation = request.param
    lake = tmp_path_factory.mktemp("lake") / "lake"
    summary = ingested(
        log_dir(scenario, copy),
        lake,
        isolation=isolation,
        select={"internal_topics": True, "topics": [*TABLES]},
        read={"upper_bound": "log_end"},
    )
    assert (summary.counts.unread_internal, summary.counts.redacted) == (0, 0)
    return scenario, copy, lake


@cache
def dumped(scenario: str, copy: str, topic: str) -> list[DumpedPartition]:
    return internal_partitions(scenario, copy, topic)


@pytest.mark.parametrize("topic", TABLES)
def test_every_row_is_what_kafka_printed(taken: tuple[str, str, Path], topic: str) -> None:
    scenario, copy, lake = taken
    rows = read_table(lake, TABLES[topic])
    expected = [
        (partition.partition, record)
        for partition in dumped(scenario, copy, topic)
        for record in partition.records
        if record.file_name.endswith(".log")
        # Only offset commits are sent in transactions.
        and (topic != OFFSETS or record.offset in committed(scenario, copy, partition.partition))
    ]
    rows.sort(key=lambda row: (row["record_partition"], row["record_offset"]))
    places = [(row["record_partition"], row["record_offset"]) for row in rows]
    assert places == [(number, record.offset) for number, record in expected]
    told = {OFFSETS: proof_stop, TRANSACTIONS: told_transaction, METADATA: told_metadata}[topic]
    for row, (_, record) in zip(rows, expected, strict=True):
        assert told(row) == wanted(topic, record), record
        assert row["unread_reason"] is None
        assert row["record_timestamp_ms"] == record.timestamp_ms
        if topic != METADATA:
            assert (row["key"], row["value"]) == (None, None)


@cache
def committed(scenario: str, copy: str, partition: int) -> frozenset[int]:
    """What a consumer of committed records was given."""
    records = expected_records(scenario, copy, OFFSETS, partition, Isolation.READ_COMMITTED)
    return frozenset(record.offset for record in records)


def wanted(topic: str, record: DumpedRecord) -> Fields:
    """The columns that a dumped record must give; None ones left out."""
    if topic == OFFSETS:
        columns = wanted_offset(record)
    elif topic == TRANSACTIONS:
        columns = wanted_transaction(record)
    else:
        columns = wanted_metadata(record)
    return {name: value for name, value in columns.items() if value is not None}


def wanted_offset(record: DumpedRecord) -> Fields:
    assert record.key is not None
    key, value = record.key["data"], record.value
    told = {} if value is None else value["data"]
    kind = KINDS[record.key["type"]]
    columns: Fields = {
        "kind": kind,
        "key_type": int(record.key["type"]),
        "value_version": None if value is None else int(value["version"]),
        "is_tombstone": value is None,
        "group_id": key.get("group", key.get("groupId")),
        "member_id": key.get("memberId"),
    }
    if kind != "offset_commit":
        return columns | {"detail": bare(told) or None}
    return columns | {
        "topic": key["topic"],
        "partition": key["partition"],
        "offset": told.get("offset"),
        "leader_epoch": known(told.get("leaderEpoch")),
        "metadata": told.get("metadata"),
        "commit_timestamp_ms": told.get("commitTimestamp"),
        "topic_id": told.get("topicId"),
    }


def proof_stop(row: Row) -> Fields:
    detail = row["detail"] and bare(json.loads(row["detail"]))
    names = (
        *("kind", "key_type", "value_version", "is_tombstone", "group_id", "member_id", "topic"),
        *("partition", "offset", "leader_epoch", "metadata", "commit_timestamp_ms", "topic_id"),
        "expire_timestamp_ms",
    )
    return some(row, names, detail=detail)


def wanted_transaction(record: DumpedRecord) -> Fields:
    assert record.key is not None
    columns: Fields = {
        "transactional_id": record.key["data"]["transactionalId"],
        "is_tombstone": record.value is None,
        "key_type": 0,
    }
    if record.value is None:
        return columns
    told = record.value["data"]
    partitions = {
        (topic["topic"], number)
        for topic in told.get("transactionPartitions") or []
        for number in topic["partitionIds"]
    }
    is_new = "version" in record.value  # what an old broker printed has less
    return columns | {
        "producer_id": told["producerId"],
        "producer_epoch": told["producerEpoch"],
        "timeout_ms": told["transactionTimeoutMs"],
        "state": STATES[told["transactionStatus"]],
        "partitions": told.get("partitions", partitions) or None,
        "last_update_timestamp_ms": told["transactionLastUpdateTimestampMs"],
        # Old brokers' tool does not print it.
        "start_timestamp_ms": known(told.get("transactionStartTimestampMs")),
        "previous_producer_id": told.get("previousProducerId"),
        "client_transaction_version": told.get("clientTransactionVersion"),
        "value_version": int(record.value["version"]) if is_new else 0,
    }


def told_transaction(row: Row) -> Fields:
    found = {(each["topic"], each["partition"]) for each in row["partitions"] or []}
    names = (
        *("transactional_id", "is_tombstone", "key_type", "producer_id", "producer_epoch"),
        *("timeout_ms", "state", "last_update_timestamp_ms", "start_timestamp_ms"),
        *("previous_producer_id", "client_transaction_version", "value_version"),
        *("next_producer_id", "next_producer_epoch"),
    )
    fields = some(row, names, partitions=found or None)
    if row["value_version"] == 0:
        fields.pop("start_timestamp_ms", None)
    return fields


def wanted_metadata(record: DumpedRecord) -> Fields:
    assert record.value is not None
    told = record.value["data"]
    kind = record.value["type"].removesuffix("_RECORD").lower()
    resources = {2: "topic", 4: "broker", 16: "client_metrics", 32: "group"}
    resource = resources.get(told.get("resourceType"))
    topic = told.get("resourceName") if resource == "topic" else told.get("topicName")
    return {
        "record_type": kind,
        "type_version": record.value["version"],
        "is_redacted": False,
        "topic": told["name"] if kind == "topic" else topic,
        "topic_id": told.get("topicId"),
        "partition": told.get("partitionId"),
        "replicas": told.get("replicas"),
        "isr": told.get("isr"),
        "leader": told.get("leader"),
        "leader_epoch": told.get("leaderEpoch"),
        "partition_epoch": told.get("partitionEpoch"),
        "node_id": told.get("brokerId", told.get("controllerId")),
        "resource_type": resource,
        "resource_name": told.get("resourceName"),
        "name": told.get("name") if kind in ("config", "feature_level") else None,
        "value": told.get("value"),
        "feature_level": told.get("featureLevel"),
        "detail": told or None,
    }


def told_metadata(row: Row) -> Fields:
    names = (
        *("record_type", "type_version", "is_redacted", "topic", "topic_id", "partition"),
        *("replicas", "isr", "leader", "leader_epoch", "partition_epoch", "node_id"),
        *("resource_type", "resource_name", "name", "value", "feature_level", "snapshot"),
    )
    return some(row, names, detail=row["detail"] and json.loads(row["detail"]))


def some(row: Row, names: tuple[str, ...], **others: object) -> Fields:
    """The columns that are not null."""
    columns = {name: row[name] for name in names} | others
    return {name: value for name, value in columns.items() if value is not None}


def known(number: int | None) -> int | None:
    return None if number == -1 else number


def bare(fields: Any) -> Any:
    """Without the bytes that Kafka's tool takes apart."""
    if isinstance(fields, list):
        return [bare(field) for field in fields]
    if not isinstance(fields, dict):
        return fields
    return {name: bare(value) for name, value in fields.items() if name not in EMBEDDED}
