"""Small logs of internal topics, made for a test, and what a lake has of them."""

from collections.abc import Sequence
from pathlib import Path

from support.encoder import EncodedBatch, Header, Partition, Producer, Record, Segment, record_batch
from support.encoder.internal import offset_key, offset_value
from support.lakes import Row, read_table
from support.made_logs import FIRST_MS, STEP_MS, write_over

OFFSETS, TRANSACTIONS, METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata"
INTERNAL = {"internal_topics": True}


def batch(
    base_offset: int,
    records: Sequence[tuple[bytes | None, bytes | None]],
    producer_id: int = -1,
    leader_epoch: int = 0,
) -> EncodedBatch:
    """Records of keys and values, in a transaction when there is a producer."""
    made = [
        Record(key, value, FIRST_MS + (base_offset + delta) * STEP_MS)
        for delta, (key, value) in enumerate(records)
    ]
    header = Header(
        leader_epoch=leader_epoch,
        producer=Producer(producer_id, 0, 0),
        is_transactional=producer_id >= 0,
    )
    return record_batch(base_offset, made, header)


def commits(base_offset: int, *offsets: int, producer_id: int = -1) -> EncodedBatch:
    """Offset commits of one group."""
    records = [(offset_key("g", "orders", 3), offset_value(n, FIRST_MS + n)) for n in offsets]
    return batch(base_offset, records, producer_id)


def write_topic(folder: Path, topic: str, batches: Sequence[EncodedBatch]) -> Path:
    """A log dir with one partition, over what is there."""
    return write_over(folder, [Partition(topic, 0, [Segment(0, batches)])])


def rows_of(lake: Path, table: str) -> list[Row]:
    """The rows of a table of an internal topic, in the order of their records."""
    return sorted(read_table(lake, table), key=lambda row: row["record_offset"])
