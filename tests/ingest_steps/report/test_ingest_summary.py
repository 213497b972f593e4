"""What a person reads at the end of a run, and when somebody has to look."""

import json
from pathlib import Path

import pytest

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import Loss, NoLoss
from seglake.findings.recovery import PartitionRecovery, Recovery
from seglake.ingest_steps.committing.concurrent_ranges import (
    ConcurrentRange,
    concurrent_findings,
)
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.report.planned_ranges import PlannedRange
from seglake.ingest_steps.report.run_findings import short_log_finding
from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.replica import EndClaim, PartitionKey
from seglake.kafka_log.short_logs import ShortLog
from seglake.log_tables.ledger_layers import RangeKind
from seglake.printable import show_bytes
from support.encoder import Partition, Segment
from support.faults import bad_crc, batch
from support.found import NOT_INGESTED_YET
from support.lakes import ingested
from support.made_logs import make_log_dir, write_over
from support.summaries import made_summary


def test_a_run_without_news_says_so() -> None:
    text = made_summary(partitions=3, seconds=0.25).to_text()
    assert text == "nothing new in 3 partitions of source (0.2 s)"


def test_one_thing_is_not_spoken_of_as_many() -> None:
    assert made_summary(partitions=1).to_text() == "nothing new in 1 partition of source (0.0 s)"
    planned = {"is_dry_run": True, "planned_offsets": 1, "partitions": 1, "tasks": 1}
    assert made_summary(**planned).to_text() == (
        "dry run: 1 offset in 0 B of 0 of 1 partition would be ingested in 1 task; "
        "nothing was written or recorded"
    )
    facts = {
        "partitions": 1,
        "ingested_partitions": {"a-0"},
        "topics": ["a"],
        "records": 1,
        "batches": 1,
    }
    lost = _recovery("a-0", 1, {Loss.MISSING: GapRanges(1, 1, ((7, 8),))})
    assert made_summary(**facts, recovery=Recovery((lost,))).to_text().splitlines() == [
        "1 record in 1 batch from 1 of 1 partition of source: 0 B read, 0 B written, 0.0 s, 0 B/s",
        "NOT recovered: 1 offset missing without a known cause in a-0 [7, 8)",
    ]


def test_the_partitions_with_the_most_damage_are_named() -> None:
    facts = {"quarantined": 8, "defects": {"crc_mismatch": 8}, "quarantined_bytes": 10}
    damaged = {"orders-1": 1, "orders-3": 2}
    line = made_summary(**facts, damaged=damaged).to_text().splitlines()[1]
    assert line == "quarantined: 8 crc_mismatch (10 B) in orders-3 (2), orders-1 (1)"
    damaged = {"b-0": 1, "a-0": 1, "c-0": 4, "d-0": 1, "e-0": 1}
    line = made_summary(**facts, damaged=damaged).to_text().splitlines()[1]
    assert line.endswith(" in c-0 (4), a-0 (1), b-0 (1) and 2 more")


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (batch(10).data[:-1], "tail_torn (a batch that is incomplete at the end of the file)"),
        (
            bad_crc(batch(10)).data,
            "tail_unflushed (a batch with a wrong checksum, above the high watermark)",
        ),
    ],
)
def test_how_a_log_ends_is_said_in_plain_words(
    end: bytes, said: str, data: Path, lake: Path
) -> None:
    make_log_dir(data, {("orders", 0): [0, 10]})
    with (data / "orders-0" / f"{0:020d}.log").open("ab") as file:
        file.write(end)
    (left,) = ingested(data, lake).findings.of(*NOT_INGESTED_YET)
    assert left.text == f"orders-0: the last segment ends in {said}"


def test_the_summary_counts_damage_by_partition(data: Path, lake: Path) -> None:
    segments = [Segment(0, [batch(0), bad_crc(batch(2)), batch(4)])]
    write_over(data, [Partition("orders", number, segments) for number in range(2)])
    summary = ingested(data, lake)
    assert summary.damaged == {"orders-0": 1, "orders-1": 1}


def test_the_headline_has_the_counts() -> None:
    text = made_summary(
        partitions=3,
        partitions_with_news=2,
        ingested_partitions={"a-0", "a-1"},
        topics=["a"],
        records=10,
        batches=4,
        read_bytes=3 << 20,
        written_bytes=1 << 20,
        seconds=1.5,
        recovery=Recovery(tuple(_recovery(f"a-{n}", 5 * (n < 2), {}) for n in range(3))),
    ).to_text()
    assert text.splitlines()[0] == (
        "10 records in 4 batches from 2 of 3 partitions of source: 3.0 MiB read, 1.0 MiB written, "
        "1.5 s, 2.0 MiB/s"
    )


def test_a_dry_run_says_what_would_be_taken() -> None:
    text = made_summary(
        is_dry_run=True, planned_offsets=9, planned_bytes=100, partitions=2, tasks=1
    ).to_text()
    assert text.startswith("dry run: 9 offsets in 100 B of 0 of 2 partitions would be ingested")


def test_a_dry_run_lists_ten_partitions_and_all_with_v() -> None:
    ranges = [PlannedRange(f"orders-{number}", 0, 9, 100) for number in range(12)]
    summary = made_summary(is_dry_run=True, planned_ranges=ranges)
    lines = summary.to_text().splitlines()
    assert lines[10:] == [
        "would be ingested: orders-9 [0, 9) (100 B)",
        "would be ingested: … and 2 more (all of them with -v or --json)",
    ]
    assert len(summary.to_text(is_verbose=True).splitlines()) == 13


