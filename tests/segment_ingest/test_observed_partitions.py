"""What a run saw of each partition is recorded, also where it brought nothing."""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import seglake
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.task_engine.engine import SparkEngine
from support import broker_disks
from support.audits import audited
from support.converted import KNOWN_BOUNDS, Log
from support.dying import Died, dying
from support.elected_logs import ElectedLog, plain, write_elected
from support.encoder import (
    Partition,
)
from support.found import NOT_INGESTED_YET
from support.lakes import content, ingested
from support.made_logs import made_segments, write_over
from support.observed_logs import blocked, ends_of, files_of, orders, rows_in, said_in
from support.retaken_lakes import BEFORE, LOSER, TO_LOG_END
from support.taken import is_nothing_new, offsets_taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMMITTED = "read_committed"


@pytest.mark.parametrize(
    "scenario", ["06_transactions", "07_delete_records", "08_replicas", "10_crash"]
)
def test_what_is_recorded_of_a_real_disk_is_what_its_broker_said(
    scenario: str, tmp_path: Path
) -> None:
    for copy in broker_disks.copies(scenario):
        lake = tmp_path / copy
        disks = broker_disks.unpacked(scenario) / "disks" / copy
        ingested(disks, lake, isolation=_COMMITTED)
        found = {(row["topic"], row["partition"]): row for row in rows_in(lake)}
        for facts in broker_disks.partitions(scenario, copy):
            if facts.topic.startswith("__"):
                continue
            log = Log(scenario, copy, facts.topic, facts.partition)
            mark = KNOWN_BOUNDS.get(log, facts.high_watermark)
            stable = mark if facts.last_stable_offset is None else facts.last_stable_offset
            row = found.pop((facts.topic, facts.partition))
            assert row["log_start_offset"] == facts.log_start_offset, facts
            assert row["high_watermark"] == mark, facts
            assert row["last_stable_offset"] == min(mark, stable), facts
            assert row["next_offset"] == min(mark, stable), facts
            assert row["log_end_offset"] >= mark, facts
        assert found == {}


def test_a_run_with_nothing_new_says_what_it_leaves_in_the_same_words(
    data: Path, lake: Path
) -> None:
    write_over(data, [orders(20, high_watermark=10)])
    first = ingested(data, lake)
    assert said_in(first) == [
        "not ingested yet: orders-0: 10 offsets lie above the high watermark 10"
    ]
    second = ingested(data, lake)
    assert is_nothing_new(second)
    assert said_in(second) == said_in(first)
    assert second.findings.of(*NOT_INGESTED_YET) == first.findings.of(*NOT_INGESTED_YET)


def test_a_log_that_grows_above_its_high_watermark_is_seen_to_grow(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=10), orders(15, partition=1)])
    ingested(data, lake)
    write_over(data, [orders(400, high_watermark=10), orders(15, partition=1)])
    second = ingested(data, lake)
    assert is_nothing_new(second)
    assert said_in(second) == [
        "not ingested yet: orders-0: 390 offsets lie above the high watermark 10"
    ]
    assert offsets_taken(lake) == sorted([*range(10), *range(15)])
    rows = [row for row in rows_in(lake) if row["partition"] == 0]
    assert ends_of(rows) == [(10, 20, 10, "high_watermark"), (10, 400, 10, "high_watermark")]
    assert [row["first_log_end_offset"] for row in rows] == [20, 20]
    assert rows[0]["waiting_since"] == rows[1]["waiting_since"] == rows[0]["observed_at"]
    (audit, _) = audited(lake).partitions
    assert audit.marks is not None
    assert audit.marks.log_end_offset == 400
    assert audit.left == (10, 400, "it is above the high watermark 10")


def test_a_transaction_that_blocks_is_seen_to_block_more(data: Path, lake: Path) -> None:
    write_over(data, [blocked(15)])
    ingested(data, lake, isolation=_COMMITTED)
    write_over(data, [blocked(30)])
    second = ingested(data, lake, isolation=_COMMITTED)
    assert is_nothing_new(second)
    assert "25 offsets wait for its end" in said_in(second)[0]
    rows = rows_in(lake)
    assert ends_of(rows) == [(15, 15, 5, "open_transaction"), (30, 30, 5, "open_transaction")]
    assert [row["last_stable_offset"] for row in rows] == [5, 5]
    assert rows[1]["first_log_end_offset"] == 15


