"""What the comparison with the disks says, for a person and for a machine."""

import json
from collections import Counter

import numpy as np

from seglake.pipelines.lake_audit.disk_check.disk_check import CopyCheck
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_mapping, to_text
from seglake.pipelines.lake_audit.disk_check.disk_check_task import PieceReport, Places


def _check(
    report: PieceReport, *, partition: str = "orders-0", broker_id: int = 1, **facts: int
) -> CopyCheck:
    folder = f"/disks/{broker_id}/{partition}"
    return CopyCheck(
        partition,
        folder,
        broker_id,
        facts.get("lake_records", report.equal),
        facts.get("high_watermark"),
        report=report,
    )


def _lines(*checks: CopyCheck) -> list[str]:
    return to_text(checks).splitlines()


def test_explained_differences_are_no_problem_and_counted_by_reason() -> None:
    report = PieceReport(
        equal=10,
        explained_differences=Counter({"of another leader": 2, "in quarantine": 1}),
        left_out=Counter({"aborted": 4}),
        damaged_spans=1,
    )
    check = _check(report, lake_records=20)
    assert exit_code([check]) == 0
    assert _lines(check) == [
        "compared with 1 copy on disk: 10 records are equal, 3 differ, each explained, 4 on the "
        "disk only, each explained, 7 in the lake only, 1 damaged span not compared",
        "orders-0  10 records are equal, 1 differs, in quarantine, 2 differ, of another leader, "
        "4 on the disk only, aborted, 7 in the lake only, 1 damaged span",
    ]


def test_one_record_that_differs_is_said_in_the_singular() -> None:
    one = Counter({"in quarantine": 1})
    report = PieceReport(equal=10, explained_differences=one, left_out=Counter({"aborted": 1}))
    (first, *_) = _lines(_check(report, lake_records=11))
    assert first.endswith("are equal, 1 differs, explained, 1 on the disk only, explained")


def test_the_headline_has_all_that_the_lines_below_have() -> None:
    due = _check(PieceReport(equal=5, not_ingested=[(5, 20)]), partition="a-0")
    lagging = _check(PieceReport(equal=3), partition="b-0", lake_records=33)
    first, *_ = _lines(due, lagging)
    assert first == (
        "compared with 2 copies on disk: 8 records are equal, 30 in the lake only, 15 offsets not "
        "ingested yet"
    )
    assert _lines(_check(PieceReport(equal=5)))[0].endswith(
        ": 5 records are equal, nothing differs"
    )
    assert _lines(_check(PieceReport()))[0].endswith(": 0 records are equal, no record to compare")


def test_a_problem_comes_first_with_its_first_offsets_and_how_many_more() -> None:
    different = Places().and_more(np.arange(30, 42))
    wrong = _check(PieceReport(different=different), partition="z-0")
    lost = _check(PieceReport(only_on_disk=Places(1, (5,))), partition="y-0")
    failed = _check(PieceReport(), partition="x-0")
    failed.failures.append("cannot open it")
    fine = _check(PieceReport(equal=3), partition="a-0")
    assert [exit_code([check]) for check in (wrong, lost, failed, fine)] == [3, 3, 3, 0]
    lines = _lines(fine, wrong, lost, failed)
    assert lines[0].endswith("on disk: 3 records are equal; NOT EXPLAINED: see 3 of them")
    assert [line.split()[0] for line in lines[1::2]] == ["x-0", "y-0", "z-0", "a-0"]
    assert [line.strip() for line in lines[2::2]] == [
        "PROBLEM  not compared: cannot open it",
        "PROBLEM  on the disk, and not in the lake: 1 record at offset 5",
        "PROBLEM  not as in the lake: 12 records at offset 30, 31, 32, 33, 34, 35, 36, 37, 38, 39 "
        "and 2 more",
    ]


def test_replicas_of_one_partition_are_told_apart_by_their_folders() -> None:
    checks = [_check(PieceReport(), broker_id=number) for number in (1, 2)]
    other = _check(PieceReport(), partition="payments-0")
    assert [line.split("  ")[0] for line in _lines(*checks, other)[1:]] == [
        "orders-0 in /disks/1/orders-0",
        "orders-0 in /disks/2/orders-0",
        "payments-0",
    ]


def test_what_is_not_ingested_yet_is_due_unless_it_lies_above_the_high_watermark() -> None:
    ranges = [(10, 20), (30, 31), (40, 41), (50, 51)]
    (_, _, due) = _lines(_check(PieceReport(not_ingested=ranges), high_watermark=11))
    assert due.strip() == (
        "13 offsets are not ingested yet, [10, 20), [30, 31), [40, 41) and 1 more range: an "
        "ingest of this topic without a time window reads them, or gives the reason"
    )
    (_, _, above) = _lines(_check(PieceReport(not_ingested=ranges[:1]), high_watermark=10))
    assert above.endswith("[10, 20): above the high watermark 10")


def test_a_long_list_is_cut_for_a_person_and_whole_for_a_machine() -> None:
    checks = [_check(PieceReport(equal=1), partition=f"t-{number}") for number in range(45)]
    assert _lines(*checks)[-1] == "and 5 more replicas, none with a problem (--json has them all)"
    assert len(_lines(*checks)) == 42
    found = json.loads(json.dumps(to_mapping(checks)))
    assert len(found["copies"]) == 45
    assert found["copies"][0]["different"] == {"records": 0, "first_offsets": []}


def test_quietly_only_copies_with_a_problem_are_named() -> None:
    fine = _check(PieceReport(equal=5), partition="a-0")
    wrong = _check(PieceReport(only_on_disk=Places(1, (7,))), partition="b-0")
    names = [line.split()[0] for line in to_text([fine, wrong], is_quiet=True).splitlines()]
    assert names == ["compared", "b-0", "PROBLEM"]
    assert to_text([fine], is_quiet=True).splitlines() == _lines(fine)[:1]
