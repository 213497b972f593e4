"""What a run reads to know what was seen before: the newest observations, and few logs."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from seglake.ingest_steps.report import observed
from seglake.lake.appends import append_file
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import ParquetFile
from seglake.lake.tables import OBSERVATIONS
from seglake.pipelines.lake_maintenance import merge_plan
from seglake.storage.local_storage import LocalStorage
from support.audits import audited
from support.counted_reads import counted
from support.lakes import ingested, maintained
from support.made_logs import made_batches, write_over
from support.observed_logs import ends_of, files_of, orders, rows_in
from support.taken import is_nothing_new

_OTHER_CLUSTER = "another-cluster-000000"


def _opened_by_a_run(data: Path, lake: Path) -> list[str]:
    return counted(data, lake)[1].opened


def test_only_the_last_segment_of_a_log_that_moved_is_opened(data: Path, lake: Path) -> None:
    edges = (0, 10, 20)
    moved = orders(30, high_watermark=25, edges=edges)
    write_over(data, [moved, orders(30, partition=1, edges=edges)])
    ingested(data, lake)
    assert _opened_by_a_run(data, lake) == []
    log = data / "orders-0" / f"{20:020d}.log"
    log.write_bytes(log.read_bytes() + made_batches("orders", 0, range(30, 35))[0].data)
    # For its headers, for the batch that was ingested last (it is still that log), and for damage
    # above the bound.
    assert _opened_by_a_run(data, lake) == [f"orders-0/{20:020d}.log"] * 3
    assert ends_of(rows_in(lake))[-1] == (25, 35, 25, "high_watermark")
    assert _opened_by_a_run(data, lake) == []


def test_a_file_made_in_advance_is_looked_at_when_its_time_changes(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=10)])
    log = data / "orders-0" / f"{0:020d}.log"
    used = log.read_bytes()
    log.write_bytes(used + bytes(4096))
    ingested(data, lake)
    more = made_batches("orders", 0, range(20, 25))[0].data
    log.write_bytes(used + more + bytes(4096 - len(more)))
    os.utime(log, (time.time() + 5, time.time() + 5))
    assert is_nothing_new(ingested(data, lake))
    assert [row["log_end_offset"] for row in rows_in(lake)] == [20, 25]


def test_a_log_start_that_moves_is_recorded_and_nothing_is_opened(data: Path, lake: Path) -> None:
    write_over(data, [orders(20, high_watermark=15, edges=(0, 10))])
    ingested(data, lake)
    for path in (data / "orders-0").glob(f"{0:020d}.*"):
        path.unlink()
    assert _opened_by_a_run(data, lake) == []
    assert [row["log_start_offset"] for row in rows_in(lake)] == [0, 10]
    assert ends_of(rows_in(lake))[1] == (15, 20, 15, "high_watermark")


def test_a_run_that_had_to_read_many_files_records_everything_anew(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed, "_MOST_FILES", 2)
    quiet = write_over(data.parent / "quiet", [orders(15, partition=1)], broker_id=1)
    counts = []
    for stop in (20, 30, 40, 50):
        write_over(data, [orders(stop, high_watermark=10)])
        ingested([data, quiet], lake)
        counts.append(len(rows_in(lake)))
    assert counts == [2, 3, 5, 6]
    times = {row["observed_at"] for row in rows_in(lake) if row["partition"] == 1}
    assert len(times) == 2


def test_a_run_that_had_to_read_many_rows_does_so_too(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed, "_MOST_ROWS", 5)
    monkeypatch.setattr(observed, "_MOST_FILES", 2)
    monkeypatch.setattr(merge_plan, "_DAY_MS", -1)  # as if a day had passed
    for stop in (20, 30, 40):
        write_over(data, [orders(stop, high_watermark=10), orders(stop, partition=1)])
        ingested(data, lake)
    maintained(lake)
    assert len(rows_in(lake)) == 6
    assert is_nothing_new(ingested(data, lake))  # reads six rows to know of two partitions
    assert len(rows_in(lake)) == 8
    before = files_of(lake)
    assert is_nothing_new(ingested(data, lake))
    assert files_of(lake) == before


def test_runs_of_another_cluster_do_not_bury_what_was_seen(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observed, "_MOST_FILES", 3)
    quiet = write_over(data.parent / "quiet", [orders(15)], cluster_id=_OTHER_CLUSTER)
    ingested(quiet, lake)
    for stop in (20, 30):
        write_over(data, [orders(stop, high_watermark=10)])
        ingested(data, lake)
    assert is_nothing_new(ingested(quiet, lake))
    rows = rows_in(lake)
    assert [row["source_id"] == _OTHER_CLUSTER for row in rows] == [True, False, False, True]
    before = files_of(lake)
    ingested(quiet, lake)  # reads one file
    assert files_of(lake) == before


def test_what_is_seen_after_a_clock_was_set_back_counts_all_the_same(
    data: Path, lake: Path
) -> None:
    write_over(data, [orders(20, high_watermark=10), orders(15, partition=1)])
    ingested(data, lake)
    _see_again_in_a_year(lake)
    write_over(data, [orders(60, high_watermark=10), orders(15, partition=1)])
    ingested(data, lake)
    in_a_year, newest = [row for row in rows_in(lake) if row["partition"] == 0][-2:]
    assert newest["log_end_offset"] == 60
    assert newest["observed_at"] > in_a_year["observed_at"]
    assert newest["waiting_since"] <= datetime.now(UTC)
    assert audited(lake).partitions[0].left == (10, 60, "it is above the high watermark 10")
    before = files_of(lake)
    assert is_nothing_new(ingested(data, lake))
    assert files_of(lake) == before


def _see_again_in_a_year(lake: Path) -> None:
    """Append each observation once more, as of a clock that is a year ahead."""
    tables = LakeTables(str(lake), LocalStorage())
    year = timedelta(days=365)
    rows = [
        row | {name: row[name] and row[name] + year for name in ("observed_at", "waiting_since")}
        for row in rows_in(lake)
    ]
    with ParquetFile(tables.storage, tables.lake_path, OBSERVATIONS, "") as file:
        file.write(pa.RecordBatch.from_pylist(rows, schema=OBSERVATIONS.schema))
        done = file.close()
    assert done is not None
    now_ms = int(rows[0]["observed_at"].timestamp() * 1000)
    append_file(tables, OBSERVATIONS, done, run_id="ahead", now_ms=now_ms)
