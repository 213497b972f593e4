"""Why records of a disk are not in the lake, or not the same there."""

from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_text
from support import broker_disks
from support.audits import checked
from support.lakes import ingested


def test_copies_that_lost_an_election_differ_and_it_is_explained(tmp_path: Path) -> None:
    disks, lake = broker_disks.unpacked("08_replicas") / "disks" / "diverged", tmp_path / "lake"
    ingested(disks / "broker2", lake)
    checks = checked(disks, lake)
    assert exit_code(checks) == 0
    assert f"rep-1 in {disks}/broker0/data/rep-1  96 records are equal" in to_text(checks)
    assert {reason for check in checks for reason in check.report.explained_differences} == {
        "of another leader"
    }
    ingested(disks, lake)  # now the lake lists what they have in quarantine
    checks = checked(disks, lake)
    assert exit_code(checks) == 0
    assert {reason for check in checks for reason in check.report.explained_differences} == {
        "in quarantine"
    }


@pytest.mark.parametrize(
    ("isolation", "aborted"), [("read_committed", 69), ("read_uncommitted", 0)]
)
def test_aborted_records_are_on_the_disk_only_where_they_were_left_out(
    isolation: str, aborted: int, tmp_path: Path
) -> None:
    source = Path(__file__).parents[3] / "samples" / "broker-0"
    ingested(source, tmp_path / "lake", isolation=isolation)
    checks = checked(source, tmp_path / "lake")
    assert exit_code(checks) == 0
    assert sum(check.report.left_out.get("aborted", 0) for check in checks) == aborted


@pytest.mark.parametrize(
    ("taken_copy", "compared_copy"), [("after", "before"), ("before", "after")]
)
def test_a_log_that_the_cleaner_rewrote_explains_itself(
    taken_copy: str, compared_copy: str, tmp_path: Path
) -> None:
    disks = broker_disks.unpacked("05_compacted") / "disks"
    ingested(disks / taken_copy, tmp_path / "lake")
    checks = checked(disks / compared_copy, tmp_path / "lake")
    assert [to_text([check]) for check in checks if check.has_problem] == []
    reasons = {reason for check in checks for reason in check.report.left_out}
    expected = {"rewritten by the cleaner", "in a gap (compacted)"}
    assert (expected <= reasons) is (taken_copy == "after")
    assert sum(check.only_in_lake for check in checks) > 0
