"""Which replica fills which part of a gap."""

from pathlib import Path

import pytest

from support.accounts import imbalances_of, standing_gaps
from support.damaged_replicas import batches_in, made_rows
from support.lakes import ingested, read_table
from support.made_logs import made_records, make_log_dir
from support.transaction_logs import TransactionLog, abort, commit, sent, write_log

_ORDERS = ("orders", 0)


@pytest.mark.parametrize("last_hit", [(2, 4), (4,)], ids=["apart", "overlapping"])
def test_two_siblings_at_once_fill_one_gap(tmp_path: Path, last_hit: tuple[int, ...]) -> None:
    edges = {_ORDERS: [0, 60]}
    disks = [make_log_dir(tmp_path / name, edges, broker_id=int(name)) for name in "123"]
    for disk, hit in zip(disks, ((2, 3, 4), (3,), last_hit), strict=True):
        for index in hit:
            batches_in(disk / "orders-0")[index].damage()
    lake = tmp_path / "lake"
    ingested(disks, lake)
    assert made_rows(lake) == made_records({_ORDERS: range(60)})
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_data_whose_end_may_be_missing_is_not_settled_by_a_later_marker(
    tmp_path: Path, isolation: str
) -> None:
    log = TransactionLog.of([sent(), sent(1), sent(), abort(1), sent(), sent(1), commit(1), sent()])
    disks = [tmp_path / "1", tmp_path / "2"]
    for disk, hit in zip(disks, ((1, 3), (3,)), strict=True):
        write_log(disk, log, (0,), has_files=False)
        path = disk / "orders-0" / f"{0:020}.log"
        content = bytearray(path.read_bytes())
        for index in hit:
            content[
                sum(len(b.data) for b in log.batches(0, log.placed[index].next_offset)) - 1
            ] ^= 255
        path.write_bytes(content)
    lake = tmp_path / "lake"
    ingested(disks[0], lake, isolation=isolation)
    summary = ingested(disks[1], lake, isolation=isolation)
    assert not {row["offset"] for row in read_table(lake, "records")} & {3, 4, 5}
    assert any("their end markers may be missing" in note for note in summary.notes)
    write_log(disks[1], log, (0,), has_files=False)
    ingested(disks[1], lake, isolation=isolation)
    states = {row["offset"]: row["transaction_state"] for row in read_table(lake, "records")}
    expected = log.states(log.next_offset)
    if isolation == "read_committed":
        expected = {offset: state for offset, state in expected.items() if state != "aborted"}
    assert states == expected
    assert imbalances_of(lake) == []
