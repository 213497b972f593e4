"""Gaps as arrays: whose they are, and which still stand."""

from pathlib import Path

import numpy as np

from seglake.lake.appends import append_file
from seglake.lake.snapshots import read_snapshots
from seglake.lake.tables import GAPS
from seglake.pipelines.lake_report.gap_pieces import GapPiece, gap_pieces, standing
from support.lake_rows import Lake, new_lake, rows, write_file
from support.reports import ledger_of, ledger_row


def _piece(cause: str, *ranges: tuple[int, int], attempt_id: str = "attempt1") -> GapPiece:
    starts, stops = np.array(ranges, np.int64).T
    return GapPiece(cause, attempt_id, starts, stops)


def test_repaired_gaps_stand_no_more_and_what_a_repair_left_does() -> None:
    ledger, log = ledger_of(
        ledger_row(0, 100), ledger_row(10, 30, 2, kind="repair"), ledger_row(100, 120, 3)
    )
    pieces = [
        _piece("quarantined", (10, 30), (50, 60)),
        _piece("missing", (20, 30), attempt_id="attempt2"),
    ]
    left = standing(log, pieces, ledger)
    assert [(each.cause, each.starts.tolist()) for each in left] == [
        ("quarantined", [50]),
        ("missing", [20]),
    ]


def test_election_takes_gaps_away() -> None:
    ledger, log = ledger_of(ledger_row(0, 100), ledger_row(40, 100, 2, kind="superseded"))
    (left,) = standing(log, [_piece("missing", (10, 20), (50, 60))], ledger)
    assert left.starts.tolist() == [10]


def test_gaps_of_a_commit_that_is_not_in_the_ledger_are_left_out(lake: Path) -> None:
    made = new_lake(lake)
    ledger, log = ledger_of(ledger_row(0, 100))
    _add(made, range(3), attempt_id="attempt1")
    _add(made, range(50, 52), attempt_id="elsewhere")
    found = gap_pieces(made.storage, read_snapshots(made.tables, (GAPS,))["gaps"].files, ledger)
    assert [piece.starts.tolist() for piece in found[log]] == [[0, 1, 2]]


def _add(made: Lake, starts: range, attempt_id: str) -> None:
    of: dict[str, object] = {"source_id": "c1", "topic_id": None}
    of |= {"partition": 0, "cause": "missing", "attempt_id": attempt_id}
    file = write_file(made, GAPS, "orders", rows(GAPS, "orders", starts, **of))
    append_file(made.tables, GAPS, file, run_id="r", now_ms=0)
