"""Control batches: the markers that end transactions.

The key of a control record is `version i16, type i16`; the value of an end marker is
`version i16, coordinator epoch i32`.
"""

import struct
from enum import IntEnum

from support.encoder.record import EncodedBatch, Record
from support.encoder.record_batch import Header, Producer, record_batch

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class ControlType(IntEnum):
    """Types of control records; above COMMIT they belong to a KRaft metadata log."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def end_marker(
    offset: int,
    control_type: ControlType | int,
    *,
    producer_id: int,
    producer_epoch: int = 0,
    coordinator_epoch: int = 0,
    timestamp_ms: int = 0,
    leader_epoch: int = 0,
) -> EncodedBatch:
    """The batch that commits or aborts the open transaction of a producer."""
    header = Header(
        leader_epoch=leader_epoch,
        producer=Producer(producer_id, producer_epoch),
        is_transactional=True,
        is_control=True,
    )
    value = _VALUE.pack(0, coordinator_epoch)
    return record_batch(offset, [control_record(control_type, value, timestamp_ms)], header)


def control_record(
    control_type: ControlType | int, value: bytes | None = None, timestamp_ms: int = 0
) -> Record:
    """Any control record; the batch around it needs `is_control`."""
    return Record(_KEY.pack(0, control_type), value, timestamp_ms)
