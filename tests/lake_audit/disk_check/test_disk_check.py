"""The lake against the disks, record by record: each difference is found or explained."""

import shutil
from pathlib import Path

import pytest

from seglake.api import audit
from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.lake_audit.disk_check.disk_check import find_disks
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_text
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import NothingSelectedError
from seglake.storage.local_storage import LocalStorage
from support import broker_disks
from support.audits import CHANGED_OFFSET, checked, falsified, only_copy
from support.encoder import Record, record_batch
from support.found import conflicts
from support.lakes import ingested
from support.made_logs import FIRST_MS, made_batches, make_log_dir

_ORDERS = ("orders", 0)


def test_a_lake_equals_the_disk_that_it_was_made_from(taken: Path, lake: Path) -> None:
    check = only_copy(checked(taken, lake))
    assert (check.report.equal, check.only_in_lake, check.report.not_ingested) == (40, 0, [])
    assert exit_code([check]) == 0
    assert to_text([check]).splitlines() == [
        "compared with 1 copy on disk: 40 records are equal, nothing differs",
        "orders-0  40 records are equal",
    ]


def test_a_record_that_the_lake_lost_is_found_and_named(taken: Path, lake: Path) -> None:
    falsified(
        lake, "records", lambda rows: [row for row in rows if row["offset"] != CHANGED_OFFSET]
    )
    check = only_copy(checked(taken, lake))
    assert (check.report.equal, check.report.only_on_disk) == (39, (1, (CHANGED_OFFSET,)))
    assert exit_code([check]) == 3
    assert "on the disk, and not in the lake: 1 record at offset 17" in to_text([check])


def test_an_implausible_log_start_hides_no_record_of_the_disk(taken: Path, lake: Path) -> None:
    (taken / "log-start-offset-checkpoint").write_text("0\n1\norders 0 100\n")
    check = only_copy(checked(taken, lake))
    assert (check.report.equal, check.only_in_lake) == (40, 0)


def test_a_lost_folder_of_an_internal_topic_counts_if_the_topic_is_ingested(
    taken: Path, lake: Path
) -> None:
    for name, expected in (("__consumer_offsets", 0), ("lost", 3)):
        for file in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
            (taken / file).write_text(f"0\n2\norders 0 40\n{name} 0 9\n")
        assert exit_code(checked(taken, lake)) == expected


def test_what_the_disk_deleted_since_is_no_problem(taken: Path, lake: Path) -> None:
    (taken / "orders-0" / f"{0:020d}.log").unlink()
    check = only_copy(checked(taken, lake))
    assert (check.report.equal, check.only_in_lake, exit_code([check])) == (20, 20, 0)


def test_compressed_segments_are_not_compared_and_said(taken: Path, lake: Path) -> None:
    log = taken / "orders-0" / f"{20:020d}.log"
    log.rename(log.with_name(log.name + ".gz"))
    check = only_copy(checked(taken, lake))
    assert (check.report.equal, exit_code([check])) == (20, 3)
    said = f"PROBLEM  not compared: 1 compressed segment ({log.name}.gz): decompress in place"
    assert said in to_text([check])


def test_a_partition_whose_folder_went_is_named_as_far_as_the_lake_lacks_it(
    taken: Path, lake: Path
) -> None:
    marks = {_ORDERS: 40, ("payments", 0): 10}
    make_log_dir(taken, {_ORDERS: [0, 20, 40], ("payments", 0): [0, 10]}, high_watermarks=marks)
    shutil.rmtree(taken / "payments-0")
    checks = {check.partition: check for check in checked(taken, lake)}
    assert exit_code([checks["orders-0"]]) == 0
    assert exit_code([checks["payments-0"]]) == 3
    assert "not compared: there is no folder, but the high watermark in" in to_text(
        [*checks.values()]
    )
    shutil.rmtree(taken / "orders-0")
    assert [check.partition for check in checked(taken, lake)] == ["payments-0"]


def test_what_is_not_taken_yet_is_said(taken: Path, lake: Path) -> None:
    marks = {_ORDERS: 50}
    grown = make_log_dir(taken, {_ORDERS: [0, 20, 60]}, high_watermarks=marks)
    check = only_copy(checked(grown, lake))
    assert (check.report.equal, check.report.not_ingested, exit_code([check])) == (
        40,
        [(40, 60)],
        0,
    )
    assert "20 offsets are not ingested yet, [40, 60): an ingest of this topic" in to_text([check])
    ingested(grown, lake)
    check = only_copy(checked(grown, lake))
    assert check.report.not_ingested == [(50, 60)]
    assert "[50, 60): above the high watermark 50" in to_text([check])


