"""Damaged batches that still decode give untrusted rows in a table of their own, once."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from seglake.ingest_steps.repair.salvaged import Salvaged
from seglake.lake import appends
from seglake.lake.table_commit import add_files
from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
from support.audits import audited
from support.broker_disks import CORRUPT_CASES
from support.cases import cases
from support.corrupt_cases import corrupt_case
from support.dying import Died, dying
from support.lakes import Row, ingested, maintained, oracle_record, read_table, replayed
from support.made_logs import make_log_dir, value_of
from support.oracle import OracleRecord, expected_records
from support.reports import reported
from support.views import viewed

EDGES = {("orders", 0): [0, 20, 40]}
SALVAGE = {"salvage": True}
CASES = [name for name in CORRUPT_CASES if name.startswith(("flip_crc", "flip_payload"))]
GZIP = ("flip_payload__v0-gzip", "flip_payload__v2-gzip")  # gzip has a checksum of its own
TELLING = {"flip_crc__v0-gzip", "flip_payload__v1-none", "flip_payload__v2-none"}


def salvaged_rows(lake: Path) -> list[Row]:
    return sorted(read_table(lake, "salvaged_records"), key=lambda row: row["offset"])


def standing(lake: Path) -> list[int]:
    """The offsets of the view."""
    rows = viewed(lake, 'SELECT "offset" FROM current_salvaged_records ORDER BY "offset"')
    return [row["offset"] for row in rows]


def offsets_in(lake: Path, table: str) -> list[int]:
    return sorted(row["offset"] for row in read_table(lake, table))


def flip(log: Path, position: int, bit: int = 0) -> None:
    content = bytearray(log.read_bytes())
    content[position] ^= 1 << bit
    log.write_bytes(content)


def damaged_disk(folder: Path, *, broker_id: int = 1) -> Path:
    """Offsets 0 to 39; a bit of the value at offset 38 is flipped, in the batch of 35 to 39."""
    disk = make_log_dir(folder, EDGES, broker_id=broker_id)
    log = disk / "orders-0" / f"{20:020}.log"
    flip(log, log.read_bytes().index(value_of("orders", 0, 38)))
    return disk


@pytest.mark.parametrize("name", cases(CASES, telling=TELLING))
def test_damaged_disk_gives_the_records_that_were_written_but_for_the_flipped_bit(
    name: str, tmp_path: Path
) -> None:
    case, lake = corrupt_case(name), tmp_path / "lake"
    summary = ingested(case.log_dir, lake, read=SALVAGE)
    found = salvaged_rows(lake)
    lost = [offset for offsets in case.lost_offsets for offset in offsets]
    if name in GZIP:
        assert (found, summary.salvaged.refused) == ([], {"decompression_failed": 1})
        return
    assert [row["offset"] for row in found] == lost
    every = expected_records(case.source_scenario, case.source_copy, case.topic, case.partition)
    sound = {record.offset: record for record in every}
    for row in found:
        record, original = oracle_record(row), sound[row["offset"]]
        assert row["is_damaged"] == (record != original)
        assert without_one_field(record, original, row) == original
    (change,) = case.changes
    (quarantined,) = read_table(lake, "quarantine")
    assert {row["position"] + row["damage_position"] for row in found} == {change.position}
    assert {row["damage"] for row in found} == {
        "crc_field" if name.startswith("flip_crc") else "single_bit"
    }
    assert {row["raw_sha256"] for row in found} == {quarantined["raw_sha256"]}
    assert not set(lost) & set(offsets_in(lake, "records"))


def without_one_field(record: OracleRecord, original: OracleRecord, row: Row) -> OracleRecord:
    """The record with the field that the damage changed as it was."""
    if not row["is_damaged"]:
        return record
    field = str(row["damage_field"])
    here, there = getattr(record, field), getattr(original, field)
    if isinstance(here, bytes) and len(here) == len(there):
        # Of a compressed batch one flipped bit may be copied to several places.
        flips = sum((a ^ b).bit_count() for a, b in zip(here, there, strict=True))
        assert flips == 1 or "none" not in row["topic"]
    return record._replace(**{field: there})


@pytest.mark.parametrize(
    ("name", "offset", "timestamp_ms", "timestamp_type"),
    [("inner_crc_bad__v0", 207, None, -1), ("inner_crc_bad__v1", 110, 1_700_000_000_000, None)],
)
def test_message_inside_of_a_set_is_salvaged_alone(
    name: str, offset: int, timestamp_ms: int | None, timestamp_type: int | None, tmp_path: Path
) -> None:
    """The message was made by hand, with one wrong bit in its checksum."""
    case, lake = corrupt_case(name), tmp_path / "lake"
    ingested(case.log_dir, lake, read=SALVAGE)
    (row,) = salvaged_rows(lake)
    assert (row["offset"], row["key"], row["value"]) == (offset, None, b"made-1")
    assert (row["timestamp_ms"], row["timestampType"]) == (timestamp_ms, timestamp_type)
    assert (row["defect_code"], row["damage"]) == ("inner_crc_mismatch", "crc_field")
    assert row["is_damaged"] is False
    assert offset not in offsets_in(lake, "records")


def test_nothing_changes_without_the_setting(tmp_path: Path) -> None:
    disk, plain, lake = damaged_disk(tmp_path / "disk"), tmp_path / "plain", tmp_path / "lake"
    summary = ingested(disk, plain)
    assert read_table(plain, "salvaged_records") == []
    assert summary.salvaged == Salvaged()
    assert "salvaged" not in summary.to_text()
    ingested(disk, lake, read=SALVAGE)
    for table in ("records", "batches", "gaps"):
        assert len(read_table(lake, table)) == len(read_table(plain, table))
    assert offsets_in(lake, "records") == offsets_in(plain, "records") == [*range(35)]


def test_rows_say_where_the_damage_lies_and_lead_to_quarantine(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    summary = ingested(damaged_disk(tmp_path / "disk"), lake, read=SALVAGE)
    assert [(row["offset"], row["is_damaged"]) for row in salvaged_rows(lake)] == [
        *((offset, False) for offset in range(35, 38)),
        (38, True),
        (39, False),
    ]
    rows = viewed(
        lake,
        "SELECT is_trusted, damage, damage_field, damage_bit, transaction_state, defect_code,"
        " count(*) AS n FROM current_salvaged_records JOIN quarantine"
        " USING (source_id, topic, partition, broker_id, segment, position, raw_sha256,"
        " generation, defect_code) GROUP BY ALL",
    )
    assert rows == [
        {
            "is_trusted": False,
            "damage": "single_bit",
            "damage_field": "value",
            "damage_bit": 0,
            "transaction_state": "none",
            "defect_code": "crc_mismatch",
            "n": 5,
        }
    ]
    assert (
        "salvaged: 5 records of 1 quarantined batch in orders-0 (5); they are in "
        "salvaged_records (the column damage says what may be wrong), not in records"
    ) in summary.to_text()


def test_what_an_earlier_run_quarantined_is_salvaged_by_a_replay_and_once(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake)
    replayed(lake)
    assert salvaged_rows(lake) == []
    assert sum(replayed(lake, read=SALVAGE).salvaged.records.values()) == 5
    for again in (replayed(lake, read=SALVAGE), ingested(tmp_path / "disk", lake, read=SALVAGE)):
        assert again.salvaged == Salvaged()
    assert standing(lake) == offsets_in(lake, "salvaged_records") == [*range(35, 40)]


def test_report_and_audit_say_how_many_were_salvaged(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake, read=SALVAGE)
    (partition,) = reported(lake).partitions
    (place,) = partition.damage
    assert (place.salvaged_records, partition.records) == (5, 35)
    assert (
        "salvaged: 5 records of 1 quarantined batch, in salvaged_records "
        "(damage: what may be wrong) and nowhere else"
    ) in to_text(audited(lake))


def test_dry_run_salvages_nothing(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake)
    planned = replayed(lake, read=SALVAGE, dry_run=True).salvaged
    assert (planned.batches, planned.records) == ({}, {})
    assert salvaged_rows(lake) == []


def test_topics_that_are_not_selected_are_not_salvaged(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake)
    ingested(make_log_dir(tmp_path / "other", {("payments", 0): [0, 5]}), lake)
    replayed(lake, read=SALVAGE, select={"topics": ["payments"]})
    assert salvaged_rows(lake) == []


def test_records_of_a_sound_replica_take_the_place_of_salvaged_ones(tmp_path: Path) -> None:
    lake, two = tmp_path / "lake", make_log_dir(tmp_path / "two", EDGES, broker_id=2)
    ingested(damaged_disk(tmp_path / "disk"), lake, read=SALVAGE)
    assert standing(lake) == [*range(35, 40)]
    assert replayed(lake, two, read=SALVAGE).repaired_records == 5
    assert standing(lake) == []
    assert offsets_in(lake, "records") == [*range(40)]
    assert replayed(lake, read=SALVAGE).salvaged == Salvaged()
    assert audited(lake).problem_count == 0


def test_batches_that_a_replica_of_the_same_run_fills_are_not_salvaged(tmp_path: Path) -> None:
    """Both replicas are damaged, and each has what the other lacks."""
    two = make_log_dir(tmp_path / "two", EDGES, broker_id=2)
    log = two / "orders-0" / f"{0:020}.log"
    flip(log, log.read_bytes().index(value_of("orders", 0, 7)))
    lake = tmp_path / "lake"
    summary = ingested([damaged_disk(tmp_path / "one"), two], lake, read=SALVAGE)
    assert len(read_table(lake, "quarantine")) == 2
    assert (summary.salvaged, salvaged_rows(lake)) == (Salvaged(), [])
    assert offsets_in(lake, "records") == [*range(40)]


def test_offsets_that_came_into_the_tables_leave_the_view_while_the_rest_stands(
    tmp_path: Path,
) -> None:
    """Two damaged batches between the same sound ones; another replica has one of them."""
    one, two = (make_log_dir(tmp_path / f"{i}", EDGES, broker_id=i) for i in (1, 2))
    for disk, offsets in ((one, (25, 30)), (two, (25,))):
        log = disk / "orders-0" / f"{20:020}.log"
        for offset in offsets:
            flip(log, log.read_bytes().index(value_of("orders", 0, offset)))
    lake = tmp_path / "lake"
    ingested(one, lake, read=SALVAGE)
    assert standing(lake) == [*range(25, 35)]
    replayed(lake, two)
    assert standing(lake) == [*range(25, 30)]
    assert offsets_in(lake, "records") == [*range(25), *range(30, 40)]


@pytest.mark.parametrize("step", ["files", "salvaged_records"])
def test_run_that_dies_is_made_up_for_by_the_next(step: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake)
    with pytest.raises(Died):
        replayed(lake, read=SALVAGE, after=dying(step))
    replayed(lake, read=SALVAGE)
    assert offsets_in(lake, "salvaged_records") == [*range(35, 40)]


def test_two_runs_at_once_salvage_a_batch_once(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    others: list[ReplaySummary] = []
    ingested(damaged_disk(tmp_path / "disk"), lake)

    def another(step: str) -> None:
        if step == "files" and not others:
            others.append(replayed(lake, read=SALVAGE))

    summary = replayed(lake, read=SALVAGE, after=another)
    assert summary.salvaged == Salvaged()
    assert sum(others[0].salvaged.records.values()) == 5
    assert offsets_in(lake, "salvaged_records") == [*range(35, 40)]


def answers_lost(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> list[str]:
    """Make the first append happen, and tell the run that it failed.

    Args:
        meanwhile: what happens before the run looks again.
    """
    failures: list[str] = []

    def lost(*arguments: Any, **named: Any) -> str:
        failure = add_files(*arguments, **named)
        if failures:
            return failure
        failures.append("the answer was lost")
        meanwhile()
        return failures[0]

    monkeypatch.setattr(appends, "add_files", lost)
    return failures


@pytest.mark.parametrize("meanwhile", [maintained, audited])
def test_what_is_salvaged_is_said_though_the_commits_answer_is_lost(
    meanwhile: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    disk = damaged_disk(tmp_path / "disk")
    ingested(disk, lake, read=SALVAGE)
    other = make_log_dir(tmp_path / "other", {("payments", 0): [0, 5, 10]})
    log = other / "payments-0" / f"{0:020}.log"
    flip(log, log.read_bytes().index(value_of("payments", 0, 1)))
    failures = answers_lost(monkeypatch, lambda: meanwhile(lake))
    summary = ingested(other, lake, read=SALVAGE)
    assert failures == ["the answer was lost"]
    assert summary.salvaged.records == {"payments-0": 5}
    assert "salvaged: 5 records" in summary.to_text()
    assert len(salvaged_rows(lake)) == 10


def test_bytes_that_are_not_kept_whole_are_named(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    summary = ingested(
        damaged_disk(tmp_path / "disk"), lake, read=SALVAGE, quarantine={"max_raw_bytes": 64}
    )
    assert salvaged_rows(lake) == []
    assert (
        "not salvaged: 1 quarantined batch kept only in part: raise quarantine.max_raw_bytes and "
        "ingest again (damaged batches into a new lake)"
    ) in summary.to_text()


def test_offsets_of_sound_neighbours_are_refused(tmp_path: Path) -> None:
    """No checksum covers the base offset: here it is damaged, too."""
    disk = damaged_disk(tmp_path / "disk")
    log = disk / "orders-0" / f"{20:020}.log"
    content = log.read_bytes()
    start = content.index((35).to_bytes(8, "big"))
    log.write_bytes(content[:start] + (24).to_bytes(8, "big") + content[start + 8 :])
    lake = tmp_path / "lake"
    summary = ingested(disk, lake, read=SALVAGE)
    assert (salvaged_rows(lake), sum(summary.salvaged.refused.values())) == ([], 1)


def test_table_keeps_its_rows_when_it_is_maintained(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake, read=SALVAGE)
    disk = make_log_dir(tmp_path / "other", {("payments", 0): [0, 5, 10]})
    log = disk / "payments-0" / f"{0:020}.log"
    flip(log, log.read_bytes().index(value_of("payments", 0, 1)))
    ingested(disk, lake, read=SALVAGE)
    before = salvaged_rows(lake)
    maintained(lake)
    assert salvaged_rows(lake) == before
    assert len(DeltaTable(str(lake / "salvaged_records")).file_uris()) == 1


def test_replay_makes_the_table_in_a_lake_that_lacks_it(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(damaged_disk(tmp_path / "disk"), lake)
    shutil.rmtree(lake / "salvaged_records")
    replayed(lake, read=SALVAGE)
    assert standing(lake) == [*range(35, 40)]
