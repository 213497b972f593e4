"""Runs, as the rows of the tables add up to them."""

from seglake.pipelines.lake_report.runs import RunTally
from support.reports import ledger_of, ledger_row


def test_runs_add_up_their_ranges_and_gaps() -> None:
    ledger, _ = ledger_of(
        ledger_row(0, 10),
        ledger_row(10, 30, 2, run_id="run1", quarantined_batches=1),
        ledger_row(5, 30, 3, kind="superseded", records=20),
        ledger_row(5, 25, 3, kind="retake", records=18),
    )
    tally = RunTally()
    tally.committed(ledger, [{"run_id": "run1", "cause": "missing", "offsets": 3}])
    newest, first = tally.runs()
    assert (first.run_id, first.kinds, first.partitions) == ("run1", ("ingest",), 1)
    assert (first.offsets, first.records, first.quarantined_batches) == (30, 30, 1)
    assert (first.recorded, newest.recorded) == ({"missing": 3}, {})
    assert (first.began_at.hour, first.ended_at.hour) == (1, 2)
    assert (newest.kinds, newest.offsets, newest.records) == (("retake", "superseded"), 20, 18)
