"""What a run saw of each partition is recorded, also where it brought nothing."""

import io
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import seglake
from seglake.lake.blind_append import append_file
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import ParquetFile
from seglake.lake.tables import OBSERVATIONS
from seglake.pipelines.progress import RunReporter
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.pipelines.segment_ingest.report import observed
from seglake.pipelines.segment_ingest.report.ingest_summary import IngestSummary
from seglake.pipelines.segment_ingest.run_context import ScanContext
from seglake.pipelines.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from seglake.task_engine.engine import LocalEngine, SparkEngine
from support import broker_disks
from support.audits import audited
from support.converted import KNOWN_BOUNDS, Log
from support.encoder import (
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    record_batch,
)
from support.lakes import Row, content, ingested, read_table
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, made_segments, write_over
from support.taken import is_nothing_new, offsets_taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMMITTED = "read_committed"
_OTHER_CLUSTER = "another-cluster-000000"


def _orders(
    stop: int,
    *,
    high_watermark: int | None = None,
    partition: int = 0,
    edges: Sequence[int] = (0,),
) -> Partition:
    return Partition(
        "orders",
        partition,
        made_segments("orders", partition, [*edges, stop]),
        high_watermark=high_watermark,
        topic_id=TOPIC_IDS["orders"],
    )


def _blocked(stop: int) -> Partition:
    """A transaction is open from offset 5 on, and the log goes on behind it."""
    header = Header(producer=Producer(7, 0, 0), is_transactional=True)
    begun = record_batch(5, [Record(b"t", b"%d" % n, FIRST_MS) for n in range(5, 10)], header)
    batches: list[EncodedBatch] = [*made_batches("orders", 0, range(5)), begun]
    batches += made_batches("orders", 0, range(10, stop))
    return Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])


def _rows(lake: Path) -> list[Row]:
    return sorted(read_table(lake, "observations"), key=lambda row: row["observed_at"])


def _ends(rows: Iterable[Row]) -> list[tuple[object, ...]]:
    names = ("high_watermark", "log_end_offset", "next_offset", "stopped_by")
    return [tuple(row[name] for name in names) for row in rows]


def _said(summary: IngestSummary) -> list[str]:
    return [
        line for line in summary.to_text().splitlines() if line.startswith("not ingested yet: ")
    ]


def _files(lake: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in lake.rglob("*")
        if path.is_file()
    }


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
        found = {(row["topic"], row["partition"]): row for row in _rows(lake)}
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
    write_over(data, [_orders(20, high_watermark=10)])
    first = ingested(data, lake)
    assert _said(first) == [
        "not ingested yet: orders-0: 10 offsets lie above the high watermark 10"
    ]
    second = ingested(data, lake)
    assert is_nothing_new(second)
    assert _said(second) == _said(first)
    assert second.findings.not_ingested_yet == first.findings.not_ingested_yet


def test_a_log_that_grows_above_its_high_watermark_is_seen_to_grow(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=10), _orders(15, partition=1)])
    ingested(data, lake)
    write_over(data, [_orders(400, high_watermark=10), _orders(15, partition=1)])
    second = ingested(data, lake)
    assert is_nothing_new(second)
    assert _said(second) == [
        "not ingested yet: orders-0: 390 offsets lie above the high watermark 10"
    ]
    assert offsets_taken(lake) == sorted([*range(10), *range(15)])
    rows = [row for row in _rows(lake) if row["partition"] == 0]
    assert _ends(rows) == [(10, 20, 10, "high_watermark"), (10, 400, 10, "high_watermark")]
    assert [row["first_log_end_offset"] for row in rows] == [20, 20]
    assert rows[0]["waiting_since"] == rows[1]["waiting_since"] == rows[0]["observed_at"]
    (audit, _) = audited(lake).partitions
    assert audit.marks is not None
    assert audit.marks.log_end_offset == 400
    assert audit.left == (10, 400, "it lies above the high watermark 10")


