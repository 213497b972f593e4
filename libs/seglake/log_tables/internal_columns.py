"""Converts records of Kafka's internal topics to values of their tables.

`segment_codec` parses the bytes; this module maps the fields to columns.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from seglake.lake.tables import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    REMOTE_LOG_METADATA,
    TRANSACTION_STATE,
    Table,
)
from seglake.segment_codec.formats.internal_topics.coordinator_records import (
    OFFSET_COMMIT,
    STATUS_NAMES,
    CoordinatorRecord,
    group_record,
    transaction_record,
)
from seglake.segment_codec.formats.internal_topics.message_layout import Json
from seglake.segment_codec.formats.internal_topics.metadata_records import (
    RESOURCE_TYPES,
    MetadataRecord,
    metadata_record,
)
from seglake.segment_codec.formats.internal_topics.remote_log_records import (
    PARTITION_DELETE,
    PARTITION_STATES,
    SEGMENT_STATES,
    remote_log_record,
)

# Arrow converts dicts to structs.
Value: TypeAlias = "Json | bytes"
Values: TypeAlias = "dict[str, Value]"


class Interpreted(NamedTuple):
    """Values of a record by column; columns without a value are null.

    Attributes:
        is_unread: whether the record could not be parsed to its end.
        is_redacted: whether a value was omitted because it is or may be a secret.
        may_hold_secret: whether the record may contain a secret, so its bytes must not be stored.
    """

    values: Values
    is_unread: bool
    is_redacted: bool
    may_hold_secret: bool


Interpreter: TypeAlias = "Callable[[bytes | None, bytes | None], Interpreted]"


def consumer_offset(key: bytes | None, value: bytes | None) -> Interpreted:
    """Return the values of a row of `consumer_offsets`."""
    record = group_record(key, value)
    named, fields = record.key_fields, record.value_fields
    values = _envelope(record, key, value)
    values |= {
        "kind": record.kind,
        "group_id": named.get("group"),
        "topic": named.get("topic"),
        "partition": named.get("partition"),
        "member_id": named.get("memberId"),
    }
    if record.kind == OFFSET_COMMIT:
        values |= {
            "offset": fields.get("offset"),
            "leader_epoch": _known(fields.get("leaderEpoch")),
            "metadata": fields.get("metadata"),
            "topic_id": fields.get("topicId"),
            "commit_timestamp_ms": _known(fields.get("commitTimestamp")),
            "expire_timestamp_ms": _known(fields.get("expireTimestamp")),
        }
    else:
        values["detail"] = _json(fields)
    return Interpreted(values, record.unread_reason is not None, False, False)


def transaction_state(key: bytes | None, value: bytes | None) -> Interpreted:
    """Return the values of a row of `transaction_state`."""
    record = transaction_record(key, value)
    fields = record.value_fields
    values = _envelope(record, key, value)
    values |= {
        "transactional_id": record.key_fields.get("transactionalId"),
        "producer_id": _known(fields.get("producerId")),
        "producer_epoch": _known(fields.get("producerEpoch")),
        "timeout_ms": fields.get("transactionTimeoutMs"),
        "state": _name_of(fields.get("transactionStatus"), STATUS_NAMES),
        "partitions": _partitions(fields.get("transactionPartitions")),
        "last_update_timestamp_ms": _known(fields.get("transactionLastUpdateTimestampMs")),
        "start_timestamp_ms": _known(fields.get("transactionStartTimestampMs")),
        "previous_producer_id": _known(fields.get("previousProducerId")),
        "next_producer_id": _known(fields.get("nextProducerId")),
        "next_producer_epoch": _known(fields.get("nextProducerEpoch")),
        "client_transaction_version": fields.get("clientTransactionVersion"),
    }
    return Interpreted(values, record.unread_reason is not None, False, False)


def cluster_metadata(key: bytes | None, value: bytes | None) -> Interpreted:
    """Return the values of a row of `cluster_metadata`, without raw bytes, which may be secret."""
    record = metadata_record(value)
    fields = record.fields
    values: Values = {
        "record_type": record.record_type,
        "type_id": record.type_id,
        "type_version": record.type_version,
        "topic_id": fields.get("topicId"),
        "partition": fields.get("partitionId"),
        "replicas": fields.get("replicas"),
        "isr": fields.get("isr"),
        "leader": fields.get("leader"),
        "leader_epoch": fields.get("leaderEpoch"),
        "partition_epoch": fields.get("partitionEpoch"),
        "feature_level": fields.get("featureLevel"),
        "is_redacted": record.is_redacted,
        "detail": _json(fields),
        "unread_reason": record.unread_reason,
    }
    values |= _named(record)
    is_unread = record.unread_reason is not None
    return Interpreted(values, is_unread, record.is_redacted, record.may_hold_secret)


def remote_log_metadata(key: bytes | None, value: bytes | None) -> Interpreted:
    """Return the values of a row of `remote_log_metadata`; a tombstone has no event type."""
    message = remote_log_record(value)
    is_tombstone = value is None
    is_unread = message.unread_reason is not None and not is_tombstone
    fields, segment = message.fields, _struct(message.fields, "remoteLogSegmentId")
    partition = _struct(segment or fields, "topicIdPartition")
    states = PARTITION_STATES if message.name == PARTITION_DELETE else SEGMENT_STATES
    number = fields.get("remoteLogSegmentState", fields.get("remotePartitionDeleteState"))
    custom, epochs = fields.get("customMetadata"), _epochs(fields.get("segmentLeaderEpochs"))
    values: Values = {
        "event": None if is_tombstone else message.name,
        "topic": partition.get("name"),
        "topic_id": partition.get("id"),
        "partition": partition.get("partition"),
        "segment_id": segment.get("id", fields.get("segmentId")),
        "state": _name_of(number, states),
        "start_offset": fields.get("startOffset"),
        "end_offset": fields.get("endOffset"),
        "leader_epochs": epochs,
        "size_bytes": fields.get("segmentSizeInBytes"),
        "broker_id": fields.get("brokerId"),
        "max_timestamp_ms": _known(fields.get("maxTimestampMs")),
        "event_timestamp_ms": fields.get("eventTimestampMs"),
        "custom_metadata": base64.b64decode(custom) if isinstance(custom, str) else None,
        # Kafka omits tagged fields that have their default, here False.
        "is_transaction_index_empty": fields.get(
            "txnIndexEmpty", None if epochs is None else False
        ),
        "is_tombstone": is_tombstone,
        "type_id": message.type_id,
        "type_version": message.version,
        "key": key if is_unread else None,
        "value": value if is_unread else None,
        "unread_reason": message.unread_reason if is_unread else None,
    }
    return Interpreted(values, is_unread, False, False)


INTERPRETERS: Mapping[str, tuple[Table, Interpreter]] = {
    topic: (table, interpreter)
    for table, interpreter in (
        (CONSUMER_OFFSETS, consumer_offset),
        (TRANSACTION_STATE, transaction_state),
        (CLUSTER_METADATA, cluster_metadata),
        (REMOTE_LOG_METADATA, remote_log_metadata),
    )
    for topic in table.topics or ()
}
"""Table and interpreter by topic, for topics with a decoded table."""


def _envelope(record: CoordinatorRecord, key: bytes | None, value: bytes | None) -> Values:
    """Return the columns of a record that both coordinators' tables have.

    Raw bytes are included only if the record is unreadable.
    """
    is_unread = record.unread_reason is not None
    return {
        "is_tombstone": record.is_tombstone,
        "key_type": record.key_type,
        "value_version": record.value_version,
        "key": key if is_unread else None,
        "value": value if is_unread else None,
        "unread_reason": record.unread_reason,
    }


def _named(record: MetadataRecord) -> Values:
    """Return the columns of fields whose name or meaning depends on the record type."""
    fields = record.fields
    match record.record_type:
        case "topic":
            return {"topic": fields.get("name")}
        case "clear_elr":
            return {"topic": fields.get("topicName")}
        case "config":
            return _config(fields)
        case "feature_level":
            return {"name": fields.get("name")}
        case "client_quota":
            return {"name": fields.get("key")}
        case "register_controller" | "unregister_controller":
            return {"node_id": fields.get("controllerId")}
        case "fence_broker" | "unfence_broker":
            return {"node_id": fields.get("id")}
        case _:
            return {"node_id": fields.get("brokerId")}


def _config(fields: Mapping[str, Json]) -> Values:
    """Return the columns of a record with a config of a topic, broker or group."""
    number, resource_name = fields.get("resourceType"), fields.get("resourceName")
    resource = RESOURCE_TYPES.get(number, str(number)) if isinstance(number, int) else None
    return {
        "resource_type": resource,
        "resource_name": resource_name,
        "topic": resource_name if resource == "topic" else None,
        "name": fields.get("name"),
        "value": fields.get("value"),
    }


def _known(value: Json) -> Json:
    """Return a value; None for -1, which Kafka writes for 'no value'."""
    return None if value == -1 else value


def _name_of(number: Json, names: Sequence[str]) -> str | None:
    """Return Kafka's name for a number; without a name, the number as text."""
    if not isinstance(number, int):
        return None
    return names[number] if 0 <= number < len(names) else str(number)


def _struct(fields: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    """Return the fields of the struct `name`; empty if the message does not have it."""
    inner = fields.get(name)
    return inner if isinstance(inner, dict) else {}


def _epochs(entries: Json) -> Json:
    """Return leader epochs with the names of the table's fields."""
    if not isinstance(entries, list):
        return None
    return [
        {"leader_epoch": entry["leaderEpoch"], "start_offset": entry["offset"]}
        for entry in entries
        if isinstance(entry, dict)
    ]


def _partitions(topics: Json) -> Json:
    """Return one element per partition, from Kafka's lists by topic."""
    if not isinstance(topics, list):
        return None
    found: list[Json] = []
    for topic in topics:
        if isinstance(topic, dict) and isinstance(topic["partitionIds"], list):
            found += [{"topic": topic["topic"], "partition": n} for n in topic["partitionIds"]]
    return found


def _json(fields: Mapping[str, Json]) -> str | None:
    """Return all fields of a record as JSON; None if there are none."""
    return json.dumps(fields, separators=(",", ":")) if fields else None
