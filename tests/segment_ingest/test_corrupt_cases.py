"""Every damaged copy comes out as its bytes and the rules of damage say, no more and no less."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from support.broker_disks import CORRUPT_CASES
from support.cases import cases, every
from support.conversions import DAMAGED_COPIES, Conversions, ingest_damaged
from support.corrupt_outcomes import (
    CorruptOutcome,
    ExpectedDefect,
    ExpectedGap,
    corrupt_outcome,
    outcome_names,
)
from support.found import NOT_INGESTED_YET
from support.lakes import Row, ingested, oracle_record, read_table
from support.oracle import expected_records

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS = -62_135_596_800_000  # year 1
_NEXT_MS = 253_402_300_800_000  # year 10000
_UNEVEN_ENDS = [
    name
    for name in CORRUPT_CASES
    if name.startswith(("torn_write", "truncated", "zero_tail", "garbage_tail", "late_duplicate"))
]
_TORN_ENDS = [
    name for name in CORRUPT_CASES if name.startswith("truncated_") and corrupt_outcome(name).tail
]


@dataclass(frozen=True, slots=True)
class Converted:
    """One case, what is expected of it, and what a run made of it."""

    expected: CorruptOutcome
    summary: IngestSummary
    records: list[Row]
    batches: list[Row]
    quarantine: list[Row]
    gaps: list[Row]
    checkpoints: list[Row]


@pytest.fixture(scope="module", params=DAMAGED_COPIES)
def converted(request: pytest.FixtureRequest, conversions: Conversions) -> Converted:
    made = conversions.of_damaged(request.param)
    names = ("records", "batches", "quarantine", "gaps", "checkpoints")
    tables = (read_table(made.lake, name) for name in names)
    return Converted(corrupt_outcome(request.param), made.summary, *tables)


def test_every_case_has_an_expected_outcome_and_no_other() -> None:
    assert sorted(outcome_names()) == sorted(CORRUPT_CASES)


def test_records_are_the_expected_ones_byte_for_byte(converted: Converted) -> None:
    rows = sorted(converted.records, key=lambda row: int(row["offset"]))
    assert [oracle_record(row) for row in rows] == list(converted.expected.records)
    case = converted.expected.case
    assert {(row["topic"], row["partition"]) for row in rows} <= {(case.topic, case.partition)}


def test_timestamps_are_the_milliseconds_or_null(converted: Converted) -> None:
    for row in converted.records:
        time_ms = row["timestamp_ms"]
        if time_ms is None or time_ms == -1 or not _FIRST_MS <= time_ms < _NEXT_MS:
            assert row["timestamp"] is None
        else:
            assert row["timestamp"] == _EPOCH + timedelta(milliseconds=time_ms)


def test_each_defect_is_one_quarantine_row(converted: Converted) -> None:
    folder = converted.expected.case.folder.name
    found = [
        ExpectedDefect(
            row["segment"].removeprefix(f"{folder}/"),
            row["position"],
            row["length_bytes"],
            row["defect_code"],
        )
        for row in converted.quarantine
    ]
    assert sorted(found) == sorted(converted.expected.defects)


def test_quarantine_keeps_the_damaged_bytes(converted: Converted) -> None:
    for row in converted.quarantine:
        if _is_inside(row):
            assert len(row["raw"]) == row["length_bytes"]
            continue
        log = converted.expected.case.log_dir / row["segment"]
        damaged = log.read_bytes()[row["position"] :][: row["length_bytes"]]
        assert row["raw_is_complete"]
        assert row["raw"] == damaged


def test_each_hole_is_one_gap_with_its_cause(converted: Converted) -> None:
    found = [
        ExpectedGap(row["start_offset"], row["next_offset"], row["cause"]) for row in converted.gaps
    ]
    assert sorted(found) == list(converted.expected.gaps)


def test_one_range_from_zero_is_covered(converted: Converted) -> None:
    ranges = [(row["start_offset"], row["next_offset"]) for row in converted.checkpoints]
    end = converted.expected.next_offset  # an empty range there stands for damage behind it
    assert [offsets for offsets in ranges if offsets != (end, end)] == [(0, end)]
    is_missing = any(gap.cause == "missing" for gap in converted.expected.gaps)
    is_cut_off = converted.expected.case.name.startswith("truncated_") and (
        converted.expected.is_more_left
    )
    has_bad_files = converted.expected.case.name.startswith(("checkpoints_garbage", "stray_files"))
    needs_a_look = is_missing or is_cut_off or has_bad_files or converted.expected.defects
    assert converted.summary.exit_code == (3 if needs_a_look else 0)
    assert bool(converted.summary.findings.of(FindingKind.NOT_ON_DISK)) == is_cut_off


def test_every_covered_offset_lies_in_one_batch_or_one_gap(converted: Converted) -> None:
    spans = [range(row["base_offset"], row["last_offset"] + 1) for row in converted.batches]
    spans += [range(row["start_offset"], row["next_offset"]) for row in converted.gaps]
    met = Counter(offset for span in spans for offset in span)
    assert met == Counter(range(converted.expected.next_offset))


def test_the_equation_of_the_tables_holds(converted: Converted) -> None:
    """covered = records + other batches' spans + what lacks in decoded ones + gaps."""
    decoded = [row for row in converted.batches if row["state"] == "decoded"]
    others = [row for row in converted.batches if row["state"] != "decoded"]
    lacking = sum(_span(row) - row["row_count"] for row in decoded)
    gaps = sum(row["next_offset"] - row["start_offset"] for row in converted.gaps)
    records = len(converted.records)
    covered = records + sum(_span(row) for row in others) + lacking + gaps
    assert covered == converted.expected.next_offset
    assert sum(row["row_count"] for row in decoded) == records


