"""Reads records of `__remote_log_metadata`, about segments in a remote tier.

Source of the states: apache/kafka 4.3.0, RemoteLogSegmentState.java and
RemotePartitionDeleteState.java.
"""

from seglake.segment_codec.formats.internal_topics.framed_message import (
    FramedMessage,
    framed_message,
)

SEGMENT_STATES = ("copy_started", "copy_finished", "delete_started", "delete_finished")
PARTITION_STATES = ("delete_marked", "delete_started", "delete_finished")
PARTITION_DELETE = "partition_delete"


def remote_log_record(value: bytes | None) -> FramedMessage:
    """Parse a record of `__remote_log_metadata`; errors are in `unread_reason`, not raised."""
    return framed_message("remote_log_metadata", value)
