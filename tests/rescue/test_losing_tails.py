"""What only replicas have that lost an election: in quarantine in the same run, each batch once."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_report.advice import command_for
from seglake.pipelines.lake_report.model import Need
from seglake.pipelines.losing_tails import TailKind, tail_lines, tails_of
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited, checked, falsified
from support.broker_disks import log_dir
from support.dumps import DumpBatch
from support.elected_logs import ElectedLog, Written, plain, write_elected
from support.encoder import Codec
from support.lakes import ingested, maintained, read_table, replayed
from support.oracle import partition_dump
from support.reports import reported
from support.views import viewed

_DEAD = {"upper_bound": "log_end"}
_COMMON = plain(0, 4)  # [0, 20)
_WINNER = ElectedLog.of(*_COMMON, *plain(2, 2))  # to 30
# Its tail goes on above the end of the winner's log.
_LOSER = ElectedLog.of(*_COMMON, *plain(1, 5))  # to 45
_LONGER = ElectedLog.of(*_COMMON, *plain(2, 4))  # to 40


def disks_of(folder: Path, *logs: ElectedLog, bases: Sequence[int] = (0,)) -> list[Path]:
    return [
        write_elected(folder / str(n), log, broker_id=n, bases=bases if n else (0,))
        for n, log in enumerate(logs)
    ]


def places(lake: Path) -> list[tuple[int, int]]:
    """The offsets of the batches in quarantine."""
    rows = [
        row for row in read_table(lake, "quarantine") if row["defect_code"] == "replica_conflict"
    ]
    assert all(row["raw_is_complete"] for row in rows)
    return sorted((row["base_offset"], row["last_offset"]) for row in rows)


def batches_of(log: ElectedLog, start: int) -> list[tuple[int, int]]:
    return [(first, first + each.size - 1) for first, each in log.placed() if first >= start]


def assert_sound(lake: Path, disks: Sequence[Path]) -> None:
    assert imbalances_of(lake) == []
    assert audited(lake).exit_code == 0
    for check in checked(disks, lake):
        assert (check.has_problem, check.not_taken) == (False, []), check


def test_a_tail_above_the_winners_end_is_in_quarantine_in_the_same_run(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER)
    summary = ingested(disks, lake, engine=engine, read=_DEAD)
    assert summary.exit_code == 0
    assert places(lake) == batches_of(_LOSER, 20)
    assert summary.findings.lost_elections == []
    assert {row["base_offset"] for row in read_table(lake, "batches")} == {0, 5, 10, 15, 20, 25}
    assert_sound(lake, disks)
    again = ingested(disks, lake, engine=engine, read=_DEAD)
    assert (again.exit_code, again.findings.conflicts) == (0, {})
    assert places(lake) == batches_of(_LOSER, 20)


def test_up_to_the_high_watermark_the_tail_waits_and_the_summary_says_how_to_get_it(
    tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER)
    summary = ingested(disks, lake)
    (left,) = summary.findings.lost_elections
    assert (left.from_offset, left.log_end_offset) == (30, 45)
    assert left.reason.endswith("or with --upper-bound log_end")
    assert places(lake) == batches_of(_LOSER, 20)[:2]
    ingested(disks, lake, read=_DEAD)
    assert places(lake) == batches_of(_LOSER, 20)
    assert ingested(disks, lake).findings.conflicts == {}
    assert places(lake) == batches_of(_LOSER, 20)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD, Codec.LZ4])
def test_batches_of_any_kind_come_with_all_of_their_bytes(
    codec: Codec, tmp_path: Path, lake: Path
) -> None:
    tail = [
        *(Written(1, 3, producer_id=7), Written(1, 400, codec=codec)),
        *(Written(1, 1, producer_id=7, end="commit"), Written(1, 2, codec=codec)),
    ]
    loser = ElectedLog.of(*_COMMON, *tail, value_bytes=3000)
    winner = _WINNER._replace(value_bytes=3000)
    disks = disks_of(tmp_path, winner, loser, bases=(0, 20, 424))
    ingested(disks, lake, read=_DEAD, quarantine={"max_raw_bytes": "64MiB"})
    assert places(lake) == batches_of(loser, 20)
    assert_sound(lake, disks)


def test_a_batch_is_listed_again_only_with_more_of_its_bytes(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER)
    for kept, rows in ((10, 5), (10, 5), (1 << 20, 10), (10, 10), (1 << 20, 10)):
        ingested(disks, lake, read=_DEAD, quarantine={"max_raw_bytes": kept})
        assert len(read_table(lake, "quarantine")) == rows
    assert_sound(lake, disks)
    other = tmp_path / "other"
    for kept in (1 << 20, 10):
        ingested(disks, other, read=_DEAD, quarantine={"max_raw_bytes": kept})
        assert len(read_table(other, "quarantine")) == 5


def test_several_losers_each_give_what_no_other_has(tmp_path: Path, lake: Path) -> None:
    fork = ElectedLog.of(*_COMMON, *plain(1, 3), *plain(3, 2))
    other = ElectedLog.of(*_COMMON[:2], *plain(4, 9, size=7))
    winner = ElectedLog.of(*_COMMON, *plain(5, 1))
    disks = disks_of(tmp_path, winner, _LOSER, _LOSER, fork, other)
    ingested(disks, lake, read=_DEAD)
    expected = {
        (first, last, log.value(epoch, first))
        for log, start in ((_LOSER, 20), (fork, 20), (other, 10))
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
    winner, loser = disks_of(tmp_path, _WINNER, _LOSER)
    ingested(winner, lake, read={"upper_bound": bound})
    summary = ingested(loser, lake, read=_DEAD)
    assert summary.findings.superseded == []
    assert places(lake) == batches_of(_LOSER, 20)
    assert_sound(lake, [winner, loser])


def test_a_winner_that_comes_later_leaves_the_losers_rows_as_history(
    tmp_path: Path, lake: Path
) -> None:
    winner, loser = disks_of(tmp_path, _WINNER, _LOSER)
    ingested(loser, lake, read=_DEAD)
    summary = ingested([winner, loser], lake, read=_DEAD)
    assert summary.exit_code == 3
    values = {row["value"] for row in read_table(lake, "records")}
    assert {value for _, value in _LOSER.consumed()} <= values
    assert places(lake) == batches_of(_WINNER, 20)


def test_a_dry_run_counts_the_tail_and_writes_nothing(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER)
    planned = ingested(disks, lake, read=_DEAD, dry_run=True)
    assert sum(count.lost for count in planned.findings.conflicts.values()) == 5
    assert not lake.exists()


def test_real_brokers_tails_are_in_quarantine_once_though_two_disks_have_them(lake: Path) -> None:
    disks = [log_dir("08_replicas", "diverged", f"broker{n}") for n in range(3)]
    ingested(disks, lake, read=_DEAD)
    rows = [row for row in read_table(lake, "quarantine") if row["topic"] == "rep"]
    assert len({(row["partition"], row["raw_sha256"]) for row in rows}) == len(rows) > 6
    assert_sound(lake, disks)


def salvaged(lake: Path, table: str = "salvaged_records") -> list[tuple[int, bytes]]:
    rows = viewed(lake, f"SELECT * FROM {table}")
    assert {(row["damage"], row["is_damaged"], row["defect_code"]) for row in rows} <= {
        ("none", False, "replica_conflict")
    }
    return sorted((row["offset"], row["value"]) for row in rows)


_LOST_RECORDS = [each for each in _LOSER.consumed() if each[0] >= 20]


def test_an_option_gives_rows_of_losing_tails_apart_from_those_of_the_log(
    tmp_path: Path, lake: Path, engine: Engine
) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER, _LOSER)
    rows = {**_DEAD, "losing_tails": "rows"}
    for _ in range(2):
        assert ingested(disks, lake, engine=engine, read=rows).exit_code == 0
        assert salvaged(lake) == _LOST_RECORDS
        assert salvaged(lake, "current_salvaged_records") == _LOST_RECORDS[10:]
        assert_sound(lake, disks)
    found = sorted((row["offset"], row["value"]) for row in read_table(lake, "records"))
    assert found == _WINNER.consumed()


def test_the_option_works_later_without_the_disks(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER)
    ingested(disks, lake, read=_DEAD)
    assert salvaged(lake) == []
    for _ in range(2):
        replayed(lake, read={"losing_tails": "rows"})
        assert salvaged(lake) == _LOST_RECORDS
    assert_sound(lake, disks)


def test_rows_of_a_tail_leave_the_view_where_the_winner_goes_on(tmp_path: Path, lake: Path) -> None:
    rows = {**_DEAD, "losing_tails": "rows"}
    ingested(disks_of(tmp_path, _WINNER, _LOSER), lake, read=rows)
    ingested(disks_of(tmp_path, _LONGER, _LOSER), lake, read=rows)
    assert salvaged(lake, "current_salvaged_records") == _LOST_RECORDS[20:]
    assert salvaged(lake) == _LOST_RECORDS


def test_markers_and_what_won_give_no_rows(tmp_path: Path, lake: Path) -> None:
    tail = [Written(1, 3, producer_id=7), Written(1, 1, producer_id=7, end="commit")]
    loser = ElectedLog.of(*_COMMON, *tail)
    winner, other = disks_of(tmp_path, _WINNER, loser)
    ingested(other, lake, read=_DEAD)
    rows = {**_DEAD, "losing_tails": "rows"}
    summary = ingested([winner, other], lake, read=rows)
    assert summary.findings.superseded
    assert "not salvaged" not in summary.to_text()
    values = {value for _, value in _WINNER.consumed()[20:]}
    assert not values & {value for _, value in salvaged(lake)}
    assert audited(lake).exit_code == 3  # until a retake


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
        read=_DEAD,
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
        assert f"`seglake replay --lake {lake} --set read.losing_tails=rows` decodes" in text


def _identity(batch: DumpBatch) -> tuple[int, int, int, int]:
    return batch.base_offset or 0, batch.last_offset, batch.crc, batch.record_count or 0


def test_the_command_that_the_summary_names_decodes_as_many_records(
    tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER, _LOSER)
    text = ingested(disks, lake, read=_DEAD).to_text()
    assert said_of_tails("25 records at 25 offsets", "orders-0 [20, 45)") in text
    replayed(lake, read={"losing_tails": "rows"})
    assert len(salvaged(lake)) == 25
    again = ingested(disks, lake, read=_DEAD)
    assert "nothing new in " in again.to_text()
    assert said_of_tails("25 records at 25 offsets", "orders-0 [20, 45)") in again.to_text()
    assert "` decodes those that salvaged_records lacks" in again.to_text()
    (finding,) = (
        found
        for each in reported(lake).partitions
        for found in each.findings
        if found.need is Need.LOST_TAIL
    )
    assert finding.text == "25 records at 25 offsets in quarantine, not in records: [20, 45)"
    assert command_for(finding.need, "/lake", ()) == (
        "seglake replay --lake /lake --set read.losing_tails=rows"
    )


def test_what_won_is_no_losing_tail(tmp_path: Path, lake: Path) -> None:
    winner, loser = disks_of(tmp_path, _WINNER, _LOSER)
    ingested(loser, lake, read=_DEAD)
    summary = ingested([winner, loser], lake, read=_DEAD)
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
    assert [*differs] == [TailKind.DIFFERS]


def by_broker(lake: Path, *, is_reversed: bool) -> None:
    """Put the rows of quarantine in the order of their brokers, or in the reverse."""
    falsified(
        lake,
        "quarantine",
        lambda rows: sorted(rows, key=lambda row: int(row["broker_id"]), reverse=is_reversed),
        operation="OPTIMIZE",
    )


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_batch_of_several_losers_gives_its_rows_once_in_any_order_of_quarantine(
    is_reversed: bool, tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, _LONGER, _LOSER, _LOSER)
    ingested(disks, lake)
    assert places(lake) == sorted(2 * batches_of(_LOSER, 20)[:4])
    for order in (is_reversed, not is_reversed):
        by_broker(lake, is_reversed=order)
        replayed(lake, read={"losing_tails": "rows"})
        assert salvaged(lake) == _LOST_RECORDS[:20]
    assert audited(lake).exit_code == 0


def test_maintenance_between_two_runs_brings_no_row_again(tmp_path: Path, lake: Path) -> None:
    disks = disks_of(tmp_path, _LONGER, _LOSER, _LOSER)
    rows = {**_DEAD, "losing_tails": "rows"}
    ingested(disks, lake)
    for _ in range(2):
        ingested(disks, lake, read=rows)
        assert salvaged(lake) == _LOST_RECORDS
        maintained(lake)
    assert_sound(lake, disks)


def test_rows_of_another_losers_copy_of_a_batch_are_not_added(tmp_path: Path, lake: Path) -> None:
    """What the table has may be of any of the replicas, whichever row of quarantine is first."""
    rows = {"losing_tails": "rows"}
    ingested(disks_of(tmp_path, _LONGER, _LOSER, _LOSER), lake)
    replayed(lake, read=rows)
    found = read_table(lake, "salvaged_records")
    (broker_id,) = {row["broker_id"] for row in found}
    falsified(
        lake, "salvaged_records", lambda rows: [{**row, "broker_id": 3 - broker_id} for row in rows]
    )
    replayed(lake, read=rows)
    assert len(read_table(lake, "salvaged_records")) == len(found) == 20
    assert audited(lake).exit_code == 0


def test_an_audit_fails_on_rows_that_two_losers_gave(tmp_path: Path, lake: Path) -> None:
    ingested(disks_of(tmp_path, _LONGER, _LOSER, _LOSER), lake)
    replayed(lake, read={"losing_tails": "rows"})
    assert audited(lake).problem_count == 0
    falsified(
        lake,
        "salvaged_records",
        lambda rows: [*rows, {**rows[0], "broker_id": 3 - int(rows[0]["broker_id"])}],
    )
    audit = audited(lake)
    assert any("salvaged more than once: orders-0" in text for text in audit.problems), (
        audit.problems
    )
    assert audit.exit_code == 3


def test_a_batch_that_was_cut_at_first_gives_rows_when_it_is_whole(
    tmp_path: Path, lake: Path
) -> None:
    disks = disks_of(tmp_path, _WINNER, _LOSER)
    rows = {**_DEAD, "losing_tails": "rows"}
    summary = ingested(disks, lake, read=rows, quarantine={"max_raw_bytes": 10})
    assert (salvaged(lake), summary.salvaged.cut_batches) == ([], 5)
    for _ in range(2):
        summary = ingested(disks, lake, read=rows)
        assert (salvaged(lake), summary.salvaged.cut_batches) == (_LOST_RECORDS, 0)
