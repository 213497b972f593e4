"""The ledger's ranges, made into blocks."""

import numpy as np

from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_audit.ledger import (
    LakePartition,
    LedgerBlocks,
    LedgerRange,
    PartitionLedger,
)

_PARTITION = LakePartition("c", PartitionKey("orders", 0, None))
_SHARED = [(0, 10), (10, 20), (12, 15), (30, 40)]


def _ledger(*ranges: tuple[int, int, str, int]) -> PartitionLedger:
    return PartitionLedger(_PARTITION, tuple(LedgerRange(*each, "attempt") for each in ranges))


def _places(blocks: LedgerBlocks, generation: int, offsets: list[int]) -> list[int]:
    found: list[int] = blocks.index_of(
        np.array(offsets), np.full(len(offsets), generation)
    ).tolist()
    return found


def test_ranges_of_a_commit_that_share_offsets_are_one_block_and_those_that_touch_are_not() -> None:
    ledger = _ledger(*((start, stop, "ingest", 1) for start, stop in _SHARED))
    blocks = ledger.blocks()
    assert blocks.starts.tolist() == [0, 10, 30]
    assert ledger.covered().starts.tolist() == [0, 30]
    assert _places(blocks, 1, [-1, 0, 9, 10, 19, 20, 39, 40]) == [-1, 0, 0, 1, 1, -1, 2, -1]
    assert _places(blocks, 2, [0, 15]) == [-1, -1]


def test_rows_of_a_repair_are_told_from_those_of_the_range_that_it_repaired() -> None:
    blocks = _ledger((0, 100, "ingest", 1), (10, 20, "repair", 5)).blocks()
    assert (_places(blocks, 1, [15]), _places(blocks, 5, [15, 25])) == ([0], [1, -1])


def test_an_election_cuts_the_ranges_of_earlier_commits_only() -> None:
    ledger = _ledger((0, 120, "ingest", 1), (96, 120, "superseded", 2), (96, 110, "retake", 3))
    blocks = ledger.blocks()
    assert blocks.starts.tolist() == [0, 96, 96]
    assert blocks.is_current.tolist() == [True, False, True]
    assert ledger.whole_blocks().starts.tolist() == [0, 96]
    assert (ledger.covered().starts.tolist(), ledger.covered().stops.tolist()) == ([0], [110])
    offsets, generations = np.array([95, 96, 119, 120, 96, 96]), np.array([1, 1, 1, 1, 2, 3])
    expected = [True, False, False, True, True, True]
    assert ledger.are_current(offsets, generations).tolist() == expected
