"""Batches of the lake, found by an offset."""

from pathlib import Path
from typing import Any

from seglake.kafka_log.log_identity import LogBatch
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.source_ledger import SourceLedger
from seglake.storage.local_storage import LocalStorage
from support.encoder import (
    DEFAULT_CLUSTER_ID,
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    record_batch,
    wrapper,
)
from support.lakes import ingested
from support.made_logs import write_over

_KEY = PartitionKey("orders", 0, None)


def _records(count: int) -> list[Record]:
    return [Record(b"k", b"v") for _ in range(count)]


def _lake(data: Path, lake: Path, batches: list[EncodedBatch], **facts: Any) -> IngestedBatches:
    partition = Partition("orders", 0, [Segment(0, batches)], **facts)
    other = Partition("orders", 1, [Segment(0, [record_batch(0, _records(90))])])
    ingested(write_over(data, [partition, other]), lake)
    tables = LakeTables(str(lake), LocalStorage())
    ledger = SourceLedger(tables.ledger(DEFAULT_CLUSTER_ID).to_pylist())
    return IngestedBatches(tables, DEFAULT_CLUSTER_ID, ledger)


def _facts(batch: LogBatch | None) -> tuple[object, ...] | None:
    if batch is None:
        return None
    return batch.header.base_offset, batch.first_offset, batch.last_offset, batch.is_whole


def test_a_batch_is_found_by_each_of_its_offsets_and_by_no_other(data: Path, lake: Path) -> None:
    gap = record_batch(10, _records(3), Header(leader_epoch=4, last_offset_delta=4))
    horizon = record_batch(30, _records(2), Header(delete_horizon_ms=1))
    batches = _lake(data, lake, [record_batch(0, _records(5)), gap, horizon])
    found = {offset: _facts(batches.holding(_KEY, offset)) for offset in (0, 4, 5, 10, 14, 31, 32)}
    assert found == {
        0: (0, 0, 4, True),
        4: (0, 0, 4, True),
        5: None,
        10: (10, 10, 14, False),
        14: (10, 10, 14, False),
        31: (30, 30, 31, False),
        32: None,
    }
    middle = batches.holding(_KEY, 12)
    assert middle is not None
    assert (middle.header.leader_epoch, middle.magic, middle.is_wrapper) == (4, 2, False)
    assert batches.holding(_KEY._replace(partition=2), 0) is None


def test_an_old_wrapper_is_known_by_its_last_offset(data: Path, lake: Path) -> None:
    batches = _lake(data, lake, [wrapper(0, _records(4), 1, Codec.GZIP)], leader_epochs=())
    found = batches.holding(_KEY, 1)
    assert _facts(found) == (3, 0, 3, True)
    assert found is not None
    assert (found.is_wrapper, found.header.leader_epoch) == (True, None)


def test_gaps_of_the_cleaner_are_remembered_by_partition(data: Path, lake: Path) -> None:
    holes = [
        record_batch(0, _records(5)),
        record_batch(20, _records(5), Header(last_offset_delta=9)),
    ]
    batches = _lake(data, lake, holes)
    assert batches.has_compacted_gaps(_KEY)
    assert not batches.has_compacted_gaps(_KEY._replace(partition=1))
