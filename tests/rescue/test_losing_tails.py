"""What only replicas have that lost an election: in quarantine in the same run, each batch once."""

from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.findings.losing_tails import LosingTailKind, tail_lines, tails_of
from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_report.commands import command_for
from seglake.task_engine.engine import Engine
from support.audits import audited
from support.broker_disks import log_dir
from support.dumps import DumpBatch
from support.elected_logs import ElectedLog, Written, plain
from support.encoder import Codec
from support.found import conflicts
from support.lakes import ingested, read_table, replayed
from support.losing_logs import (
    COMMON,
    DEAD,
    LOSER,
    WINNER,
    assert_sound,
    batches_of,
    disks_of,
    places,
    salvaged,
)
from support.oracle import partition_dump
from support.reports import reported


def test_a_tail_above_the_winners_end_is_in_quarantine_in_the_same_run(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER)
    summary = ingested(disks, lake, engine=engine, read=DEAD)
    assert summary.exit_code == 0
    assert places(lake) == batches_of(LOSER, 20)
    assert summary.findings.of(FindingKind.UNLISTED_TAIL) == []
    assert {row["base_offset"] for row in read_table(lake, "batches")} == {0, 5, 10, 15, 20, 25}
    assert_sound(lake, disks)
    again = ingested(disks, lake, engine=engine, read=DEAD)
    assert (again.exit_code, conflicts(again)) == (0, {})
    assert places(lake) == batches_of(LOSER, 20)


def test_a_loser_that_comes_alone_says_what_it_has_above_the_lake(
    tmp_path: Path, lake: Path
) -> None:
    winner, loser = disks_of(tmp_path, WINNER, LOSER)
    ingested(winner, lake)
    summary = ingested(loser, lake)
    (left,) = summary.findings.of(FindingKind.UNLISTED_TAIL)
    assert left.ranges == ((30, 45),)
    assert "(up to 15 records), which are not in the log that won" in left.text
    assert left.text in summary.to_text()
    again = ingested(loser, lake, read=DEAD)
    assert again.findings.of(FindingKind.UNLISTED_TAIL) == []
    assert places(lake) == batches_of(LOSER, 20)


def test_up_to_the_high_watermark_the_tail_waits_and_the_summary_says_how_to_get_it(
    tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER)
    summary = ingested(disks, lake)
    (left,) = summary.findings.of(FindingKind.UNLISTED_TAIL)
    assert left.ranges == ((30, 45),)
    assert left.text.endswith("or with --upper-bound log_end")
    assert places(lake) == batches_of(LOSER, 20)[:2]
    ingested(disks, lake, read=DEAD)
    assert places(lake) == batches_of(LOSER, 20)
    assert conflicts(ingested(disks, lake)) == {}
    assert places(lake) == batches_of(LOSER, 20)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD, Codec.LZ4])
def test_batches_of_any_kind_come_with_all_of_their_bytes(
    codec: Codec, tmp_path: Path, lake: Path
) -> None:
    tail = [
        *(Written(1, 3, producer_id=7), Written(1, 400, codec=codec)),
        *(Written(1, 1, producer_id=7, end="commit"), Written(1, 2, codec=codec)),
    ]
    loser = ElectedLog.of(*COMMON, *tail, value_bytes=3000)
    winner = WINNER._replace(value_bytes=3000)
    disks = disks_of(tmp_path, winner, loser, bases=(0, 20, 424))
    ingested(disks, lake, read=DEAD, quarantine={"max_raw_bytes": "64MiB"})
    assert places(lake) == batches_of(loser, 20)
    assert_sound(lake, disks)


