"""Batches whose leader epoch is wrong, which no checksum covers: a run says so."""

from pathlib import Path

import pytest

from support.cases import cases
from support.encoder import Partition, Segment, write_log_dir
from support.lakes import ingested, read_table
from support.made_logs import made_batches

EPOCH_AT = 12
BATCHES = 6


def _flipped(folder: Path, index: int, bit: int) -> None:
    batches = made_batches("orders", 0, range(5 * BATCHES), leader_epoch=4)
    data = bytearray(batches[index].data)
    data[EPOCH_AT + bit // 8] ^= 1 << bit % 8
    batches[index] = batches[index]._replace(data=bytes(data))
    segments = [Segment(0, batches)]
    write_log_dir(folder, [Partition("orders", 0, segments, leader_epochs=[(4, 0)])])


@pytest.mark.parametrize("index", [0, 2, BATCHES - 1])
@pytest.mark.parametrize("bit", cases(range(32), telling={1, 24, 31}))
def test_no_row_has_an_epoch_not_its_own_without_a_note(
    index: int, bit: int, tmp_path: Path
) -> None:
    _flipped(tmp_path / "data", index, bit)
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert summary.exit_code == 0
    assert summary.counts.records == 5 * BATCHES
    false = [row for row in read_table(tmp_path / "lake", "batches") if row["leader_epoch"] != 4]
    says = f"the batch at offset {5 * index} has leader epoch {false[0]['leader_epoch']}"
    is_none = false[0]["leader_epoch"] is None  # a negative one is none, not a false one
    assert len(false) == 1
    (ledger,) = read_table(tmp_path / "lake", "checkpoints")
    assert ledger["leader_epoch"] == (None if index == BATCHES - 1 else 4)
    assert (says in summary.to_text()) != is_none
