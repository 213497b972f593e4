"""The ledger's ranges, made into blocks."""

import numpy as np

from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_audit.ledger import LakePartition, LedgerRange, PartitionLedger

_PARTITION = LakePartition("c", PartitionKey("orders", 0, None))


def _ledger(ranges: list[tuple[int, int]]) -> PartitionLedger:
    rows = (LedgerRange(*offset_range, "ingest", 1, "attempt") for offset_range in ranges)
    return PartitionLedger(_PARTITION, tuple(rows))


def test_ranges_that_share_offsets_are_one_block_and_those_that_touch_are_not() -> None:
    ledger = _ledger([(0, 10), (10, 20), (12, 15), (30, 40)])
    assert ledger.blocks().starts.tolist() == [0, 10, 30]
    assert ledger.covered().starts.tolist() == [0, 30]
    assert ledger.blocks().index_of(np.array([-1, 0, 9, 10, 19, 20, 39, 40])).tolist() == [
        *(-1, 0, 0, 1, 1, -1, 2, -1)
    ]
