"""Where log and transaction index disagree, and what is no disagreement."""

from pathlib import Path

import pytest

from seglake.kafka_log.transaction_markers import Markers
from support.encoder import Aborted, transaction_index
from support.indexed_log import EDGES, INDEXES, LOG, decisions
from support.surveyed import log_bounds
from support.transaction_logs import write_log


def test_where_log_and_index_agree_nothing_is_said(data: Path) -> None:
    write_log(data, LOG, EDGES)
    assert log_bounds(data).notes == ()


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "does not name the abort of producer 1 at offset 6"),
        ([Aborted(2, 3, 5, 6), Aborted(1, 0, 6, 3)], "names an abort of producer 2 at offset 5"),
        ([Aborted(1, 1, 6, 3)], "from offset 1, the log has data from offset 0 on"),
        ([Aborted(2, 3, 6, 3)], "does not name the abort of producer 1 at offset 6"),
    ],
)
def test_where_log_and_index_disagree_one_note_says_so_and_the_log_decides(
    entries: list[Aborted], said: str, data: Path
) -> None:
    partition = write_log(data, LOG, EDGES)
    right = log_bounds(data)
    (partition / INDEXES[0]).write_bytes(transaction_index(entries))
    bounds = log_bounds(data)
    (note,) = bounds.notes
    assert ".txnindex and the log disagree, and the log decides" in note
    assert said in note
    assert decisions(bounds) == decisions(right)


def test_an_abort_that_the_log_calls_a_commit_stays_a_commit(data: Path) -> None:
    partition = write_log(data, LOG, EDGES)
    entries = [Aborted(2, 3, 10, 7), Aborted(1, 7, 11, 12)]
    (partition / INDEXES[1]).write_bytes(transaction_index(entries))
    bounds = log_bounds(data)
    assert "producer 2 at offset 10, but the log has a commit" in bounds.notes[0]
    assert str(Markers(bounds.markers).state(2, 3)) == "committed"


def test_an_index_that_is_older_than_the_end_of_the_log_is_no_disagreement(data: Path) -> None:
    partition = write_log(data, LOG, EDGES, has_end_snapshot=False)
    (partition / INDEXES[1]).write_bytes(b"")
    assert log_bounds(data).notes == ()


def test_entries_for_data_that_is_gone_are_no_disagreement(data: Path) -> None:
    write_log(data, LOG, (3, 7))  # the abort at 6 is of data below 3
    assert log_bounds(data).notes == ()
