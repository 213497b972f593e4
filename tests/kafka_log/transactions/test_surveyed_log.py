"""Where markers may be gone from a log, and which damage its transaction index covers."""

from pathlib import Path

import pytest

from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.transaction_markers import Markers
from support.damaged_transactions import CHECKED, Flip, doubted_producers, flip_byte
from support.encoder import Aborted, producer_snapshot, transaction_index
from support.surveyed import log_bounds
from support.transaction_logs import Step, TransactionLog, abort, commit, sent, write_log


def test_a_missing_index_is_no_proof_where_the_log_has_an_abort(data: Path) -> None:
    log = TransactionLog.of([sent(2), abort(2), sent(1), commit(1), sent()])
    partition = write_log(data, log, (0,))
    flip_byte(data, log, [0], Flip(3, *CHECKED))
    assert doubted_producers(log_bounds(data)) == set()
    (partition / "00000000000000000000.txnindex").unlink()
    assert doubted_producers(log_bounds(data)) == {1}


def test_what_a_second_damage_may_hide_is_not_proved_by_the_index_beside_the_first(
    data: Path,
) -> None:
    steps = [sent(1), commit(2), abort(1), sent(), sent(1), abort(1), sent()]
    log, edges = TransactionLog.of(steps), [0, 4, 8]
    partition = write_log(data, log, edges)
    for index in (1, 2):
        flip_byte(data, log, edges, Flip(index, *CHECKED))
    (partition / f"{4:020d}.txnindex").write_bytes(b"!")  # which named the first abort
    assert doubted_producers(log_bounds(data)) == {1}


def test_the_index_of_a_segment_that_grows_is_no_proof_without_a_snapshot(data: Path) -> None:
    log = TransactionLog.of([sent(2), abort(2), sent(1), abort(1), sent(1), commit(1)])
    partition = write_log(data, log, (0,), has_end_snapshot=False)
    entries = [Aborted(2, 0, 3, 4)]  # copied before the second abort
    (partition / "00000000000000000000.txnindex").write_bytes(transaction_index(entries))
    flip_byte(data, log, [0], Flip(3, *CHECKED))
    assert doubted_producers(log_bounds(data)) == {1}


def _copied_while_it_grew(data: Path, steps: list[Step], entry: Aborted) -> LogBounds:
    """Damage the first marker of a log whose only segment has this entry in its index."""
    log = TransactionLog.of([*steps, sent()])
    partition = write_log(data, log, (0,), has_end_snapshot=False)
    (partition / "00000000000000000000.txnindex").write_bytes(transaction_index([entry]))
    flip_byte(data, log, [0], Flip(1, *CHECKED))
    return log_bounds(data)


def test_the_index_of_a_segment_that_grows_proves_what_precedes_an_abort_of_the_log(
    data: Path,
) -> None:
    steps = [sent(1), commit(1), sent(1), abort(1)]
    bounds = _copied_while_it_grew(data, steps, Aborted(1, 4, 7, 8))
    assert str(Markers(bounds.markers).state(1, 0)) == "committed"
    assert doubted_producers(bounds) == set()


@pytest.mark.parametrize(("hit", "is_placed"), [((2,), True), ((2, 4), False)])
def test_a_damaged_commit_has_a_known_offset_if_it_can_lie_in_no_other_damage(
    data: Path, hit: tuple[int, ...], *, is_placed: bool
) -> None:
    steps = [sent(2), sent(1), commit(1), sent(), commit(2), sent(1), abort(1), sent()]
    log = TransactionLog.of(steps)
    partition = write_log(data, log, (0,), has_end_snapshot=False)
    first, end = log.placed[5].offset, log.placed[6].offset
    entry = Aborted(1, first, end, end + 1)
    (partition / "00000000000000000000.txnindex").write_bytes(transaction_index([entry]))
    for index in hit:
        flip_byte(data, log, [0], Flip(index, *CHECKED))
    (found,) = (each for each in log_bounds(data).markers if not each.is_read)
    assert (found.is_commit, found.is_placed) == (True, is_placed)


def test_the_index_of_a_segment_that_grows_proves_nothing_by_an_abort_that_the_log_does_not_have(
    data: Path,
) -> None:
    steps = [sent(1), abort(1), sent(1), commit(1)]
    bounds = _copied_while_it_grew(data, steps, Aborted(2, 8, 9, 10))
    assert doubted_producers(bounds) == {1}


def test_a_snapshot_from_behind_the_end_of_the_log_proves_nothing(data: Path) -> None:
    log = TransactionLog.of([sent(1), commit(2), sent(), commit(1)])
    partition = write_log(data, log, (0,), stop=7, has_end_snapshot=False)
    (partition / "00000000000000000008.snapshot").write_bytes(producer_snapshot(log.snapshot(8)))
    flip_byte(data, log, [0], Flip(1, *CHECKED))
    bounds = log_bounds(data, read={"upper_bound": "log_end"})
    assert bounds.notes == ()
    assert doubted_producers(bounds) == {1}
    assert [transaction.producer_id for transaction in bounds.open_transactions] == [1]


def test_a_missing_segment_may_have_held_an_end(data: Path) -> None:
    log = TransactionLog.of([sent(1), commit(1), sent(2), sent()])
    partition = write_log(data, log, (0, 3, 4), has_files=False)
    (partition / "00000000000000000003.log").unlink()
    (doubt,) = log_bounds(data).unknown_outcomes
    assert "offset 0 on may have ended in damaged or missing bytes (offset 3)" in doubt.text


@pytest.mark.parametrize("bit", [20, 40])
@pytest.mark.parametrize("cleaner_offset", [None, 7])
def test_a_marker_with_a_false_offset_behind_its_segment_leaves_a_doubt(
    cleaner_offset: int | None, bit: int, data: Path
) -> None:
    log = TransactionLog.of([sent(1), sent(), commit(1), sent(1), abort(1), sent()])
    write_log(data, log, (0, 7), has_files=False)
    flip_byte(data, log, [0, 7], Flip(2, 7 - bit // 8, 1 << bit % 8))
    if cleaner_offset is not None:
        (data / "cleaner-offset-checkpoint").write_text(f"0\n1\norders 0 {cleaner_offset}\n")
    assert doubted_producers(log_bounds(data)) == {1}
