"""Records of `__transaction_state`."""

from seglake.segment_codec.formats.internal_topics.coordinator_records import transaction_record
from support.encoder.internal import (
    compact,
    compact_array,
    int8,
    int16,
    int32,
    int64,
    string,
    tagged,
)


def test_a_transaction_reads_with_all_of_its_tags() -> None:
    partitions = compact_array([compact("orders") + compact_array([int32(3), int32(4)]) + tagged()])
    tags = tagged({0: int64(6), 1: int64(8), 2: int16(2), 3: int16(1)})
    value = int64(7) + int16(5) + int32(60000) + int8(2) + partitions + int64(11) + int64(10)
    record = transaction_record(int16(0) + string("app"), int16(1) + value + tags)
    assert record.unread_reason is None
    assert record.value_fields == {
        "producerId": 7,
        "previousProducerId": 6,
        "nextProducerId": 8,
        "producerEpoch": 5,
        "nextProducerEpoch": 1,
        "transactionTimeoutMs": 60000,
        "transactionStatus": 2,
        "transactionPartitions": [{"topic": "orders", "partitionIds": [3, 4]}],
        "transactionLastUpdateTimestampMs": 11,
        "transactionStartTimestampMs": 10,
        "clientTransactionVersion": 2,
    }
