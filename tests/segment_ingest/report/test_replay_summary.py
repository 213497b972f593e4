"""What a person reads after a replay, and when somebody has to look."""

from pathlib import Path

from seglake.pipelines.segment_ingest.report.replay_summary import ReplaySummary
from support.lakes import ingested, replayed
from support.made_logs import make_log_dir


def test_replay_that_left_something_out_is_a_reason_to_look() -> None:
    assert ReplaySummary("run", "/lake").exit_code == 0
    assert ReplaySummary("run", "/lake", left_out={"orders-0": "cannot be read"}).exit_code == 3


def test_what_is_left_is_said_with_its_partitions_the_most_first(tmp_path: Path) -> None:
    edges = {("orders", number): [0, 20, 40, 60] for number in range(5)}
    disk = make_log_dir(tmp_path / "disk", edges)
    for number in range(5):
        log = disk / f"orders-{number}" / f"{20:020}.log"
        log.unlink()
    log = disk / "orders-3" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    lake = tmp_path / "lake"
    ingested(disk, lake, isolation="read_committed")
    summary = replayed(lake)
    assert summary.left_partitions == {**{f"orders-{n}": 20 for n in range(5)}, "orders-3": 25}
    line = "in orders-3 (25), orders-0 (20), orders-1 (20) and 2 more"
    assert line in summary.to_text()
