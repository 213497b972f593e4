"""Combines the events of `__remote_log_metadata` into the state of each uploaded segment.

As in a broker, two kinds of events are ignored: events of an upload whose first event is missing,
and forbidden state changes. Events with impossible offsets are ignored, too.

Source: apache/kafka 4.3.0, RemoteLogMetadataCache and RemoteLogSegmentState.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from seglake.kafka_log.replica import PartitionKey
from seglake.segment_codec.formats.internal_topics.framed_message import FramedMessage
from seglake.segment_codec.formats.internal_topics.message_layout import Json
from seglake.segment_codec.formats.internal_topics.remote_log_records import PARTITION_DELETE
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.walk.segment_bounds import limit_after


class RemoteState(IntEnum):
    """State of a segment's upload to a remote tier, with Kafka's numbers."""

    COPY_STARTED = 0
    COPY_FINISHED = 1
    DELETE_STARTED = 2
    DELETE_FINISHED = 3

    @property
    def is_deleted(self) -> bool:
        """Return whether the cluster has deleted the upload, or has begun to."""
        return self >= RemoteState.DELETE_STARTED


_STEPS = {
    RemoteState.COPY_STARTED: {RemoteState.COPY_FINISHED, RemoteState.DELETE_STARTED},
    RemoteState.COPY_FINISHED: {RemoteState.DELETE_STARTED},
    RemoteState.DELETE_STARTED: {RemoteState.DELETE_FINISHED},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCopy:
    """An upload of a segment, described by its events.

    Attributes:
        key: the partition, with the topic id in the events.
        next_offset: exclusive end of the segment.
        epochs: leader epochs within the segment.
        custom_metadata: bytes of the tier's plugin; None if there is none.
        order: position of the newest event among all events of the partition.
        was_finished: whether the upload was finished, even if it is deleted now.
    """

    key: PartitionKey
    segment_id: str
    state: RemoteState
    start_offset: int
    next_offset: int
    epochs: tuple[EpochStart, ...]
    size_bytes: int
    custom_metadata: bytes | None
    order: int
    was_finished: bool = False


@dataclass(frozen=True, slots=True)
class RemoteLog:
    """All uploads of a partition that have events, by segment id.

    Attributes:
        deleted: uploads whose deletion is known, even if their first event is missing.
        is_whole: whether no event is missing, so an upload without events is not part of the log.
    """

    copies: Mapping[str, RemoteCopy] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    is_whole: bool = False


def remote_logs(messages: Iterable[FramedMessage]) -> dict[PartitionKey, RemoteLog]:
    """Return the uploads of each partition; `is_whole` is False, since events may be missing.

    Args:
        messages: values of one partition of the topic, in the order of their offsets.
    """
    copies: dict[PartitionKey, dict[str, RemoteCopy]] = {}
    deleted: dict[PartitionKey, set[str]] = {}
    for order, message in enumerate(messages):
        fields = message.fields
        segment = _struct(fields.get("remoteLogSegmentId"))
        key = _key(_struct((segment or fields).get("topicIdPartition")))
        if key is None:
            continue
        own, gone = copies.setdefault(key, {}), deleted.setdefault(key, set())
        if message.name == PARTITION_DELETE:
            gone.update(own)
            for segment_id, copy in own.items():
                own[segment_id] = _after(copy, RemoteState.DELETE_STARTED, order)
            continue
        upload, state = segment.get("id"), _state(fields.get("remoteLogSegmentState"))
        if not isinstance(upload, str) or state is None:
            continue
        if state.is_deleted:
            gone.add(upload)
        if upload in own:
            own[upload] = _updated(own[upload], state, fields, order)
        elif message.name == "segment" and state is RemoteState.COPY_STARTED:
            copy = _begun(key, upload, fields, order)
            start, stop = copy.start_offset, copy.next_offset
            if 0 <= start < stop <= limit_after(start):
                own[upload] = copy
    return {key: RemoteLog(own, frozenset(deleted[key])) for key, own in copies.items()}


def _begun(
    key: PartitionKey, segment_id: str, fields: Mapping[str, Json], order: int
) -> RemoteCopy:
    epochs = fields.get("segmentLeaderEpochs")
    pairs = [
        EpochStart(_number(entry["leaderEpoch"]), _number(entry["offset"]))
        for entry in (epochs if isinstance(epochs, list) else [])
        if isinstance(entry, dict)
    ]
    return RemoteCopy(
        key=key,
        segment_id=segment_id,
        state=RemoteState.COPY_STARTED,
        start_offset=_number(fields["startOffset"]),
        next_offset=_number(fields["endOffset"]) + 1,
        epochs=tuple(sorted(pairs)),
        size_bytes=_number(fields["segmentSizeInBytes"]),
        custom_metadata=_bytes(fields.get("customMetadata")),
        order=order,
    )


def _updated(
    copy: RemoteCopy, state: RemoteState, fields: Mapping[str, Json], order: int
) -> RemoteCopy:
    custom = _bytes(fields.get("customMetadata"))
    if custom is not None and not state.is_deleted:
        copy = replace(copy, custom_metadata=custom)
    return _after(copy, state, order)


def _after(copy: RemoteCopy, state: RemoteState, order: int) -> RemoteCopy:
    """Return the upload in a new state; unchanged if Kafka does not allow this change."""
    is_step = state in _STEPS.get(copy.state, ())
    if not is_step:
        return copy
    was_finished = copy.was_finished or state is RemoteState.COPY_FINISHED
    return replace(copy, state=state, order=order, was_finished=was_finished)


def _key(fields: Mapping[str, Json]) -> PartitionKey | None:
    topic, partition, topic_id = fields.get("name"), fields.get("partition"), fields.get("id")
    if isinstance(topic, str) and isinstance(partition, int) and isinstance(topic_id, str):
        return PartitionKey(topic, partition, topic_id)
    return None


def _state(number: Json) -> RemoteState | None:
    return next((state for state in RemoteState if state == number), None)


def _struct(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _bytes(value: Json) -> bytes | None:
    return base64.b64decode(value) if isinstance(value, str) else None
