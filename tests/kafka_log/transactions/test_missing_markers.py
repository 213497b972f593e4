"""Data of transactions whose end no copy has: files beside the copies may prove how it ended."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from support.accounts import imbalances_of, standing_gaps
from support.cases import cases, every
from support.encoder import Aborted, meta_properties, transaction_index
from support.lakes import ingested, read_table
from support.transaction_logs import (
    OUTSIDE,
    Step,
    TransactionLog,
    abort,
    commit,
    damage_batch,
    sent,
    write_log,
)

# Offsets: 0-2 plain, 3-5 data of 1, 6 its end, 7-9 data of 2, 10 its end, 11-13 data of 1, 14 its
# end, 15-17 plain.
_DATA, _END, _EDGES = 1, 2, (0, 15)
_ISOLATIONS = ["read_committed", "read_uncommitted"]
_CLUSTER = "c2VnbGFrZS10ZXN0cy4xMg"


def _log(*, first: Step, last: Step) -> TransactionLog:
    return TransactionLog.of([sent(), sent(1), first, sent(2), commit(2), sent(1), last, sent()])


def _disk(folder: Path, log: TransactionLog, damaged: Sequence[int], **facts: bool) -> Path:
    broker_id = int(folder.name)
    write_log(folder, log, _EDGES, **facts)
    (folder / "meta.properties").write_text(meta_properties(broker_id, _CLUSTER))
    for index in damaged:
        damage_batch(folder, log, _EDGES, index)
    return folder


def _states(lake: Path) -> dict[int, str]:
    return {row["offset"]: row["transaction_state"] for row in read_table(lake, "records")}


def _expected(log: TransactionLog, isolation: str) -> dict[int, str]:
    states = log.states(log.next_offset)
    if isolation == "read_committed":
        return {offset: state for offset, state in states.items() if state != "aborted"}
    return states


@pytest.mark.parametrize("isolation", cases(_ISOLATIONS, telling=["read_committed"]))
@pytest.mark.parametrize("last", [commit(1), abort(1)], ids=["then commit", "then abort"])
@pytest.mark.parametrize("first", [commit(1), abort(1)], ids=["commit", "abort"])
def test_data_is_filled_when_the_files_of_its_copy_tell_how_it_ended(
    first: Step, last: Step, isolation: str, data: Path, lake: Path
) -> None:
    log = _log(first=first, last=last)
    ingested(_disk(data / "1", log, [_DATA, _END]), lake, isolation=isolation)
    summary = ingested(_disk(data / "2", log, [_END]), lake, isolation=isolation)
    assert _states(lake) == _expected(log, isolation)
    assert [(gap.start_offset, gap.next_offset) for gap in standing_gaps(lake)] == [(6, 7)]
    state = "committed" if first.is_commit else "aborted"
    notes = [note for note in summary.notes if ".txnindex and .snapshot prove that it was" in note]
    assert [
        note.endswith(f"offset 3 is missing; .txnindex and .snapshot prove that it was {state}")
        for note in notes
    ] == [True]
    assert summary.exit_code == 0
    assert imbalances_of(lake) == []


def _left(data: Path, lake: Path, disks: Sequence[Path], log: TransactionLog) -> list[str]:
    """Ingest a damaged disk, and then others, which fill nothing; the notes of the second run."""
    ingested(_disk(data / "1", log, [_DATA, _END]), lake)
    summary = ingested(disks, lake)
    assert [(gap.start_offset, gap.next_offset) for gap in standing_gaps(lake)] == [(3, 7)]
    assert set(_states(lake)) == {*range(3), *range(7, 10), *range(11, 14), *range(15, 18)}
    assert ["offsets of transactions stay gaps" in note for note in summary.notes].count(True) == 1
    return summary.notes


def test_without_files_it_stays_a_gap(data: Path, lake: Path) -> None:
    log = _log(first=abort(1), last=commit(1))
    _left(data, lake, [_disk(data / "2", log, [_END], has_files=False)], log)


def test_an_index_that_the_log_denies_proves_nothing(data: Path, lake: Path) -> None:
    log = _log(first=abort(1), last=commit(1))
    disk = _disk(data / "2", log, [_END])
    entries = [Aborted(1, 3, 14, 15)]  # where the log has a commit
    (disk / "orders-0" / f"{0:020d}.txnindex").write_bytes(transaction_index(entries))
    notes = _left(data, lake, [disk], log)
    (said,) = [note for note in notes if "the log decides" in note]
    assert "names an abort of producer 1 at offset 14, but the log has a commit there" in said


@pytest.mark.parametrize("is_empty", [False, True], ids=["no index", "an empty one"])
def test_an_index_that_lacks_an_abort_of_the_log_does_not_prove_a_commit(
    is_empty: bool, data: Path, lake: Path
) -> None:
    steps = [sent(), sent(1), abort(1), sent(2), abort(2), sent(1), commit(1), sent()]
    log = TransactionLog.of(steps)
    disk = _disk(data / "2", log, [_END])
    index = disk / "orders-0" / f"{0:020d}.txnindex"
    index.unlink()
    if is_empty:
        index.write_bytes(b"")
    _left(data, lake, [disk], log)


def test_two_copies_whose_indexes_differ_prove_nothing(data: Path, lake: Path) -> None:
    log = _log(first=commit(1), last=commit(1))
    disks = [_disk(data / name, log, [_END]) for name in "23"]
    entries = [Aborted(1, 3, 6, 7)]
    (disks[1] / "orders-0" / f"{0:020d}.txnindex").write_bytes(transaction_index(entries))
    _left(data, lake, disks, log)


def _steps(random: Random) -> list[Step]:
    """Markers end something: an abort of nothing is in no index."""
    steps: list[Step] = []
    begun: set[int] = set()
    for _ in range(14):
        if begun and random.random() < 0.4:
            producer_id = random.choice(sorted(begun))
            begun.discard(producer_id)
            steps.append(Step(producer_id, random.random() < 0.5))
        else:
            steps.append(sent(random.choice([OUTSIDE, 1, 2])))
            begun |= {steps[-1].producer_id} - {OUTSIDE}
    return steps


@pytest.mark.parametrize("world", cases(range(16), telling=every(7, range(16))))
def test_whatever_is_damaged_on_two_copies_nothing_is_taken_as_what_it_was_not(
    world: int, tmp_path: Path
) -> None:
    random = Random(f"evidence {world}")
    log = TransactionLog.of([sent(), *_steps(random), sent()])
    edges = sorted({0, log.placed[5].offset, log.placed[10].offset})
    lake = tmp_path / "lake"
    for name in "12":
        disk = tmp_path / name
        write_log(disk, log, edges)
        for index in random.sample(range(len(log.placed)), 4):
            damage_batch(disk, log, edges, index)
        ingested(disk, lake)
    found, states = _states(lake), log.states(log.next_offset)
    assert found == {offset: states[offset] for offset in found}
    assert imbalances_of(lake) == []
