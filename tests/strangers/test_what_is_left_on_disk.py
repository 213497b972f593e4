"""Disks of which a run ingests nothing or not all: "nothing new" is said of none of them."""

import json
import re
from pathlib import Path

import pytest

from seglake.cli import ingest_command
from seglake.findings.kinds import FindingKind
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.encoder import Partition, Segment
from support.found import NOT_INGESTED_YET
from support.lakes import ingested
from support.made_logs import made_batches, write_over
from support.reports import reported
from support.taken import offsets_taken

_CHECKPOINTS = (
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
)
_LOG_END = {"upper_bound": "log_end"}


def _disk(folder: Path, *, watermark: int = 16, end: int = 16, topic: str = "orders") -> Path:
    segments = [Segment(0, made_batches(topic, 0, range(end)))]
    return write_over(folder, [Partition(topic, 0, segments, high_watermark=watermark)])


def _needs(lake: Path) -> dict[str, set[FindingKind]]:
    """What the report says that somebody should look at, by partition."""
    return {
        str(partition.key): {finding.kind for finding in partition.findings}
        for partition in reported(lake).partitions
        if partition.findings
    }


def _emptied(disk: Path) -> Path:
    """The disk after a power loss that left its checkpoints without a byte."""
    for name in _CHECKPOINTS:
        (disk / name).write_bytes(b"")
    return disk


