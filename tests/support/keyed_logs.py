"""Logs of a topic whose keys are updated, and transactions over them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from support.encoder import (
    DEFAULT_CLUSTER_ID,
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
)
from support.made_logs import FIRST_MS, TOPIC_IDS, write_over

Values = tuple[str, bytes | None]
Batch = Callable[[int], EncodedBatch]


def write(
    folder: Path,
    *values: Values,
    topic: str = "orders",
    partition: int = 0,
    topic_id: str | None = "orders",
    cluster_id: str | None = DEFAULT_CLUSTER_ID,
) -> Path:
    """A log dir whose log has these keys and values, a batch each."""
    batches = [
        record_batch(offset, [Record(key.encode(), value, FIRST_MS + offset)])
        for offset, (key, value) in enumerate(values)
    ]
    given = None if topic_id is None else TOPIC_IDS[topic_id]
    made = Partition(topic, partition, [Segment(0, batches)], topic_id=given)
    return write_over(folder, [made], cluster_id=cluster_id)


def write_batches(folder: Path, log: Sequence[Batch]) -> Path:
    """A log dir whose log has these batches, each with one offset."""
    batches = [batch(offset) for offset, batch in enumerate(log)]
    made = Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])
    return write_over(folder, [made])


def data(producer_id: int, key: str) -> Batch:
    """A record inside of a transaction."""
    header = Header(producer=Producer(producer_id, 0, 0), is_transactional=True)
    return lambda offset: record_batch(
        offset, [Record(key.encode(), b"%d" % offset, FIRST_MS + offset)], header
    )


def commit(producer_id: int) -> Batch:
    return lambda offset: end_marker(
        offset, ControlType.COMMIT, producer_id=producer_id, timestamp_ms=FIRST_MS + offset
    )


def abort(producer_id: int) -> Batch:
    return lambda offset: end_marker(
        offset, ControlType.ABORT, producer_id=producer_id, timestamp_ms=FIRST_MS + offset
    )
