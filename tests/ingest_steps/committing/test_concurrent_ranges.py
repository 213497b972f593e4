"""A run that loses to another one names the ranges that the other committed."""

import json
from pathlib import Path

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.pipelines.lake_replay.replay import replay
from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
from seglake.settings.settings import Settings
from support.accounts import imbalances_of
from support.found import concurrent_ranges
from support.lakes import content, ingested, local_scan, replayed
from support.made_logs import make_log_dir
from support.meanwhile import Meanwhile, once

_EDGES = {("orders", 0): [0, 20, 40], ("orders", 1): [0, 5], ("payments", 0): [0, 10]}


def test_of_two_runs_the_slower_says_what_it_lost(data: Path, lake: Path, tmp_path: Path) -> None:
    make_log_dir(data, _EDGES)
    others: list[IngestSummary] = []
    engine = Meanwhile(once(lambda: others.append(ingested(data, lake))))
    summary = ingested(data, lake, engine=engine)
    (other,) = others
    assert (summary.notes, other.notes) == ([], [])
    assert (summary.records, summary.exit_code, other.records) == (0, 0, 55)
    assert [line for line in summary.to_text().splitlines() if "concurrent" in line] == [
        "a concurrent run ingested: 55 offsets in orders-0 (40), payments-0 (10), orders-1 (5)"
        f" (run id {other.run_id})"
    ]
    (told,) = json.loads(summary.to_json())["findings"]
    assert told["by_run"][1]["partition"] == "orders-1"
    ingested(data, tmp_path / "alone")
    assert content(lake, "records") == content(tmp_path / "alone", "records")
    assert imbalances_of(lake) == []


def test_only_what_is_lost_is_named(data: Path, lake: Path) -> None:
    make_log_dir(data, _EDGES)
    ingested(data, lake, select={"topics": ["payments"]})
    make_log_dir(data, {**_EDGES, ("payments", 0): [0, 10, 15]})
    others: list[IngestSummary] = []

    def take() -> None:
        others.append(ingested(data, lake, select={"topics": ["payments"]}))

    summary = ingested(data, lake, engine=Meanwhile(once(take)))
    (lost,) = concurrent_ranges(summary)
    assert (lost.partition, lost.start_offset, lost.next_offset) == ("payments-0", 10, 15)
    assert (summary.topics, summary.records) == (["orders"], 45)


def test_a_run_without_news_or_a_dry_one_writes_no_file(data: Path, lake: Path) -> None:
    make_log_dir(data, _EDGES)
    ingested(data, lake, dry_run=True)
    assert not lake.exists()
    ingested(data, lake)
    before = sorted(lake.rglob("*"))
    ingested(data, lake)
    make_log_dir(data, {**_EDGES, ("payments", 0): [0, 10, 15]})
    ingested(data, lake, dry_run=True)
    assert sorted(lake.rglob("*")) == before


def test_a_replay_says_who_filled_a_gap_first(tmp_path: Path) -> None:
    edges = {("orders", 0): [0, 20, 40]}
    one, two = (make_log_dir(tmp_path / name, edges, broker_id=n) for n, name in enumerate("ab"))
    log = one / "orders-0" / f"{20:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    lake = tmp_path / "lake"
    ingested(one, lake, isolation="read_committed")
    others: list[ReplaySummary] = []
    engine = Meanwhile(once(lambda: others.append(replayed(lake, two))))
    summary = replay(str(lake), [str(two)], local_scan(Settings(), engine))
    (other,) = others
    assert (summary.repaired_gaps, other.repaired_gaps) == (0, 1)
    line = f"a concurrent run filled: 5 offsets in orders-0 (5) (run id {other.run_id})"
    assert line in summary.to_text().splitlines()
    assert (summary.exit_code, summary.left_out) == (0, {})
    assert imbalances_of(lake) == []
