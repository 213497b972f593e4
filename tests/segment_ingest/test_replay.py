"""Quarantined bytes are decoded again, and come into the tables once."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.cli.replay_command import main
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import LakeRefusedError, NotALakeError
from seglake.lake.tables import Table
from seglake.pipelines.segment_ingest.report.replay_summary import ReplaySummary
from seglake.storage.errors import RefusedError
from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.audits import audited
from support.encoder import Codec, Partition, Record, Segment, record_batch
from support.lakes import content, ingested, read_table, replayed, versions
from support.made_logs import FIRST_MS, TOPIC_IDS, make_log_dir, write_over

_SMALL = 1 << 16
_MORE = 1 << 22


def _log_dir(folder: Path) -> Path:
    """Three batches, the one in the middle too large for a small limit."""
    batches = []
    for base, size in ((0, 10), (5, 100_000), (10, 10)):
        records = [Record(b"k", f"{base + index}".encode() * size, FIRST_MS) for index in range(5)]
        batches.append(record_batch(base, records, codec=Codec.LZ4))
    partition = Partition(
        "orders", 0, (Segment(0, batches),), topic_id=TOPIC_IDS["orders"], high_watermark=15
    )
    return write_over(folder, [partition])


def _ingested_with_a_small_limit(tmp_path: Path) -> Path:
    lake = tmp_path / "lake"
    source = _log_dir(tmp_path / "disk")
    ingested(source, lake, limits={"max_decompressed_batch_bytes": _SMALL})
    assert standing_gaps(lake) == [StandingGap("orders", 0, 5, 10, "quarantined")]
    return lake


def test_batch_that_was_too_large_comes_in_with_a_higher_limit(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    whole = tmp_path / "whole"
    ingested(tmp_path / "disk", whole)
    summary = replayed(lake, limits={"max_decompressed_batch_bytes": _MORE})
    assert (summary.repaired_gaps, summary.repaired_records) == (1, 5)
    assert (summary.left_spans, summary.left_offsets, summary.exit_code) == ({}, {}, 0)
    assert content(lake, "records") == content(whole, "records")
    assert content(lake, "batches") == content(whole, "batches")
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []
    resolutions = [row["resolution"] for row in read_table(lake, "quarantine")]
    assert sorted(map(str, resolutions)) == ["None", "replayed"]


def test_second_replay_does_nothing(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    replayed(lake, limits={"max_decompressed_batch_bytes": _MORE})
    before = versions(lake)
    summary = replayed(lake, limits={"max_decompressed_batch_bytes": _MORE})
    assert summary.repaired_gaps == 0
    assert versions(lake) == before
    assert "nothing could be filled in" in summary.to_text()


def test_replay_with_the_same_limit_says_what_is_left_and_writes_nothing(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    before = versions(lake)
    summary = replayed(lake, limits={"max_decompressed_batch_bytes": _SMALL})
    assert versions(lake) == before
    assert summary.left_spans == {"decompression_limit": 1}
    assert summary.left_offsets == {"quarantined": 5}
    assert "still quarantined: 1 decompression_limit" in summary.to_text()


def test_topics_that_are_not_selected_stay_as_they_are(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    before = versions(lake)
    summary = replayed(
        lake,
        limits={"max_decompressed_batch_bytes": _MORE},
        select={"topics": ["payments"]},
    )
    assert (summary.repaired_gaps, summary.left_spans, summary.left_offsets) == (0, {}, {})
    assert versions(lake) == before


def test_replay_that_left_something_out_is_a_reason_to_look() -> None:
    assert ReplaySummary("run", "/lake").exit_code == 0
    assert ReplaySummary("run", "/lake", left_out={"orders-0": "cannot be read"}).exit_code == 3


def test_no_file_is_left_of_the_bytes_that_were_decoded_again(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    replayed(lake, limits={"max_decompressed_batch_bytes": _MORE})
    assert list((lake / "records" / "_seglake" / "replay").iterdir()) == []


def test_damaged_bytes_are_not_replayed_but_a_sibling_fills_them(tmp_path: Path) -> None:
    edges = {("orders", 0): [0, 20, 40]}
    one = make_log_dir(tmp_path / "one", edges, broker_id=1)
    two = make_log_dir(tmp_path / "two", edges, broker_id=2)
    log = one / "orders-0" / f"{20:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    lake = tmp_path / "lake"
    ingested(one, lake, isolation="read_committed")
    assert replayed(lake).repaired_gaps == 0
    summary = replayed(lake, two)
    assert summary.repaired_gaps == 1
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []


def test_dry_run_says_what_would_be_filled_and_commits_nothing(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    before = versions(lake)
    summary = replayed(lake, dry_run=True, limits={"max_decompressed_batch_bytes": _MORE})
    assert (summary.planned_gaps, summary.planned_offsets, summary.exit_code) == (1, 5, 0)
    assert summary.to_text().startswith(
        "dry run: 5 offsets in 1 gap would be filled in; nothing was committed ("
    )
    assert "offsets that are not there: 5 quarantined, in orders-0 (5)" in summary.to_text()
    assert versions(lake) == before
    assert list((lake / "records" / "_seglake").rglob("*.log")) == []
    nothing = replayed(lake, dry_run=True, limits={"max_decompressed_batch_bytes": _SMALL})
    assert (nothing.planned_gaps, nothing.planned_offsets) == (0, 0)


def test_dry_run_is_an_option_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    before = versions(lake)
    limit = f"limits.max_decompressed_batch_bytes={_MORE}"
    options = ["--engine", "local", "--set", limit, "--dry-run", "--json"]
    assert main(["--lake", str(lake), *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["is_dry_run"], told["planned_gaps"], told["planned_offsets"]) == (True, 1, 5)
    assert versions(lake) == before


def test_dry_run_counts_a_gap_once_that_two_sources_could_fill(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    limits = {"max_decompressed_batch_bytes": _MORE}
    summary = replayed(lake, tmp_path / "disk", dry_run=True, limits=limits)
    assert (summary.planned_gaps, summary.planned_offsets) == (1, 5)


def test_dry_run_leaves_the_commit_of_a_run_that_died_as_it_is(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    limits = {"max_decompressed_batch_bytes": _MORE}

    def die(step: str) -> None:
        if step == "records":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replayed(lake, after=die, limits=limits)
    before = versions(lake)
    replayed(lake, dry_run=True, limits=limits)
    assert versions(lake) == before


def test_what_is_left_is_said_with_its_partitions_the_most_first(tmp_path: Path) -> None:
    edges = {("orders", number): [0, 20, 40, 60] for number in range(5)}
    disk = make_log_dir(tmp_path / "disk", edges)
    for number in range(5):
        log = disk / f"orders-{number}" / f"{20:020}.log"
        log.unlink()
    log = disk / "orders-3" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    lake = tmp_path / "lake"
    ingested(disk, lake, isolation="read_committed")
    summary = replayed(lake)
    assert summary.left_partitions == {**{f"orders-{n}": 20 for n in range(5)}, "orders-3": 25}
    line = "in orders-3 (25), orders-0 (20), orders-1 (20) and 2 more"
    assert line in summary.to_text()


def test_replay_of_no_lake_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(NotALakeError, match="is no lake: it has no table records"):
        replayed(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("command", [replayed, audited])
def test_lake_that_may_be_listed_but_not_read_is_refused_where_it_is_opened(
    command: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)

    def refuse(self: LakeTables, table: Table) -> DeltaTable:
        raise RefusedError(action="open the table", path=self.path(table), reason="not permitted")

    monkeypatch.setattr(LakeTables, "open", refuse)
    with pytest.raises(LakeRefusedError, match="the lake is refused: cannot open the table"):
        command(lake)
