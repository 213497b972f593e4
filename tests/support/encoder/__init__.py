"""An encoder of Kafka's files that shares nothing with the code under test.

It was written from the description of the format and is held to vectors computed elsewhere and to
real brokers' bytes (tests/support_tests). It refuses nothing, so tests can write what no broker
would. The same calls give the same bytes.
"""

from support.encoder.compression import Codec, SnappyLayout, compressed
from support.encoder.control import ControlType, control_record, end_marker
from support.encoder.log_dir import (
    DEFAULT_CLUSTER_ID,
    Partition,
    WrittenPartition,
    checkpoint_text,
    delete_segment,
    meta_properties,
    topic_id_text,
    write_checkpoint,
    write_log_dir,
    write_partition,
)
from support.encoder.message_set import (
    message,
    message_bytes,
    messages,
    payload_wrapper,
    with_right_message_checksum,
    wrapper,
)
from support.encoder.record import EncodedBatch, Record
from support.encoder.record_batch import (
    Header,
    Producer,
    payload_batch,
    record_batch,
    record_bytes,
    with_right_checksum,
)
from support.encoder.segment import Segment, WrittenSegment, positions_of, write_segment
from support.encoder.side_files import (
    Aborted,
    OffsetEntry,
    ProducerEntry,
    TimeEntry,
    index_entries,
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)
from support.encoder.varint import varint

__all__ = [
    "DEFAULT_CLUSTER_ID",
    "Aborted",
    "Codec",
    "ControlType",
    "EncodedBatch",
    "Header",
    "OffsetEntry",
    "Partition",
    "Producer",
    "ProducerEntry",
    "Record",
    "Segment",
    "SnappyLayout",
    "TimeEntry",
    "WrittenPartition",
    "WrittenSegment",
    "checkpoint_text",
    "compressed",
    "control_record",
    "delete_segment",
    "end_marker",
    "index_entries",
    "message",
    "message_bytes",
    "messages",
    "meta_properties",
    "offset_index",
    "payload_batch",
    "payload_wrapper",
    "positions_of",
    "producer_snapshot",
    "record_batch",
    "record_bytes",
    "time_index",
    "topic_id_text",
    "transaction_index",
    "varint",
    "with_right_checksum",
    "with_right_message_checksum",
    "wrapper",
    "write_checkpoint",
    "write_log_dir",
    "write_partition",
    "write_segment",
]