def test_a_run_over_an_unchanged_disk_writes_no_file(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=10), orders(15, partition=1)])
    ingested(data, lake)
    write_over(data, [orders(40, high_watermark=10), orders(15, partition=1)])
    before = files_of(lake)
    ingested(data, lake)
    written = {
        Path(path).relative_to(lake).parts[0] for path in files_of(lake) if path not in before
    }
    assert written == {"observations"}
    before = files_of(lake)
    assert is_nothing_new(ingested(data, lake))
    assert files_of(lake) == before


def test_a_dry_run_looks_and_writes_nothing(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=10)])
    ingested(data, lake)
    write_over(data, [orders(40, high_watermark=10)])
    before = files_of(lake)
    planned = ingested(data, lake, dry_run=True)
    assert said_in(planned) == [
        "not ingested yet: orders-0: 30 offsets lie above the high watermark 10"
    ]
    assert files_of(lake) == before


def test_a_log_that_won_an_election_is_seen_to_grow_below_the_end_of_the_one_that_lost(
    data: Path, lake: Path
) -> None:
    ingested(write_elected(data, LOSER), lake, read=TO_LOG_END)
    for last_batches in (2, 3):
        log = ElectedLog.of(*BEFORE, *plain(3, last_batches))
        write_elected(data, log, broker_id=1)
        ingested(data, lake)
    assert [row["log_end_offset"] for row in rows_in(lake)] == [LOSER.end, 30, 35]
    write_elected(data, ElectedLog.of(*BEFORE[:2]), broker_id=2)  # a copy that lags behind
    ingested(data, lake)
    assert [row["log_end_offset"] for row in rows_in(lake)] == [LOSER.end, 30, 35]


def test_what_a_killed_run_did_not_record_is_recorded_by_the_next(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=10)])
    ingested(data, lake)
    write_over(data, [orders(60, high_watermark=30)])
    with pytest.raises(Died):
        ingested(data, lake, after=dying("cleaned"))
    assert offsets_taken(lake) == list(range(30))
    (audit,) = audited(lake).partitions
    assert audit.left == (30, 60, "it is above the high watermark 30")  # as the ledger has it
    summary = ingested(data, lake)
    assert is_nothing_new(summary)
    assert ends_of(rows_in(lake))[1:] == [(30, 60, 30, "high_watermark")]


def test_a_lake_from_before_the_table_gets_it_with_the_next_run(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=10)])
    ingested(data, lake)
    shutil.rmtree(lake / "observations")
    assert audited(lake).partitions[0].left == (10, 20, "it is above the high watermark 10")
    assert "observations" not in seglake.tables(lake)
    assert is_nothing_new(ingested(data, lake, dry_run=True))
    assert not (lake / "observations").exists()
    assert is_nothing_new(ingested(data, lake))
    assert ends_of(rows_in(lake)) == [(10, 20, 10, "high_watermark")]
    assert "observations" in seglake.tables(lake)


def test_how_a_log_ends_is_said_again(data: Path, lake: Path) -> None:
    write_over(data, [orders(20)])
    log = data / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + (20).to_bytes(8))  # a batch was begun
    first = ingested(data, lake)
    assert "the last segment ends in tail_torn" in said_in(first)[0]
    assert said_in(ingested(data, lake)) == said_in(first)
    assert ends_of(rows_in(lake)) == [(20, 20, 20, "tail")]


def test_another_log_is_seen_as_refused_and_tells_nothing_of_the_one_in_the_lake(
    data: Path, lake: Path
) -> None:
    """Without a topic id only the batches tell."""
    write_over(data, [Partition("plain", 0, made_segments("plain", 0, [0, 20]))])
    ingested(data, lake)
    write_over(data, [Partition("plain", 0, made_segments("other", 0, [0, 50]))])
    assert "plain-0" in ingested(data, lake).findings.reasons(FindingKind.REFUSED)
    row = rows_in(lake)[-1]
    assert (row["stopped_by"], row["next_offset"]) == ("refused", None)
    assert "is not the log that this lake has" in row["detail"]
    assert audited(lake).partitions[0].left is None
    count = len(rows_in(lake))
    ingested(data, lake)
    assert len(rows_in(lake)) == count


