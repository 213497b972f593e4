"""Reads the dump tool's output with `--remote-log-metadata-decoder`."""

import gzip
import re
from collections.abc import Iterator
from typing import NamedTuple

from support.broker_disks import unpacked

_RECORD = re.compile(r"\| offset: (\d+) CreateTime: (-?\d+) .* payload: (\w+)\{(.*)\}")
_SEGMENT = re.compile(
    r"remoteLogSegmentId=RemoteLogSegmentId\{topicIdPartition=([\w-]{22}):(.*)-(\d+),"
    r" id=([\w-]{22})\}"
)
_NUMBER = re.compile(r"([a-zA-Z]+)=(-?\d+)(?=[,}]|$)")
_EPOCHS = re.compile(r"segmentLeaderEpochs=\{(.*?)\}")
_STATE = re.compile(r"state=(\w+)")
_EVENTS = {
    "RemoteLogSegmentMetadata": "segment",
    "RemoteLogSegmentMetadataUpdate": "segment_update",
}


class PrintedEvent(NamedTuple):
    """A record as Kafka printed it; `numbers` has its numbers by the names of the fields."""

    record_offset: int
    timestamp_ms: int
    event: str
    topic_id: str
    topic: str
    partition: int
    segment_id: str
    state: str
    leader_epochs: list[tuple[int, int]] | None
    numbers: dict[str, int]
    is_transaction_index_empty: bool | None


def dumped_events(scenario: str, copy: str, partition: int) -> Iterator[PrintedEvent]:
    """Yield what Kafka printed of one partition of `__remote_log_metadata`."""
    name = f"__remote_log_metadata-{partition}.dump.txt.gz"
    path = unpacked(scenario) / "expected" / copy / name
    yield from printed_events(gzip.decompress(path.read_bytes()).decode())


def printed_events(text: str) -> Iterator[PrintedEvent]:
    """Yield the records in a dump, in the order of offsets."""
    for offset, timestamp_ms, kind, fields in _RECORD.findall(text):
        segment = _SEGMENT.search(fields)
        state = _STATE.search(fields)
        assert segment is not None
        assert state is not None
        topic_id, topic, partition, segment_id = segment.groups()
        epochs = _EPOCHS.search(fields)
        yield PrintedEvent(
            record_offset=int(offset),
            timestamp_ms=int(timestamp_ms),
            event=_EVENTS[kind],
            topic_id=topic_id,
            topic=topic,
            partition=int(partition),
            segment_id=segment_id,
            state=state[1].lower().replace("_segment", ""),
            leader_epochs=None if epochs is None else _pairs(epochs[1]),
            numbers={name: int(number) for name, number in _NUMBER.findall(fields)},
            is_transaction_index_empty="txnIdxEmpty=true" in fields
            if "txnIdxEmpty" in fields
            else None,
        )


def _pairs(text: str) -> list[tuple[int, int]]:
    pairs = (pair.split("=") for pair in text.split(", "))
    return [(int(epoch), int(offset)) for epoch, offset in pairs]
