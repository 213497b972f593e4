"""What a person reads: the worst first, aligned, and long lists cut with a count."""

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.pipelines.lake_audit.gap_checks import ShownGap
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.partition_audit import LeftAbove, PartitionAudit
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind
from seglake.pipelines.lake_audit.text_report import to_text
from support.partition_audits import partition_audit


def _lines(*partitions: PartitionAudit, notes: tuple[str, ...] = ()) -> list[str]:
    return to_text(LakeAudit("/lake", partitions, (), notes)).splitlines()


def test_a_plain_partition_takes_two_lines() -> None:
    assert _lines(partition_audit(3)) == [
        "/lake: 10 offsets covered in 1 partition, 10 records: every offset is explained",
        "orders-3  covered  [0, 10): 10 offsets = 10 records",
        "          log      log start 0, high watermark 10, last stable offset 10, log end 10",
    ]


def test_the_worst_comes_first() -> None:
    wrong = (Problem(ProblemKind.MISSING, 1, ("[3, 4)",)),)
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
    assert lines[0].endswith("NOT EXPLAINED: see 1 of 5 partitions")
    assert "          PROBLEM  gaps that nothing explains (missing): [3, 4)" in lines
    assert "          left     2 offsets above, [10, 12): who knows" in lines


def test_many_partitions_are_cut_with_a_count() -> None:
    lines = _lines(*(partition_audit(number) for number in range(100)))
    assert lines[-1] == "and 60 more partitions, all explained (--json has them all)"
    assert len(lines) == 82


def test_many_examples_ranges_and_gaps_are_cut_with_a_count() -> None:
    many = Problem(ProblemKind.OFFSET_TWICE, 7, ("offset 1", "offset 2"))
    assert str(many) == "offsets more than once in records: offset 1; offset 2, and 5 more"
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


def test_the_first_line_says_what_is_in_the_remote_tier_only() -> None:
    remote = {"remote": GapRanges(1, 7, ((0, 7),))}
    lines = _lines(partition_audit(0, gaps=remote), partition_audit(1, gaps=remote))
    assert lines[0].endswith("every offset is explained, 14 of them are in the remote tier only")