def test_a_log_without_a_high_watermark_of_its_own_is_named_as_such(data: Path, lake: Path) -> None:
    write_over(data, [orders(20)])
    (data / "replication-offset-checkpoint").write_text("0\n1\nother 0 5\n")
    ingested(data, lake)
    assert ends_of(rows_in(lake)) == [(None, 20, 0, "no_high_watermark")]


def test_a_partition_that_vanished_stays_as_it_was_seen_last(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=10), orders(15, partition=1)])
    ingested(data, lake)
    write_over(data, [orders(15, partition=1)])
    summary = ingested(data, lake, limits={"stuck_after": "1s"})
    assert (summary.exit_code, said_in(summary)) == (0, [])
    assert ends_of(row for row in rows_in(lake) if row["partition"] == 0) == [
        (10, 20, 10, "high_watermark")
    ]


@pytest.mark.spark
def test_spark_records_what_local_processes_do(
    data: Path, lake: Path, tmp_path: Path, spark_session: "SparkSession"
) -> None:
    engines = {tmp_path / "spark": SparkEngine(spark_session.sparkContext), lake: None}
    logs = [orders(15, partition=number) for number in range(1, 6)]
    said = {}
    for stop in (20, 400):
        write_over(data, [orders(stop, high_watermark=10), *logs])
        for place, engine in engines.items():
            said[place] = said_in(ingested(data, place, engine=engine))
    assert len(set(map(tuple, said.values()))) == 1
    by_spark, by_processes = (content(place, "observations") for place in engines)
    assert by_spark == by_processes
    assert len(by_spark) == 12  # written over, so every file has a new time


@pytest.mark.parametrize("isolation", ["read_uncommitted", _COMMITTED])
def test_a_log_that_grows_over_a_bound_that_stands_is_stuck(
    isolation: str, data: Path, lake: Path
) -> None:
    is_committed = isolation == _COMMITTED

    def disk(stop: int) -> None:
        log = blocked(stop) if is_committed else orders(stop, high_watermark=10)
        write_over(data, [log, orders(15, high_watermark=10, partition=1)])

    def run(stuck_after: str) -> IngestSummary:
        return ingested(data, lake, isolation=isolation, limits={"stuck_after": stuck_after})

    disk(20)
    assert run("1s").exit_code == 0
    time.sleep(1.1)
    assert run("1s").exit_code == 0  # nothing moves: it is a copy
    disk(100)
    assert run("1h").exit_code == 0
    found = run("1s")
    assert found.exit_code == 3
    (stuck,) = found.findings.of(FindingKind.STUCK)
    offset = 5 if is_committed else 10
    assert (stuck.place, stuck.ranges) == ("orders-0", ((offset, 100),))
    assert stuck.facts["moved_offsets"] == 80
    bound = "last stable offset" if is_committed else "high watermark"
    line = found.to_text().splitlines()[1]
    assert line.startswith(f"stuck: orders-0: the {bound} has been at {offset} for ")
    assert "meanwhile the log end has moved by 80 to 100" in line
    assert run("1s").exit_code == 3  # a disk that has moved stays stuck until the bound moves
    write_over(data, [orders(100, high_watermark=100), orders(15, partition=1)])
    assert run("1s").exit_code == 0


def test_an_older_copy_tells_nothing_of_the_log(data: Path, lake: Path, tmp_path: Path) -> None:
    write_over(data, [orders(40, high_watermark=30)])
    ingested(data, lake)
    before = rows_in(lake)
    older = ingested(write_over(tmp_path / "older", [orders(20, high_watermark=10)]), lake)
    assert is_nothing_new(older)
    assert rows_in(lake) == before
    assert said_in(older) == [
        "not ingested yet: orders-0: 10 offsets lie above the high watermark 30",
    ]