def test_a_partition_of_which_nothing_was_taken_is_said(taken: Path, lake: Path) -> None:
    make_log_dir(taken, {_ORDERS: [0, 20, 40], ("payments", 0): [0, 10]})
    checks = checked(taken, lake)
    assert {check.partition: check.report.not_ingested for check in checks} == {
        "orders-0": [],
        "payments-0": [(0, 10)],
    }
    assert "10 offsets are not ingested yet, [0, 10): an ingest of this topic" in to_text(checks)
    assert exit_code(checks) == 0


def test_topics_that_are_not_there_do_not_pass_for_equal(taken: Path, lake: Path) -> None:
    settings = Settings.from_mappings([("test", {"select": {"topics": ["nosuch"]}})])
    with pytest.raises(NothingSelectedError, match="no topic of the sources is selected by nosuch"):
        find_disks([str(taken)], str(lake), LocalStorage(), settings)


def test_sources_of_another_cluster_are_refused(taken: Path, lake: Path) -> None:
    make_log_dir(taken, {_ORDERS: [0, 20]}, cluster_id="another-cluster-000000")
    with pytest.raises(WrongSourceError, match="no rows of the sources' cluster another-cluster"):
        checked(taken, lake)


def test_records_of_a_losing_batch_across_the_end_of_the_lakes_log_are_counted_once(
    tmp_path: Path,
) -> None:
    disks, lake = broker_disks.unpacked("08_replicas") / "disks" / "diverged", tmp_path / "lake"
    ingested(disks, lake, read={"upper_bound": "log_end"})
    checks = checked(disks, lake)
    losers = [check for check in checks if check.report.left_out]
    counts = [
        (check.report.equal, check.report.explained_differences, check.report.left_out)
        for check in sorted(losers, key=lambda check: check.partition)
    ]
    assert counts == [
        (equal, {"in quarantine": different}, {"in quarantine": absent})
        for equal, different, absent in [(169, 19, 46), (96, 37, 12), (80, 25, 6)]
        for _ in range(2)
    ]
    assert [check.only_in_lake for check in losers] == [0] * 6
    assert " differ, each explained, " in to_text(checks)


@pytest.mark.parametrize("broker_id", [0, 1], ids=["the same broker", "another one"])
def test_a_copy_of_the_same_leader_that_comes_later_with_other_bytes_is_found(
    broker_id: int, taken: Path, lake: Path
) -> None:
    changed = make_log_dir(taken.parent / "later", {_ORDERS: [0, 20, 40]}, broker_id=broker_id)
    log = changed / "orders-0" / f"{20:020}.log"
    batches = made_batches(*_ORDERS, range(20, 40))
    other = record_batch(25, [Record(b"k", b"other", FIRST_MS) for _ in range(5)])
    log.write_bytes(b"".join(b.data for b in (batches[0], other, *batches[2:])))
    summary = ingested(changed, lake)  # which reads nothing of what is covered
    assert (summary.exit_code, conflicts(summary), summary.records) == (0, {}, 0)
    (check,) = checked(changed, lake)
    assert (exit_code([check]), check.report.equal) == (3, 35)
    assert check.report.different.records == 5
    assert "PROBLEM  not as in the lake: 5 records at offset 25, 26, 27, 28, 29" in to_text([check])
    assert exit_code(checked(taken, lake)) == 0


def test_notes_say_what_was_passed_over_on_the_disks(tmp_path: Path) -> None:
    disk = make_log_dir(tmp_path / "disk", {("orders", 0): [0, 20]})
    ingested(disk, tmp_path / "lake")
    segment = disk / "orders-0" / f"{0:020}.log"
    shutil.copyfile(segment, segment.with_name(f"{40:020}.log.deleted"))
    (disk / "notes.txt").write_text("of a person")
    found = audit(str(tmp_path / "lake"), [str(disk)], engine="local")
    (removed, strange) = sorted(found.lake.notes, key=lambda note: "notes.txt" in note)
    assert "segments that the broker had removed" in removed
    assert "has files that are not Kafka's: notes.txt" in strange
    assert "note: " in found.to_text()
