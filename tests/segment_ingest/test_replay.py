"""Quarantined bytes are decoded again, and come into the tables once."""

import io
from pathlib import Path
from typing import Any

import pytest

from lake.engine import LocalEngine
from lake.errors import LakeFolderError
from lake.local_storage import LocalStorage
from pipelines.segment_ingest.progress import RunReporter
from pipelines.segment_ingest.replay import ReplaySummary, replay
from pipelines.segment_ingest.settings import Settings
from support.accounts import StandingGap, imbalances_of, standing_gaps
from support.encoder import Codec, Partition, Record, Segment, record_batch
from support.lakes import content, ingested, read_table, versions
from support.made_logs import FIRST_MS, TOPIC_IDS, make_log_dir, write_over

_SMALL = 1 << 16
_MORE = 1 << 22


def replayed(lake: Path, *sources: Path, **sections: Any) -> ReplaySummary:
    settings = Settings.from_mappings([("test", sections)])
    with LocalEngine(1) as engine:
        paths = [str(source) for source in sources]
        return replay(
            str(lake), paths, LocalStorage(), settings, engine, RunReporter(io.StringIO())
        )


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


def test_no_file_is_left_of_the_bytes_that_were_decoded_again(tmp_path: Path) -> None:
    lake = _ingested_with_a_small_limit(tmp_path)
    replayed(lake, limits={"max_decompressed_batch_bytes": _MORE})
    assert list((lake / "records" / "_seglake").rglob("*.log")) == []


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


def test_replay_of_no_lake_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(LakeFolderError, match="no tables"):
        replayed(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