def test_a_transaction_that_blocks_is_seen_to_block_more(data: Path, lake: Path) -> None:
    write_over(data, [_blocked(15)])
    ingested(data, lake, isolation=_COMMITTED)
    write_over(data, [_blocked(30)])
    second = ingested(data, lake, isolation=_COMMITTED)
    assert is_nothing_new(second)
    assert "25 offsets wait for its end" in _said(second)[0]
    rows = _rows(lake)
    assert _ends(rows) == [(15, 15, 5, "open_transaction"), (30, 30, 5, "open_transaction")]
    assert [row["last_stable_offset"] for row in rows] == [5, 5]
    assert rows[1]["first_log_end_offset"] == 15


def test_a_run_over_an_unchanged_disk_writes_no_file(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=10), _orders(15, partition=1)])
    ingested(data, lake)
    write_over(data, [_orders(40, high_watermark=10), _orders(15, partition=1)])
    before = _files(lake)
    ingested(data, lake)
    written = {Path(path).relative_to(lake).parts[0] for path in _files(lake) if path not in before}
    assert written == {"observations"}
    before = _files(lake)
    assert is_nothing_new(ingested(data, lake))
    assert _files(lake) == before


def test_a_dry_run_looks_and_writes_nothing(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=10)])
    ingested(data, lake)
    write_over(data, [_orders(40, high_watermark=10)])
    before = _files(lake)
    planned = ingested(data, lake, dry_run=True)
    assert _said(planned) == [
        "not ingested yet: orders-0: 30 offsets lie above the high watermark 10"
    ]
    assert _files(lake) == before


class _Killed(Exception):
    pass


def _die(step: str) -> None:
    if step == "cleaned":
        raise _Killed


def test_what_a_killed_run_did_not_record_is_recorded_by_the_next(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=10)])
    ingested(data, lake)
    write_over(data, [_orders(60, high_watermark=30)])
    with pytest.raises(_Killed):
        ingested(data, lake, after=_die)
    assert offsets_taken(lake) == list(range(30))
    (audit,) = audited(lake).partitions
    assert audit.left == (30, 60, "it lies above the high watermark 30")  # as the ledger has it
    summary = ingested(data, lake)
    assert is_nothing_new(summary)
    assert _ends(_rows(lake))[1:] == [(30, 60, 30, "high_watermark")]


def test_a_lake_from_before_the_table_gets_it_with_the_next_run(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=10)])
    ingested(data, lake)
    shutil.rmtree(lake / "observations")
    assert audited(lake).partitions[0].left == (10, 20, "it lies above the high watermark 10")
    assert "observations" not in seglake.tables(lake)
    assert is_nothing_new(ingested(data, lake, dry_run=True))
    assert not (lake / "observations").exists()
    assert is_nothing_new(ingested(data, lake))
    assert _ends(_rows(lake)) == [(10, 20, 10, "high_watermark")]
    assert "observations" in seglake.tables(lake)