def test_a_batch_is_listed_again_only_with_more_of_its_bytes(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER)
    for kept, rows in ((10, 5), (10, 5), (1 << 20, 10), (10, 10), (1 << 20, 10)):
        ingested(disks, lake, read=DEAD, quarantine={"max_raw_bytes": kept})
        assert len(read_table(lake, "quarantine")) == rows
    assert_sound(lake, disks)
    other = tmp_path / "other"
    for kept in (1 << 20, 10):
        ingested(disks, other, read=DEAD, quarantine={"max_raw_bytes": kept})
        assert len(read_table(other, "quarantine")) == 5


def test_several_losers_each_give_what_no_other_has(tmp_path: Path, lake: Path) -> None:
    fork = ElectedLog.of(*COMMON, *plain(1, 3), *plain(3, 2))
    other = ElectedLog.of(*COMMON[:2], *plain(4, 9, size=7))
    winner = ElectedLog.of(*COMMON, *plain(5, 1))
    disks = disks_of(tmp_path, winner, LOSER, LOSER, fork, other)
    ingested(disks, lake, read=DEAD)
    expected = {
        (first, last, log.value(epoch, first))
        for log, start in ((LOSER, 20), (fork, 20), (other, 10))
        for (first, last), epoch in zip(
            batches_of(log, start),
            (each.epoch for first, each in log.placed() if first >= start),
            strict=True,
        )
    }
    rows = read_table(lake, "quarantine")
    assert len(rows) == len(expected)
    assert sorted((row["base_offset"], row["last_offset"]) for row in rows) == sorted(
        (first, last) for first, last, _ in expected
    )
    assert_sound(lake, disks)


@pytest.mark.parametrize("bound", ["high_watermark", "log_end"])
def test_a_loser_that_comes_later_ends_in_quarantine_whole(
    bound: str, tmp_path: Path, lake: Path
) -> None:
    winner, loser = disks_of(tmp_path, WINNER, LOSER)
    ingested(winner, lake, read={"upper_bound": bound})
    summary = ingested(loser, lake, read=DEAD)
    assert summary.findings.of(FindingKind.SUPERSEDED) == []
    assert places(lake) == batches_of(LOSER, 20)
    assert_sound(lake, [winner, loser])


def test_a_winner_that_comes_later_leaves_the_losers_rows_as_history(
    tmp_path: Path, lake: Path
) -> None:
    winner, loser = disks_of(tmp_path, WINNER, LOSER)
    ingested(loser, lake, read=DEAD)
    summary = ingested([winner, loser], lake, read=DEAD)
    assert summary.exit_code == 3
    values = {row["value"] for row in read_table(lake, "records")}
    assert {value for _, value in LOSER.consumed()} <= values
    assert places(lake) == batches_of(WINNER, 20)


def test_a_dry_run_counts_the_tail_and_writes_nothing(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER)
    planned = ingested(disks, lake, read=DEAD, dry_run=True)
    assert sum(count.lost for count in conflicts(planned).values()) == 5
    assert not lake.exists()


def test_real_brokers_tails_are_in_quarantine_once_though_two_disks_have_them(lake: Path) -> None:
    disks = [log_dir("08_replicas", "diverged", f"broker{n}") for n in range(3)]
    ingested(disks, lake, read=DEAD)
    rows = [row for row in read_table(lake, "quarantine") if row["topic"] == "rep"]
    assert len({(row["partition"], row["raw_sha256"]) for row in rows}) == len(rows) > 6
    assert_sound(lake, disks)


def said_of_tails(kind: str, *parts: str) -> str:
    return f"in quarantine, not in records: {kind} that lost an election in {', '.join(parts)}; `"