def _recovery(name: str, records: int, lost: dict[Loss, GapRanges]) -> PartitionRecovery:
    return PartitionRecovery(name=name, records=records, lost=lost)


def _summary_with_everything() -> IngestSummary:
    return made_summary(
        recovered_topics=["a"],
        quarantined=3,
        quarantined_bytes=2048,
        defects={"crc_mismatch": 2, "bad_length": 1},
        damaged={"a-0": 3},
        repaired={"a-0": GapRanges(2, 5, ((5, 9), (20, 21)))},
        repaired_gaps=2,
        repaired_records=5,
        recovery=Recovery(
            (
                _recovery("a-0", 7, {Loss.MISSING: GapRanges(2, 7, ((10, 12), (30, 35)))}),
                _recovery("b-0", 7, {Loss.MISSING: GapRanges(1, 1, ((3, 4),))}),
                _recovery("t-0", 0, {Loss.REMOTE: GapRanges(1, 90, ((0, 90),))}),
                *(_recovery(f"e-{n}", 0, {}) for n in range(5)),
                PartitionRecovery(name="c-0", records=9, no_loss={NoLoss.COMPACTED: 88}),
            )
        ),
        topics=["a"],
        odd_rows={"open_rows": {"a-0": 2, "b-0": 3}, "replaced_header_names": {"a-0": 1}},
        findings=[
            Finding(FindingKind.NOTE, "a note"),
            Finding(FindingKind.WAITING, "a-0: it waits"),
            Finding(FindingKind.UNLISTED_TAIL, "a-0: offsets [9, 13)"),
            *concurrent_findings(
                [
                    ConcurrentRange("a-0", 10, 72, RangeKind.INGEST, "other"),
                    ConcurrentRange("a-0", 2, 3, RangeKind.REPAIR, "other"),
                    ConcurrentRange("a-0", 5, 7, RangeKind.REFILL, "other"),
                ]
            ),
            Finding(FindingKind.LEFT_OUT, "a-1: it is gone", "a-1"),
        ],
    )


def test_everything_a_person_should_know_has_a_line() -> None:
    summary = _summary_with_everything()
    assert summary.to_text().splitlines()[1:] == [
        "completed the commit of an earlier run for a",
        "quarantined: 1 bad_length, 2 crc_mismatch (2.0 KiB) in a-0 (3)",
        "filled from these sources: 5 records in 2 gaps in a-0 (2 ranges, the largest [5, 9))",
        "NOT recovered: 8 offsets missing without a known cause in a-0 (2 ranges, the largest "
        "[30, 35)), b-0 [3, 4)",
        "NOT recovered: 90 offsets in the remote tier only (run seglake replay --source TIER,"
        " with --tiered-key if it is encrypted)"
        " in t-0 [0, 90)",
        "no loss: 88 offsets compacted",
        "no record from 6 of 9 partitions: in the remote tier only (run seglake replay --source"
        " TIER, with --tiered-key if it is encrypted): t-0; empty: e-0, e-1, e-2 and 2 more",
        "rows of transactions that have not ended: 5 in b-0 (3), a-0 (2)",
        "header names that are not UTF-8: 1 in a-0 (1)",
        "left out: a-1: it is gone",
        "lost an election: a-0: offsets [9, 13)",
        "not ingested yet: a-0: it waits",
        "a concurrent run ingested: 62 offsets in a-0 (62) (run id other)",
        "a concurrent run filled: 3 offsets in a-0 (3) (run id other)",
        "note: a note",
    ]
    assert summary.exit_code == 3


def test_long_lists_are_cut_for_a_person_and_whole_for_a_machine() -> None:
    summary = made_summary(findings=[Finding(FindingKind.NOTE, f"note {n}") for n in range(30)])
    lines = summary.to_text().splitlines()
    assert len(lines) == 22
    assert lines[-1] == "note: … and 10 more (all of them with --json)"
    (line,) = summary.to_json().splitlines()
    assert len(json.loads(line)["findings"]) == json.loads(line)["findings_by_kind"]["note"] == 30
    assert json.loads(line)["exit_code"] == 0


_SHORT = ShortLog(
    PartitionKey("a", 0, None), "/disk/a-0", ((5, 7),), EndClaim(7, "a file"), "the log ends at 5"
)


def test_a_limit_that_is_crossed_ends_with_exit_code_3() -> None:
    kind = FindingKind.LIMIT_CROSSED
    crossed = made_summary(findings=[Finding(kind, "limits.x: 2 offsets")])
    assert (crossed.exit_code, made_summary().exit_code) == (3, 0)
    assert "limit crossed: limits.x: 2 offsets" in crossed.to_text().splitlines()


def test_a_machine_is_told_every_gap_and_every_log_that_is_too_short() -> None:
    ranges = tuple((start, start + 1) for start in range(0, 100, 2))
    gaps = {"missing": {f"a-{number}": GapRanges(50, 50, ranges) for number in range(30)}}
    summary = made_summary(gaps=gaps, findings=[short_log_finding(_SHORT)])
    facts = json.loads(summary.to_json())
    assert len(facts["gaps"]["missing"]) == 30
    assert facts["gaps"]["missing"]["a-7"] == {
        "gaps": 50,
        "offsets": 50,
        "ranges": [list(offsets) for offsets in ranges],
    }
    (short,) = facts["findings"]
    assert (short["place"], short["ranges"]) == ("a-0", [[5, 7]])
    assert "not on disk: a-0: [5, 7): a file says 7, the log ends at 5" in summary.to_text()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 << 20, "5.0 MiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 50, "1024.0 TiB"),
    ],
)
def test_bytes_are_shown_in_units(count: int, text: str) -> None:
    assert show_bytes(count) == text