def test_empty_checkpoints_beside_a_log_are_said_first(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    disk = _emptied(_disk(tmp_path / "disk"))
    for dry_run in (True, False, False):
        summary = ingested(disk, lake, engine=engine, dry_run=dry_run)
        first, second = summary.to_text().splitlines()
        assert "nothing ingested in 1 partition" in first
        assert "16 offsets without a high watermark in orders-0 [0, 16)" in first
        assert second.startswith(
            "blocked: orders-0: 16 offsets are on the disk; replication-offset-"
        )
        assert summary.exit_code == 3
    assert ingested(disk, lake, engine=engine, read=_LOG_END).exit_code == 0
    assert offsets_taken(lake) == [*range(16)]
    whole = ingested(disk, lake, engine=engine)  # the lake has what the disk has
    assert (whole.exit_code, whole.to_text().startswith("nothing new in 1 partition")) == (0, True)


def test_audit_and_report_name_a_log_without_a_high_watermark(tmp_path: Path, lake: Path) -> None:
    ingested(_disk(tmp_path / "other", topic="payments"), lake)
    disk = _emptied(_disk(tmp_path / "disk"))
    ingested([disk, tmp_path / "other"], lake)
    assert audited(lake).problems == ("orders-0: [0, 16) are on the disk without a high watermark",)
    assert _needs(lake) == {"orders-0": {FindingKind.NO_HIGH_WATERMARK}}
    ingested(disk, lake, read=_LOG_END)
    assert audited(lake).exit_code == 0


def test_a_short_log_is_named_by_every_command(
    tmp_path: Path, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = _disk(tmp_path / "disk", watermark=16, end=10)
    options = ["--lake", str(lake), "--engine", "local", "--set", "limits.local_processes=1"]
    options += ["--isolation", "read_uncommitted", "--source", str(disk)]
    assert ingest_command.main(["--log-format", "json", *options]) == 3
    events = map(json.loads, capsys.readouterr().err.splitlines())
    (event,) = (event for event in events if event["event"] == "not_on_disk")
    assert (event["topic"], event["partition"], event["ranges"]) == ("orders", 0, [[10, 16]])
    said = "[10, 16): replication-offset-checkpoint says 16, the log in "
    for _ in range(2):
        audit = audited(lake)
        (problem,) = audit.problems
        assert problem.startswith(f"not on disk: orders-0: {said}")
        assert audit.exit_code == 3
        assert _needs(lake) == {"orders-0": {FindingKind.NOT_ON_DISK}}
        ingested(disk, lake)
    whole = _disk(tmp_path / "whole")
    ingested([disk, whole], lake)
    assert (audited(lake).problems, _needs(lake)) == ((), {})


def test_an_older_copy_does_not_tell_that_nothing_is_lost(tmp_path: Path, lake: Path) -> None:
    ingested(_disk(tmp_path / "disk", watermark=16, end=10), lake)
    lost = audited(lake).problems
    older = _disk(tmp_path / "older", watermark=5, end=5)
    for _ in range(2):
        ingested(older, lake)
        audit = audited(lake)
        assert (audit.problems, audit.exit_code) == (lost, 3)
    ingested(_disk(tmp_path / "whole"), lake)
    assert audited(lake).problems == ()


def test_a_log_that_is_short_no_longer_is_not_named_for_ever(tmp_path: Path, lake: Path) -> None:
    disk = _disk(tmp_path / "disk")
    (disk / "recovery-point-offset-checkpoint").write_bytes(b"0\n1\norders 0 20\n")
    ingested(disk, lake)
    assert len(audited(lake).problems) == 1
    (disk / "recovery-point-offset-checkpoint").write_bytes(b"0\n1\norders 0 16\n")
    assert ingested(disk, lake).exit_code == 0
    assert audited(lake).problems == ()


@pytest.mark.parametrize("is_emptied", [True, False], ids=["no entries", "another's entry"])
def test_a_log_that_grows_without_a_high_watermark_is_blocked(
    tmp_path: Path, lake: Path, is_emptied: bool
) -> None:
    disk = _disk(tmp_path / "disk")
    ingested(disk, lake)
    _disk(disk, end=30)
    text = b"" if is_emptied else b"0\n1\npayments 0 5\n"
    (disk / "replication-offset-checkpoint").write_bytes(text)
    summary = ingested(disk, lake)
    assert "14 offsets without a high watermark in orders-0 [16, 30)" in summary.to_text()
    assert summary.exit_code == 3


# By whether they leave the log without a high watermark.
_MARKS = {
    True: (
        {"replication": 0, "recovery-point": 16},
        {"replication": 0, "recovery-point": 1},
        {"replication": 3, "recovery-point": 9, "log-start": 5},
    ),
    False: (
        {"replication": 0, "recovery-point": 5, "log-start": 5},
        {"replication": 5, "recovery-point": 9, "log-start": 5},
        {"replication": 0, "recovery-point": 0},
    ),
}


@pytest.mark.parametrize("is_blocked", _MARKS)
def test_a_high_watermark_that_the_recovery_point_disproves_counts_as_missing(
    is_blocked: bool, tmp_path: Path, lake: Path, engine: Engine
) -> None:
    disks = [_disk(tmp_path / f"of {topic}", topic=topic) for topic in "abc"]
    for disk, topic, marks in zip(disks, "abc", _MARKS[is_blocked], strict=True):
        for name, offset in marks.items():
            (disk / f"{name}-offset-checkpoint").write_text(f"0\n1\n{topic} 0 {offset}\n")
    named = {"a-0", "b-0", "c-0"} if is_blocked else set()
    for dry_run in (True, False, False):
        summary = ingested(disks, lake, engine=engine, dry_run=dry_run)
        assert summary.exit_code == (3 if is_blocked else 0)
        blocked = re.findall("^blocked: (.*?): ", summary.to_text(), re.MULTILINE)
        assert {*blocked} == named
        ignored = [note for note in summary.notes if "is ignored as implausible" in note]
        assert len(ignored) == len(named)
    problems = [of for of in audited(lake).problems if "without a high watermark" in of]
    assert {of.partition(":")[0] for of in problems} == named
    assert ingested(disks, lake, engine=engine, read=_LOG_END).exit_code == 0
    for topic, marks in zip("abc", _MARKS[is_blocked], strict=True):
        assert offsets_taken(lake, topic) == [*range(marks.get("log-start", 0), 16)]


def test_what_a_running_broker_leaves_above_its_bounds_is_said_and_green(
    tmp_path: Path, lake: Path
) -> None:
    disk = _disk(tmp_path / "disk", watermark=0)  # as of a follower before its first checkpoint
    summary = ingested(disk, lake)
    assert summary.to_text().startswith("nothing ingested in 1 partition")
    assert "16 offsets above the high watermark in orders-0 [0, 16)" in summary.to_text()
    assert summary.exit_code == 0
    ingested(disk, lake, read=_LOG_END)
    above = ingested(disk, lake)
    assert above.to_text().startswith("nothing new in 1 partition")
    assert above.findings.of(*NOT_INGESTED_YET) == []


def test_what_lies_outside_of_a_window_is_said(tmp_path: Path, lake: Path) -> None:
    disk = _disk(tmp_path / "disk")
    window = {"to_timestamp": "2023-11-14T22:13:30Z"}
    ingested(disk, lake, select=window)
    assert offsets_taken(lake) == [*range(10)]
    again = ingested(disk, lake, select=window)
    assert "6 offsets outside the chosen times in orders-0 [10, 16)" in again.to_text()
    assert again.exit_code == 0
