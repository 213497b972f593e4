"""What a person reads: the worst first, aligned, and long lists cut with a count."""

from seglake.findings.kinds import FindingKind
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.partition_audit import LeftAbove, PartitionAudit, ShownGap
from seglake.pipelines.lake_audit.problems import problem
from seglake.pipelines.lake_audit.recovered import recovery_of
from seglake.pipelines.lake_audit.text_report import to_text
from support.partition_audits import partition_audit

_PARTITION = partition_audit(0).partition


def _lines(*partitions: PartitionAudit, notes: tuple[str, ...] = ()) -> list[str]:
    return to_text(_audit(*partitions, notes=notes)).splitlines()


def _audit(*partitions: PartitionAudit, notes: tuple[str, ...] = ()) -> LakeAudit:
    return LakeAudit("/lake", partitions, (), notes, recovery_of(partitions, {}, ()))


def test_a_plain_partition_takes_two_lines() -> None:
    assert _lines(partition_audit(3)) == [
        "/lake: 10 records recovered from 1 partition; no offset is known to be lost",
        "proof: each of 10 offsets covered in 1 partition has a record or a recorded cause",
        "orders-3  covered  [0, 10): 10 offsets = 10 records",
        "          log      log start 0, high watermark 10, last stable offset 10, log end 10",
    ]


def test_the_worst_comes_first() -> None:
    wrong = tuple(problem(FindingKind.MISSING, _PARTITION, 1, ["[3, 4)"]))
    lines = _lines(
        partition_audit(0),
        partition_audit(1, left=LeftAbove(10, 12, "who knows")),
        partition_audit(2, gaps={"deleted": GapRanges(1, 5)}),
        partition_audit(3, problems=wrong),
        partition_audit(4, gaps={"compacted": GapRanges(1, 5)}),
    )
    assert [line.split()[0] for line in lines if line.startswith("orders")] == [
        *("orders-3", "orders-2", "orders-1", "orders-0", "orders-4")
    ]
    assert lines[0].endswith(": NOT EXPLAINED: see 1 of 5 partitions")
    assert "          PROBLEM  missing without a known cause: [3, 4)" in lines
    assert "          left     2 offsets above, [10, 12): who knows" in lines


def test_many_partitions_are_cut_with_a_count() -> None:
    lines = _lines(*(partition_audit(number) for number in range(100)))
    assert lines[-1] == "and 60 more partitions, all explained (--json has them all)"
    assert len(lines) == 83


def test_many_examples_ranges_and_gaps_are_cut_with_a_count() -> None:
    (many,) = problem(FindingKind.OFFSET_TWICE, _PARTITION, 7, ["offset 1", "offset 2"])
    said = "offsets more than once in records: offset 1; offset 2, and 5 more"
    assert many.text == f"{_PARTITION}: {said}"
    ranges = tuple((start, start + 1) for start in range(0, 20, 2))
    gaps = tuple(ShownGap("remote", start, start + 1, None) for start in range(9))
    lines = _lines(
        partition_audit(
            0, covered=ranges, gaps={"remote": GapRanges(9, 9)}, shown=gaps, problems=(many,)
        )
    )
    assert any("[8, 9) and 5 more ranges" in line for line in lines)
    assert any(line.split() == ["and", "4", "more"] for line in lines)


def test_two_partitions_of_one_name_are_told_apart() -> None:
    lines = _lines(partition_audit(0, topic_id="first"), partition_audit(0))
    assert [line.split("  ")[0] for line in lines if line.startswith("orders")] == [
        "orders-0 (first of c)",
        "orders-0 (no id of c)",
    ]


def test_evidence_stands_beside_the_gap() -> None:
    shown = ShownGap("quarantined", 3, 4, "crc_mismatch at x.log, byte 7")
    lines = _lines(partition_audit(0, gaps={"quarantined": GapRanges(1, 1)}, shown=(shown,)))
    assert "                   [3, 4) quarantined: crc_mismatch at x.log, byte 7" in lines


def test_a_log_that_begins_in_a_remote_tier_begins_there() -> None:
    audit = partition_audit(0, gaps={"remote": GapRanges(2, 7, ((0, 7),))})
    assert "log start 0, first local offset 7, high watermark 10" in "\n".join(_lines(audit))
    without = audit._replace(gaps={})
    assert "log start 0, high watermark 10" in "\n".join(_lines(without))


def test_a_loss_that_is_explained_is_said_first() -> None:
    remote = {"remote": GapRanges(1, 7, ((0, 7),))}
    lines = _lines(partition_audit(0, gaps=remote), partition_audit(1, gaps=remote))
    loss = (
        "NOT recovered: 14 offsets in the remote tier only (run seglake replay --source TIER, with "
        "--tiered-key if it is encrypted)"
    )
    assert lines[0].endswith(loss)
    assert lines[2] == f"{loss} in orders-0 [0, 7), orders-1 [0, 7)"


def test_a_long_name_has_a_line_of_its_own() -> None:
    lines = _lines(partition_audit(0, topic="t" * 200), partition_audit(1))
    assert f"{'t' * 200}-0" in lines
    assert all(len(line) < 100 for line in lines if not line.startswith("t"))


def test_a_quiet_audit_names_partitions_with_problems_only() -> None:
    wrong = tuple(problem(FindingKind.MISSING, _PARTITION, 1, ["[3, 4)"]))
    audit = _audit(partition_audit(0), partition_audit(1, problems=wrong))
    names = [line.split()[0] for line in to_text(audit, is_quiet=True).splitlines()]
    assert ("orders-0" in names, "orders-1" in names) == (False, True)
    assert len(to_text(_audit(partition_audit(0)), is_quiet=True).splitlines()) == 2