def test_the_ledger_counts_what_the_tables_hold(converted: Converted) -> None:
    def total(column: str) -> int:
        return sum(int(row[column]) for row in converted.checkpoints)

    assert total("records") == len(converted.records)
    assert total("batches") == len(converted.batches)
    assert total("quarantined_batches") == len(converted.quarantine)
    assert total("offset_sum") == sum(record["offset"] for record in converted.records)
    assert total("key_bytes") == sum(len(record["key"] or b"") for record in converted.records)
    assert total("value_bytes") == sum(len(record["value"] or b"") for record in converted.records)


def test_every_byte_is_a_batch_or_a_defect_or_a_tail(converted: Converted) -> None:
    expected = converted.expected
    case = expected.case
    taken: dict[str, set[tuple[int, int]]] = {}  # parts of a batch lie at the same place
    for row in converted.batches:
        taken.setdefault(row["segment"], set()).add((row["position"], row["size_bytes"]))
    for row in converted.quarantine:
        if not _is_inside(row):
            taken.setdefault(row["segment"], set()).add((row["position"], row["length_bytes"]))
    for closed_tail in expected.closed_tails:
        taken[f"{case.folder.name}/{closed_tail.segment}"].add(
            (closed_tail.position, closed_tail.length_bytes)
        )
    segments = list(_read_segments(expected))
    assert taken.keys() <= set(segments)
    for segment in segments:
        position = 0
        for start, size_bytes in sorted(taken.get(segment, ())):
            assert start == position, segment
            position = start + size_bytes
        size_on_disk = (case.log_dir / segment).stat().st_size
        is_cut = segment == segments[-1] and (expected.tail or expected.is_more_left)
        assert position < size_on_disk if is_cut else position == size_on_disk, segment


def _is_inside(row: Row) -> bool:
    """Whether what is quarantined lies inside of a compressed batch of an old format."""
    return row["magic"] in (0, 1) and row["codec"] is not None


def test_the_summary_names_the_tail(converted: Converted) -> None:
    expected = converted.expected
    tails = [
        left.text
        for left in converted.summary.findings.of(*NOT_INGESTED_YET)
        if "tail" in left.text
    ]
    assert [expected.tail in reason for reason in tails if expected.tail] == [True] * len(tails)
    assert bool(tails) == (expected.tail not in (None, "tail_zero"))  # of zeros nothing is wanted


def test_the_summary_names_zeros_behind_an_earlier_segment(converted: Converted) -> None:
    notes = [note for note in converted.summary.notes if "zero bytes" in note]
    for tail, note in zip(converted.expected.closed_tails, notes, strict=True):
        assert tail.segment in note
        assert str(tail.length_bytes) in note


@pytest.mark.parametrize("name", cases(_UNEVEN_ENDS, telling=every(6, _UNEVEN_ENDS)))
def test_a_second_run_finds_nothing_new_behind_an_uneven_end(name: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest_damaged(name, lake)
    before = {table: read_table(lake, table) for table in ("quarantine", "gaps")}
    again = ingest_damaged(name, lake)
    assert again.planned.tasks == 0
    assert again.topics == []
    assert before == {table: read_table(lake, table) for table in before}


@pytest.mark.parametrize("name", cases(_TORN_ENDS, telling=every(4, _TORN_ENDS)))
def test_what_a_torn_end_left_is_taken_once_the_disk_is_whole(name: str, tmp_path: Path) -> None:
    expected = corrupt_outcome(name)
    case = expected.case
    log_dir, lake = tmp_path / "data", tmp_path / "lake"
    shutil.copytree(case.log_dir, log_dir)
    ingested(log_dir, lake)
    shutil.copytree(case.source_folder, log_dir / case.folder.name, dirs_exist_ok=True)
    ingested(log_dir, lake)
    rows = sorted(read_table(lake, "records"), key=lambda row: int(row["offset"]))
    whole = expected_records(case.source_scenario, case.source_copy, case.topic, case.partition)
    assert [oracle_record(row) for row in rows] == whole
    assert read_table(lake, "gaps") == []
    assert read_table(lake, "quarantine") == []


def _span(batch: Row) -> int:
    return int(batch["last_offset"]) + 1 - int(batch["base_offset"])


def _read_segments(expected: CorruptOutcome) -> Iterator[str]:
    """The segments to read, in order; a finished .swap stands for those it replaces."""
    folder = expected.case.folder
    logs = sorted(path for path in folder.glob("0*.log") if path.is_file())
    swaps = sorted(folder.glob("*.log.swap"))
    for path in swaps or logs:
        yield f"{folder.name}/{path.name}"
