"""What a person reads after a replay, and when somebody has to look."""

import json
from pathlib import Path

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
from support.lakes import ingested, replayed
from support.made_logs import make_log_dir


def test_replay_that_left_something_out_is_a_reason_to_look() -> None:
    assert ReplaySummary("run", "/lake").exit_code == 0
    left_out = Findings([Finding(FindingKind.LEFT_OUT, "cannot be read", "orders-0")])
    assert ReplaySummary("run", "/lake", findings=left_out).exit_code == 3


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
    assert summary.left_offsets == {"missing": 80, "quarantined": 25}
    assert {name: gaps.ranges for name, gaps in summary.left_gaps["missing"].items()} == {
        f"orders-{number}": ((20, 40),) for number in (0, 1, 2, 4)
    }
    said = (
        "still quarantined: 1 crc_mismatch in orders-3 (1)\n"
        "offsets in gaps that remain: 80 missing in orders-0 [20, 40), orders-1 [20, 40), "
        "orders-2 [20, 40) and 1 more; 25 quarantined in orders-3 [15, 40)"
    )
    assert said in summary.to_text()
    facts = json.loads(summary.to_json())
    assert len(facts["left_gaps"]["missing"]) == 4
    assert facts["left_gaps"]["quarantined"]["orders-3"]["ranges"] == [[15, 40]]