class _Counting(LocalStorage):
    """Knows which segments were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open_reader(self, path: str) -> Reader:
        if path.endswith(".log"):
            self.opened.append("/".join(Path(path).parts[-2:]))
        return super().open_reader(path)


def _opened_by_a_run(data: Path, lake: Path) -> list[str]:
    storage = _Counting()
    settings = Settings.from_mappings([("test", {"read": {"isolation": "read_uncommitted"}})])
    with LocalEngine(1) as engine:
        scan = ScanContext(
            storage=storage, settings=settings, engine=engine, reporter=RunReporter(io.StringIO())
        )
        ingest([str(data)], str(lake), scan)
    return storage.opened


def test_only_the_last_segment_of_a_log_that_moved_is_opened(data: Path, lake: Path) -> None:
    edges = (0, 10, 20)
    moved = _orders(30, high_watermark=25, edges=edges)
    write_over(data, [moved, _orders(30, partition=1, edges=edges)])
    ingested(data, lake)
    assert _opened_by_a_run(data, lake) == []
    log = data / "orders-0" / f"{20:020d}.log"
    log.write_bytes(log.read_bytes() + made_batches("orders", 0, range(30, 35))[0].data)
    assert _opened_by_a_run(data, lake) == [f"orders-0/{20:020d}.log"]
    assert _ends(_rows(lake))[-1] == (25, 35, 25, "high_watermark")
    assert _opened_by_a_run(data, lake) == []


def test_a_file_made_in_advance_is_looked_at_when_its_time_changes(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=10)])
    log = data / "orders-0" / f"{0:020d}.log"
    used = log.read_bytes()
    log.write_bytes(used + bytes(4096))
    ingested(data, lake)
    more = made_batches("orders", 0, range(20, 25))[0].data
    log.write_bytes(used + more + bytes(4096 - len(more)))
    os.utime(log, (time.time() + 5, time.time() + 5))
    assert is_nothing_new(ingested(data, lake))
    assert [row["log_end_offset"] for row in _rows(lake)] == [20, 25]


def test_a_log_start_that_moves_is_recorded_and_nothing_is_opened(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=15, edges=(0, 10))])
    ingested(data, lake)
    for path in (data / "orders-0").glob(f"{0:020d}.*"):
        path.unlink()
    assert _opened_by_a_run(data, lake) == []
    assert [row["log_start_offset"] for row in _rows(lake)] == [0, 10]
    assert _ends(_rows(lake))[1] == (15, 20, 15, "high_watermark")


def test_how_a_log_ends_is_said_again(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20)])
    log = data / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + b"\xa5" * 80)
    first = ingested(data, lake)
    assert "the last segment ends in tail_garbage" in _said(first)[0]
    assert _said(ingested(data, lake)) == _said(first)
    assert _ends(_rows(lake)) == [(20, 20, 20, "tail")]


def test_another_log_is_seen_as_refused_and_tells_nothing_of_the_one_in_the_lake(
    data: Path, lake: Path
) -> None:
    """Without a topic id only the batches tell."""
    write_over(data, [Partition("plain", 0, made_segments("plain", 0, [0, 20]))])
    ingested(data, lake)
    write_over(data, [Partition("plain", 0, made_segments("other", 0, [0, 50]))])
    assert "plain-0" in ingested(data, lake).findings.refused
    row = _rows(lake)[-1]
    assert (row["stopped_by"], row["next_offset"]) == ("refused", None)
    assert "is not the log that this lake has" in row["detail"]
    assert audited(lake).partitions[0].left is None
    count = len(_rows(lake))
    ingested(data, lake)
    assert len(_rows(lake)) == count


def test_a_log_without_a_high_watermark_of_its_own_is_named_as_such(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20)])
    (data / "replication-offset-checkpoint").write_text("0\n1\nother 0 5\n")
    ingested(data, lake)
    assert _ends(_rows(lake)) == [(None, 20, 0, "no_high_watermark")]


def test_a_run_that_had_to_read_many_files_records_everything_anew(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed, "_MOST_FILES", 2)
    quiet = write_over(data.parent / "quiet", [_orders(15, partition=1)], broker_id=1)
    counts = []
    for stop in (20, 30, 40, 50):
        write_over(data, [_orders(stop, high_watermark=10)])
        ingested([data, quiet], lake)
        counts.append(len(_rows(lake)))
    assert counts == [2, 3, 5, 6]
    times = {row["observed_at"] for row in _rows(lake) if row["partition"] == 1}
    assert len(times) == 2


def test_runs_of_another_cluster_do_not_bury_what_was_seen(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed, "_MOST_FILES", 3)
    quiet = write_over(data.parent / "quiet", [_orders(15)], cluster_id=_OTHER_CLUSTER)
    ingested(quiet, lake)
    for stop in (20, 30):
        write_over(data, [_orders(stop, high_watermark=10)])
        ingested(data, lake)
    assert is_nothing_new(ingested(quiet, lake))
    rows = _rows(lake)
    assert [row["source_id"] == _OTHER_CLUSTER for row in rows] == [True, False, False, True]
    before = _files(lake)
    ingested(quiet, lake)  # reads one file
    assert _files(lake) == before


def test_what_is_seen_after_a_clock_was_set_back_counts_all_the_same(
    data: Path, lake: Path
) -> None:
    write_over(data, [_orders(20, high_watermark=10), _orders(15, partition=1)])
    ingested(data, lake)
    _see_again_in_a_year(lake)
    write_over(data, [_orders(60, high_watermark=10), _orders(15, partition=1)])
    ingested(data, lake)
    in_a_year, newest = [row for row in _rows(lake) if row["partition"] == 0][-2:]
    assert newest["log_end_offset"] == 60
    assert newest["observed_at"] > in_a_year["observed_at"]
    assert newest["waiting_since"] <= datetime.now(UTC)
    assert audited(lake).partitions[0].left == (10, 60, "it lies above the high watermark 10")
    before = _files(lake)
    assert is_nothing_new(ingested(data, lake))
    assert _files(lake) == before


def _see_again_in_a_year(lake: Path) -> None:
    """Append each observation once more, as of a clock that is a year ahead."""
    tables = LakeTables(str(lake), LocalStorage())
    year = timedelta(days=365)
    rows = [
        row | {name: row[name] and row[name] + year for name in ("observed_at", "waiting_since")}
        for row in _rows(lake)
    ]
    with ParquetFile(tables.storage, tables.lake_path, OBSERVATIONS, "") as file:
        file.write(pa.RecordBatch.from_pylist(rows, schema=OBSERVATIONS.schema))
        done = file.close()
    assert done is not None
    now_ms = int(rows[0]["observed_at"].timestamp() * 1000)
    append_file(tables, OBSERVATIONS, done, run_id="ahead", now_ms=now_ms)


def test_a_partition_that_vanished_stays_as_it_was_seen_last(data: Path, lake: Path) -> None:
    write_over(data, [_orders(20, high_watermark=10), _orders(15, partition=1)])
    ingested(data, lake)
    write_over(data, [_orders(15, partition=1)])
    summary = ingested(data, lake, limits={"stuck_after": "1s"})
    assert (summary.exit_code, _said(summary)) == (0, [])
    assert _ends(row for row in _rows(lake) if row["partition"] == 0) == [
        (10, 20, 10, "high_watermark")
    ]


@pytest.mark.spark
def test_spark_records_what_local_processes_do(
    data: Path, lake: Path, tmp_path: Path, spark_session: "SparkSession"
) -> None:
    engines = {tmp_path / "spark": SparkEngine(spark_session.sparkContext), lake: None}
    logs = [_orders(15, partition=number) for number in range(1, 6)]
    said = {}
    for stop in (20, 400):
        write_over(data, [_orders(stop, high_watermark=10), *logs])
        for place, engine in engines.items():
            said[place] = _said(ingested(data, place, engine=engine))
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
        log = _blocked(stop) if is_committed else _orders(stop, high_watermark=10)
        write_over(data, [log, _orders(15, high_watermark=10, partition=1)])

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
    (stuck,) = found.findings.stuck
    offset = 5 if is_committed else 10
    assert (stuck.partition, stuck.bound_offset, stuck.log_end_offset) == ("orders-0", offset, 100)
    assert stuck.moved_offsets == 80
    bound = "last stable offset" if is_committed else "high watermark"
    line = found.to_text().splitlines()[1]
    assert line.startswith(f"stuck: orders-0: the {bound} has stood at {offset} for ")
    assert "meanwhile the log end has moved by 80 to 100" in line
    assert run("1s").exit_code == 3  # a disk that has moved stays stuck until the bound moves
    write_over(data, [_orders(100, high_watermark=100), _orders(15, partition=1)])
    assert run("1s").exit_code == 0


def test_an_older_copy_tells_nothing_of_the_log(data: Path, lake: Path, tmp_path: Path) -> None:
    write_over(data, [_orders(40, high_watermark=30)])
    ingested(data, lake)
    before = _rows(lake)
    older = ingested(write_over(tmp_path / "older", [_orders(20, high_watermark=10)]), lake)
    assert is_nothing_new(older)
    assert _rows(lake) == before
    assert _said(older) == [
        "not ingested yet: orders-0: 10 offsets lie above the high watermark 30",
    ]
