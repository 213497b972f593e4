"""Records of `__remote_log_metadata`: as Kafka printed them, and what no disk has."""

import uuid

import pytest

from seglake.segment_codec.formats.internal_topics.framed_message import FramedMessage
from seglake.segment_codec.formats.internal_topics.remote_log_records import (
    SEGMENT_STATES,
    remote_log_record,
)
from support.broker_disks import log_dirs
from support.encoder.internal import compact, compact_array, int8, int32, int64, tagged, uvarint
from support.encoder.log_dir import topic_id_text
from support.remote_log_dumps import PrintedEvent, dumped_events
from support.walks import records_of

TOPIC, SEGMENT = uuid.uuid5(uuid.NAMESPACE_OID, "plain"), uuid.uuid5(uuid.NAMESPACE_OID, "copy")
PARTITION = compact("plain") + TOPIC.bytes + int32(1) + tagged()


def framed(type_id: int, *parts: bytes) -> FramedMessage:
    return remote_log_record(b"".join((uvarint(1), uvarint(type_id), uvarint(0), *parts)))


def test_every_record_reads_as_kafka_printed_it() -> None:
    (log_dir,) = log_dirs("12_tiered", "stopped")
    records = records_of((log_dir.path / "__remote_log_metadata-0" / f"{0:020}.log").read_bytes())
    printed = [*dumped_events("12_tiered", "stopped", 0)]
    assert len(printed) == 16
    assert [record.offset for record in records] == [each.record_offset for each in printed]
    assert [as_printed(remote_log_record(record.value)) for record in records] == [
        of_printed(each) for each in printed
    ]


def as_printed(message: FramedMessage) -> dict[str, object]:
    """Return the fields under the names that Kafka prints them with."""
    fields = {name: value for name, value in message.fields.items() if isinstance(value, int)}
    segment = message.fields["remoteLogSegmentId"]
    epochs = message.fields.get("segmentLeaderEpochs")
    assert message.unread_reason is None
    assert isinstance(segment, dict)
    return {
        "event": message.name,
        "state": SEGMENT_STATES[fields.pop("remoteLogSegmentState")],
        "segment": segment,
        "epochs": epochs,
        # Kafka writes no tagged field with its default.
        "txnIndexEmpty": fields.pop("txnIndexEmpty", None if epochs is None else False),
        **fields,
    }


def of_printed(event: PrintedEvent) -> dict[str, object]:
    epochs = event.leader_epochs
    partition = {"name": event.topic, "id": event.topic_id, "partition": event.partition}
    return {
        "event": event.event,
        "state": event.state,
        "segment": {"topicIdPartition": partition, "id": event.segment_id},
        "epochs": None
        if epochs is None
        else [{"leaderEpoch": epoch, "offset": offset} for epoch, offset in epochs],
        "txnIndexEmpty": event.is_transaction_index_empty,
        **event.numbers,
    }


def test_an_update_has_the_custom_metadata_of_the_plugin() -> None:
    segment = PARTITION + SEGMENT.bytes + tagged()
    update = framed(1, segment, int32(4), int64(99), compact(b"\x03\x00"), int8(1), tagged())
    assert (update.name, update.fields["customMetadata"]) == ("segment_update", "AwA=")
    assert (update.fields["brokerId"], update.fields["remoteLogSegmentState"]) == (4, 1)


def test_the_deletion_of_a_partition_names_it() -> None:
    deleted = framed(2, PARTITION, int32(-1), int64(99), int8(2), tagged())
    assert deleted.name == "partition_delete"
    assert deleted.fields["topicIdPartition"] == {
        "name": "plain",
        "id": topic_id_text(TOPIC),
        "partition": 1,
    }


def test_a_snapshot_has_a_copy_without_its_partition() -> None:
    epochs = compact_array([int32(0) + int64(10) + tagged(), int32(2) + int64(15) + tagged()])
    snapshot = framed(
        *(3, SEGMENT.bytes, int64(10), int64(19), int32(1), int64(77), int64(99), epochs),
        *(int32(5000), compact(None), int8(1), tagged({0: b"\x00"})),
    )
    assert snapshot.fields["segmentId"] == topic_id_text(SEGMENT)
    assert snapshot.fields["segmentLeaderEpochs"] == [
        {"leaderEpoch": 0, "offset": 10},
        {"leaderEpoch": 2, "offset": 15},
    ]
    assert snapshot.fields["txnIndexEmpty"] is False


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the value is null"),
        (b"", "1 bytes are needed at position 0, 0 remain"),
        (b"\x00\x00\x00", "frame version 0, expected 1"),
        (b"\x01\x09\x00", "type 9 is unknown"),
        (b"\x01\x00\x01", "version 1 is not in 0 to 0"),
    ],
)
def test_what_cannot_be_read_says_why(value: bytes | None, reason: str) -> None:
    message = remote_log_record(value)
    assert (message.fields, message.unread_reason) == ({}, reason)


def test_nothing_may_follow_the_fields() -> None:
    deleted = framed(2, PARTITION, int32(-1), int64(99), int8(2), tagged(), b"\x00")
    assert (deleted.fields, deleted.is_secret) == ({}, False)
    assert str(deleted.unread_reason).startswith("1 bytes remain after position")
