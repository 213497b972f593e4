"""Damage in transactions, with another copy at hand: in the same run, or in a later one."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.accounts import imbalances_of, standing_gaps
from support.cases import cases, every
from support.encoder import write_checkpoint
from support.lakes import ingested, read_table, replayed
from support.made_logs import FIRST_MS, STEP_MS
from support.transaction_logs import (
    Step,
    TransactionLog,
    abort,
    commit,
    damage_batch,
    sent,
    write_log,
)

_LOG = TransactionLog.of(
    [sent(), sent(1), sent(2), commit(1), sent(), sent(1), abort(2), abort(1), sent(2), commit(2)]
)
_EDGES = (0, 6, 13)
_CUTS = (0, 3, 6, 10)
_BATCHES = range(len(_LOG.placed))
_DATA_BATCHES = [index for index in _BATCHES if _LOG.placed[index].step.is_commit is None]
_ISOLATIONS = ["read_committed", "read_uncommitted"]


def _copy(folder: Path, broker_id: int) -> Path:
    """A log dir without side files: the log alone has to tell."""
    write_log(folder, _LOG, _EDGES, has_files=False)
    text = (folder / "meta.properties").read_text(encoding="utf-8")
    text = text.replace("broker.id=0", f"broker.id={broker_id}")
    (folder / "meta.properties").write_text(text, encoding="utf-8")
    return folder


def _states(lake: Path) -> dict[int, str]:
    return {row["offset"]: row["transaction_state"] for row in read_table(lake, "records")}


def _expected(isolation: str) -> dict[int, str]:
    states = _LOG.states(_LOG.next_offset)
    if isolation == "read_committed":
        return {offset: state for offset, state in states.items() if state != "aborted"}
    return states


@pytest.mark.parametrize("isolation", _ISOLATIONS)
@pytest.mark.parametrize("index", cases(_BATCHES, telling=every(3, _BATCHES)))
def test_sibling_in_the_same_run_makes_the_damage_invisible(
    tmp_path: Path, index: int, isolation: str
) -> None:
    disks = [_copy(tmp_path / name, int(name)) for name in "12"]
    damage_batch(disks[0], _LOG, _EDGES, index)
    lake = tmp_path / "lake"
    ingested(disks, lake, isolation=isolation)
    assert _states(lake) == _expected(isolation)
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("isolation", _ISOLATIONS)
@pytest.mark.parametrize("index", cases(_DATA_BATCHES, telling=every(3, _DATA_BATCHES)))
def test_data_that_a_later_copy_brings_is_settled_by_the_markers_of_the_lake(
    tmp_path: Path, index: int, isolation: str
) -> None:
    disks = [_copy(tmp_path / name, int(name)) for name in "12"]
    damage_batch(disks[0], _LOG, _EDGES, index)
    lake = tmp_path / "lake"
    ingested(disks[0], lake, isolation=isolation)
    # The copy ends before the markers that settle what it brings.
    placed = _LOG.placed[index]
    write_log(disks[1], _LOG, _EDGES, stop=placed.next_offset, has_files=False)
    ingested(disks[1], lake, isolation=isolation)
    assert _states(lake) == _expected(isolation)
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


def test_an_end_that_may_lie_where_nothing_was_taken_yet_is_waited_for(tmp_path: Path) -> None:
    # Offsets: 0-2 plain, 3-5 data of 1, 6-8 plain, 9 its commit, 10-12 plain, 13-15 data of 1, 16
    # its abort, 17-19 plain.
    steps = [sent(), sent(1), sent(), commit(1), sent(), sent(1), abort(1), sent()]
    log = TransactionLog.of(steps)
    disks = [tmp_path / name for name in "12"]
    for disk in disks:
        write_log(disk, log, (0,), has_files=False)
    damage_batch(disks[0], log, (0,), 1)
    lake = tmp_path / "lake"
    for window in ({"to_timestamp": _at(6)}, {"from_timestamp": _at(13)}):
        ingested(disks[0], lake, select=window)
    assert replayed(lake, disks[1]).repaired_gaps == 0
    ingested(disks[1], lake)
    assert _states(lake) == log.states(log.next_offset)
    assert standing_gaps(lake) == []


@pytest.mark.parametrize("isolation", _ISOLATIONS)
@pytest.mark.parametrize("is_commit", [True, False])
def test_data_before_offsets_that_the_cleaner_removed_is_not_compacted(
    tmp_path: Path, isolation: str, *, is_commit: bool
) -> None:
    # Offsets: 0-2 plain, 3-5 data of 1, 6-8 plain and removed, 9 the end of 1, 10-12 plain.
    end = commit(1) if is_commit else abort(1)
    log, disks = _lost_middle(tmp_path, end)
    removed, marker = (batch.data for batch in log.batches(6, 10))
    path = disks[1] / "orders-0" / f"{6:020}.log"
    assert path.read_bytes() == removed + marker
    path.write_bytes(marker)
    lake = tmp_path / "lake"
    ingested(disks[0], lake, isolation=isolation)
    ingested(disks[1], lake, isolation=isolation)
    assert _states(lake) == {
        offset: state
        for offset, state in log.states(log.next_offset).items()
        if offset not in range(6, 9) and (state != "aborted" or isolation == "read_uncommitted")
    }
    (gap,) = standing_gaps(lake)
    assert (gap.start_offset, gap.next_offset, gap.cause) == (6, 9, "compacted")
    assert imbalances_of(lake) == []


def _lost_middle(folder: Path, end: Step) -> tuple[TransactionLog, list[Path]]:
    """A disk that has lost its segments of [3, 10), and a copy whose cleaner has got beyond it."""
    log = TransactionLog.of([sent(), sent(1), sent(), end, sent()])
    disks = [folder / "1", folder / "2"]
    for disk in disks:
        write_log(disk, log, _CUTS, has_files=False)
    for lost in _CUTS[1:3]:
        (disks[0] / "orders-0" / f"{lost:020}.log").unlink()
    write_checkpoint(disks[1] / "cleaner-offset-checkpoint", {("orders", 0): 10})
    return log, disks


def _at(offset: int) -> str:
    """The time of the record at an offset."""
    return datetime.fromtimestamp((FIRST_MS + offset * STEP_MS) / 1000, UTC).isoformat()
