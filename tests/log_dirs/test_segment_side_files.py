"""Transaction indexes and producer snapshots that cannot be used are noted and ignored."""

import shutil
from pathlib import Path

from support.encoder import ProducerEntry, producer_snapshot
from support.indexed_log import EDGES, INDEXES, LOG, decisions
from support.surveyed import log_bounds
from support.transaction_logs import TransactionLog, sent, write_log


def test_an_index_of_another_segment_is_not_used(data: Path) -> None:
    partition = write_log(data, LOG, EDGES)
    right = log_bounds(data)
    shutil.copy(partition / INDEXES[0], partition / INDEXES[1])
    bounds = log_bounds(data)
    assert [note.partition(" is not used: ")[2] for note in bounds.notes] == [
        "marker 6 is not in this segment"
    ]
    assert decisions(bounds) == decisions(right)


def test_a_snapshot_with_a_transaction_that_begins_at_its_end_is_not_used(data: Path) -> None:
    partition = write_log(data, LOG, EDGES)
    right = log_bounds(data)
    name = f"{LOG.next_offset:020}.snapshot"
    entry = ProducerEntry(5, open_transaction_first_offset=LOG.next_offset)
    (partition / name).write_bytes(producer_snapshot([entry]))
    bounds = log_bounds(data)
    (note,) = bounds.notes
    assert note.endswith(f"{name} is not used: a transaction begins above the snapshot's offset")
    assert decisions(bounds) == decisions(right)


def test_a_damaged_snapshot_gives_way_to_the_one_before(tmp_path: Path) -> None:
    log = TransactionLog.of([sent(1), sent(), sent(), sent()])
    partition = write_log(tmp_path / "d", log, (3, 6))
    (partition / "00000000000000000012.snapshot").write_bytes(b"\0" * 20)
    bounds = log_bounds(tmp_path / "d")
    assert [
        (transaction.producer_id, transaction.first_offset)
        for transaction in bounds.open_transactions
    ] == [(1, 0)]
    assert ["00000000000000000012.snapshot is not used" in note for note in bounds.notes] == [True]


def test_files_that_would_fill_the_memory_are_not_used(data: Path) -> None:
    partition = write_log(data, LOG, EDGES)
    right = log_bounds(data)
    for name in (INDEXES[0], f"{LOG.next_offset:020}.snapshot"):
        with (partition / name).open("ab") as file:
            file.truncate(1 << 40)  # a hole: it takes no room on the disk
    bounds = log_bounds(data)
    assert ["but such a file has at most 33554432" in note for note in bounds.notes] == [True, True]
    assert decisions(bounds) == decisions(right)
