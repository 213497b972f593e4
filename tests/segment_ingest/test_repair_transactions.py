"""Damage in transactions, with another copy at hand: in the same run, or in a later one."""

from pathlib import Path

import pytest

from support.accounts import imbalances_of, standing_gaps
from support.lakes import ingested, read_table
from support.transaction_logs import TransactionLog, abort, commit, sent, write_log

_LOG = TransactionLog.of(
    [sent(), sent(1), sent(2), commit(1), sent(), sent(1), abort(2), abort(1), sent(2), commit(2)]
)
_BATCHES = range(len(_LOG.placed))
_ISOLATIONS = ["read_committed", "read_uncommitted"]


def _copy(folder: Path, broker_id: int) -> Path:
    """A log dir without side files: the log alone has to tell."""
    write_log(folder, _LOG, (0, 6, 13), has_files=False)
    text = (folder / "meta.properties").read_text(encoding="utf-8")
    text = text.replace("broker.id=0", f"broker.id={broker_id}")
    (folder / "meta.properties").write_text(text, encoding="utf-8")
    return folder


def _damage(folder: Path, index: int) -> None:
    """Change the last byte of a batch."""
    placed = _LOG.placed[index]
    logs = sorted((folder / "orders-0").glob("*.log"))
    log = [path for path in logs if int(path.stem) <= placed.offset][-1]
    before = sum(len(batch.data) for batch in _LOG.batches(int(log.stem), placed.next_offset))
    content = bytearray(log.read_bytes())
    content[before - 1] ^= 0xFF
    log.write_bytes(content)


def _states(lake: Path) -> dict[int, str]:
    return {row["offset"]: row["transaction_state"] for row in read_table(lake, "records")}


def _expected(isolation: str) -> dict[int, str]:
    states = _LOG.states(_LOG.next_offset)
    if isolation == "read_committed":
        return {offset: state for offset, state in states.items() if state != "aborted"}
    return states


@pytest.mark.parametrize("isolation", _ISOLATIONS)
@pytest.mark.parametrize("index", _BATCHES)
def test_sibling_in_the_same_run_makes_the_damage_invisible(
    tmp_path: Path, index: int, isolation: str
) -> None:
    disks = [_copy(tmp_path / name, int(name)) for name in "12"]
    _damage(disks[0], index)
    lake = tmp_path / "lake"
    ingested(disks, lake, isolation=isolation)
    assert _states(lake) == _expected(isolation)
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("isolation", _ISOLATIONS)
@pytest.mark.parametrize("index", [i for i in _BATCHES if _LOG.placed[i].step.is_commit is None])
def test_data_that_a_later_copy_brings_is_settled_by_the_markers_of_the_lake(
    tmp_path: Path, index: int, isolation: str
) -> None:
    disks = [_copy(tmp_path / name, int(name)) for name in "12"]
    _damage(disks[0], index)
    lake = tmp_path / "lake"
    ingested(disks[0], lake, isolation=isolation)
    # The copy ends before the markers that settle what it brings.
    placed = _LOG.placed[index]
    write_log(disks[1], _LOG, (0, 6, 13), stop=placed.next_offset, has_files=False)
    ingested(disks[1], lake, isolation=isolation)
    assert _states(lake) == _expected(isolation)
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []
