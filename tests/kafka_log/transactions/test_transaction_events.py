"""What a walk learns of transactions where batches are damaged or out of order."""

from pathlib import Path

from support.damaged_transactions import CHECKED, Flip, data_steps, flip_byte, states_of
from support.encoder import Partition, Segment
from support.made_logs import write_over
from support.surveyed import log_bounds
from support.transaction_logs import TOPIC, TransactionLog, commit, sent, write_log


def test_a_damaged_batch_that_is_longer_than_a_marker_is_none(data: Path) -> None:
    log = TransactionLog.of([sent(1), sent(2), sent(), sent(2), sent(), commit(2)])
    edges = [0, 12]
    write_log(data, log, edges, has_files=False)
    for index in (2, 3, 4):  # in the middle, at the end of a segment, in the next one
        flip_byte(data, log, edges, Flip(index, *CHECKED))
    bounds = log_bounds(data)
    assert bounds.unknown_outcomes == ()
    assert [transaction.producer_id for transaction in bounds.open_transactions] == [1]


def test_batches_behind_a_false_offset_are_no_damage(data: Path) -> None:
    log = TransactionLog.of([sent(1), commit(1), sent(), sent(1), sent()])
    write_log(data, log, (0,))
    flip_byte(data, log, [0], Flip(1, 4, 0x01))  # the marker claims an offset far ahead
    bounds = log_bounds(data)
    assert states_of(bounds, data_steps(log)) == {0: "committed", 7: "open"}
    assert bounds.unknown_outcomes == ()


def test_a_marker_that_comes_late_ends_only_what_is_below_it(data: Path) -> None:
    log = TransactionLog.of([sent(1), sent(), commit(1), sent(1)])
    first, plain, end, second = log.batches(0, log.next_offset)
    write_over(data, [Partition(TOPIC, 0, [Segment(0, [first, plain, second, end])])])
    bounds = log_bounds(data, read={"upper_bound": "log_end"})
    assert [
        (transaction.producer_id, transaction.first_offset)
        for transaction in bounds.open_transactions
    ] == [(1, 7)]
    assert states_of(bounds, data_steps(log)) == {0: "committed", 7: "open"}