def test_ingest_audit_and_report_say_what_only_real_brokers_losing_replicas_have(
    lake: Path, engine: Engine
) -> None:
    """Expected from Kafka's dumps: batches that are not in that of the highest leader epoch."""
    places: dict[str, dict[tuple[int, int], int]] = {}
    for partition in range(3):
        dumps = [
            partition_dump("08_replicas", "diverged", "rep", partition, f"broker{n}").batches
            for n in range(3)
        ]
        won = max(dumps, key=lambda of: max(batch.leader_epoch or 0 for batch in of))
        lost = {each for of in dumps for each in map(_identity, of)} - {*map(_identity, won)}
        places[f"rep-{partition}"] = {(first, crc): count for first, _, crc, count in lost}
    summary = ingested(
        [log_dir("08_replicas", "diverged", f"broker{n}") for n in range(3)],
        lake,
        engine=engine,
        read=DEAD,
    )
    assert summary.exit_code == 0
    report, audit = reported(lake), audited(lake)
    found = summary.recovery.to_mapping()["in_quarantine_only"]["lost_election"]
    assert {name: (tail["records"], tail["batches"]) for name, tail in found.items()} == {
        name: (sum(batches.values()), len(batches)) for name, batches in places.items()
    }
    records = sum(count for batches in places.values() for count in batches.values())
    headline = (
        f"426 records recovered from 3 partitions; {records} records that lost an election are in "
        "quarantine, not in records; nothing else is known to be lost"
    )
    assert [each.recovery.headline for each in (summary, audit, report)] == [headline] * 3
    assert report.headline == headline
    assert audit.recovery.to_mapping() == report.recovery.to_mapping()
    assert summary.recovery.to_mapping() == report.recovery.to_mapping()
    for text in (summary.to_text(), to_text(audit)):
        assert f"in quarantine, not in records: {records} records at " in text
        assert (
            f"`seglake replay --lake {lake} --engine local --set read.losing_tails=rows` decodes"
            in text
        )


def _identity(batch: DumpBatch) -> tuple[int, int, int, int]:
    return batch.base_offset or 0, batch.last_offset, batch.crc, batch.record_count or 0


def test_the_command_that_the_summary_names_decodes_as_many_records(
    tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, WINNER, LOSER, LOSER)
    text = ingested(disks, lake, read=DEAD).to_text()
    assert said_of_tails("25 records at 25 offsets", "orders-0 [20, 45)") in text
    replayed(lake, read={"losing_tails": "rows"})
    assert len(salvaged(lake)) == 25
    again = ingested(disks, lake, read=DEAD)
    assert "nothing new in " in again.to_text()
    assert said_of_tails("25 records at 25 offsets", "orders-0 [20, 45)") in again.to_text()
    assert "` decodes those that salvaged_records lacks" in again.to_text()
    (finding,) = (
        found
        for each in reported(lake).partitions
        for found in each.findings
        if found.kind is FindingKind.LOST_TAIL
    )
    assert finding.text == "25 records at 25 offsets in quarantine, not in records: [20, 45)"
    assert command_for(finding.kind, "/lake", ()) == (
        "seglake replay --lake /lake --engine local --set read.losing_tails=rows"
    )


def test_what_won_is_no_losing_tail(tmp_path: Path, lake: Path) -> None:
    winner, loser = disks_of(tmp_path, WINNER, LOSER)
    ingested(loser, lake, read=DEAD)
    summary = ingested([winner, loser], lake, read=DEAD)
    assert "lost" in summary.recovery.headline  # as rows that wait for a retake
    for found in (summary.recovery, audited(lake).recovery, reported(lake).recovery):
        assert found.tails == {}


def test_a_batch_that_does_not_count_its_records_is_said_by_its_offsets() -> None:
    row = {
        "defect_code": "replica_conflict",
        "defect_detail": "offsets 4 to 9 lost an election; the log that won has nothing there",
        "base_offset": 4,
        "last_offset": 9,
        "record_count": None,
        "expected_crc": 1,
        "length_bytes": 90,
    }
    tails = {kind: {"a-0": tail} for kind, tail in tails_of([row, row]).items()}
    assert tail_lines(tails, "l")[0].startswith(said_of_tails("6 offsets", "a-0 [4, 10)"))
    differs = tails_of([{**row, "defect_detail": "offsets 4 to 9 differs from offsets 4 to 5"}])
    assert [*differs] == [LosingTailKind.DIFFERS]
