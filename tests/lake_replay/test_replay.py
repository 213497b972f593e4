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
from seglake.log_dirs.errors import WrongSourceError
from seglake.settings.topic_selection import NothingSelectedError
from seglake.storage.errors import RefusedError
from support.accounts import imbalances_of, standing_gaps
from support.audits import audited
from support.cases import cases
from support.corrupt_cases import corrupt_case
from support.damaged_replicas import LARGE_LIMIT, SMALL_LIMIT, lake_without_a_large_batch
from support.dying import Died, dying
from support.encoder import (
    Codec,
    ControlType,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    write_checkpoint,
)
from support.lakes import content, ingested, read_table, replayed, versions
from support.made_logs import FIRST_MS, made_batches, make_log_dir, write_over


def test_batch_that_was_too_large_comes_in_with_a_higher_limit(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    whole = tmp_path / "whole"
    ingested(tmp_path / "disk", whole)
    summary = replayed(lake, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    assert (summary.repaired_gaps, summary.repaired_records) == (1, 5)
    assert (summary.left_spans, summary.left_offsets, summary.exit_code) == ({}, {}, 0)
    assert content(lake, "records") == content(whole, "records")
    assert content(lake, "batches") == content(whole, "batches")
    assert standing_gaps(lake) == []
    assert imbalances_of(lake) == []
    resolutions = [row["resolution"] for row in read_table(lake, "quarantine")]
    assert sorted(map(str, resolutions)) == ["None", "replayed"]


def test_a_transaction_of_a_cleaned_log_that_was_too_large_comes_in_with_its_known_end(
    tmp_path: Path,
) -> None:
    inside = Header(producer=Producer(7, 0), is_transactional=True)
    large = Record(b"k", bytes(2 * SMALL_LIMIT), FIRST_MS)
    batches = [
        *made_batches("orders", 0, range(5)),
        record_batch(5, [large], inside, codec=Codec.GZIP),
        record_batch(6, [Record(b"k", b"v", FIRST_MS)]),
        *made_batches("orders", 0, range(10, 15)),  # the cleaner took what was in front
        end_marker(15, ControlType.COMMIT, producer_id=7, timestamp_ms=FIRST_MS),
    ]
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    write_over(disk, [Partition("orders", 0, [Segment(0, batches)], high_watermark=16)])
    write_checkpoint(disk / "cleaner-offset-checkpoint", {("orders", 0): 16})
    ingested(disk, lake, limits={"max_decompressed_batch_bytes": SMALL_LIMIT})
    assert "decompression_limit" in [row["defect_code"] for row in read_table(lake, "quarantine")]
    replayed(lake, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    offsets = sorted(row["offset"] for row in read_table(lake, "records"))
    assert offsets == [*range(7), *range(10, 15)]
    assert imbalances_of(lake) == []


def test_second_replay_does_nothing(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    replayed(lake, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    before = versions(lake)
    summary = replayed(lake, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    assert summary.repaired_gaps == 0
    assert versions(lake) == before
    assert summary.to_text().startswith("nothing to fill (")


def test_replay_with_the_same_limit_says_what_is_left_and_writes_nothing(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    before = versions(lake)
    summary = replayed(lake, limits={"max_decompressed_batch_bytes": SMALL_LIMIT})
    assert versions(lake) == before
    assert summary.left_spans == {"decompression_limit": 1}
    assert summary.left_offsets == {"quarantined": 5}
    assert "still quarantined: 1 decompression_limit" in summary.to_text()


def test_topics_that_are_not_selected_stay_as_they_are(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    ingested(make_log_dir(tmp_path / "other", {("payments", 0): [0, 5]}), lake)
    before = versions(lake)
    summary = replayed(
        lake,
        limits={"max_decompressed_batch_bytes": LARGE_LIMIT},
        select={"topics": ["payments", "!ordrs"]},
    )
    assert summary.notes == ["!ordrs excludes no topic of the lake; did you mean orders?"]
    assert (summary.repaired_gaps, summary.left_spans, summary.left_offsets) == (0, {}, {})
    assert versions(lake) == before


def test_replay_of_topics_that_the_lake_does_not_have_is_a_wrong_call(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    with pytest.raises(NothingSelectedError, match=r"of the lake is selected by ordrs \(did you"):
        replayed(lake, select={"topics": ["ordrs"]})


def test_a_topic_that_is_named_and_not_there_needs_a_look(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    summary = replayed(lake, dry_run=True, select={"topics": ["orders", "payment"]})
    assert summary.left_out == {"payment": "payment selects no topic of the lake"}
    assert summary.exit_code == 3


@pytest.mark.parametrize("dry_run", [True, False])
def test_disks_of_a_cluster_that_the_lake_does_not_have_are_a_wrong_call(
    dry_run: bool, tmp_path: Path
) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    before = versions(lake)
    other = make_log_dir(tmp_path / "other", {("orders", 0): [0, 20]}, cluster_id="other")
    with pytest.raises(WrongSourceError, match="has no rows of the sources' cluster other"):
        replayed(lake, other, dry_run=dry_run)
    assert versions(lake) == before


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


@pytest.mark.parametrize(
    "name",
    cases(
        ["codec_5__v2", "bad_stream_body__v0-gzip", "bad_stream_body__v2-zstd"],
        telling=["codec_5__v2", "bad_stream_body__v0-gzip"],
    ),
)
def test_a_sound_copy_of_the_same_disk_fills_what_failed_inside(name: str, tmp_path: Path) -> None:
    """It has the batch in the same place, where the damaged one had a right checksum, too."""
    case, lake = corrupt_case(name), tmp_path / "lake"
    ingested(case.log_dir, lake)
    (gap,) = standing_gaps(lake)
    planned = replayed(lake, case.source_folder, dry_run=True)
    summary = replayed(lake, case.source_folder)
    assert (planned.planned_gaps, summary.repaired_gaps) == (1, 1)
    assert (
        summary.repaired_records == len(case.lost_offsets[0]) == gap.next_offset - gap.start_offset
    )
    assert (standing_gaps(lake), imbalances_of(lake)) == ([], [])


def test_dry_run_says_what_would_be_filled_and_commits_nothing(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    before = versions(lake)
    summary = replayed(lake, dry_run=True, limits={"max_decompressed_batch_bytes": LARGE_LIMIT})
    assert (summary.planned_gaps, summary.planned_offsets, summary.exit_code) == (1, 5, 0)
    assert summary.to_text().startswith(
        "dry run: 5 offsets in 1 gap in orders-0 [5, 10) would be filled; nothing was committed ("
    )
    assert "would be filled: orders-0 [5, 10): 5 offsets" in summary.to_text().splitlines()
    assert (summary.left_gaps, "offsets that are not there" in summary.to_text()) == ({}, False)
    assert versions(lake) == before
    assert list((lake / "records" / "_seglake").rglob("*.log")) == []
    nothing = replayed(lake, dry_run=True, limits={"max_decompressed_batch_bytes": SMALL_LIMIT})
    assert (nothing.planned_gaps, nothing.planned_offsets) == (0, 0)
    assert "offsets in gaps that remain: 5 quarantined in orders-0 [5, 10)" in nothing.to_text()


def test_dry_run_is_an_option_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    before = versions(lake)
    limit = f"limits.max_decompressed_batch_bytes={LARGE_LIMIT}"
    options = ["--engine", "local", "--set", limit, "--dry-run", "--json"]
    assert main(["--lake", str(lake), *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["is_dry_run"], told["planned_gaps"], told["planned_offsets"]) == (True, 1, 5)
    assert [fill["partition"] for fill in told["planned_fills"]] == ["orders-0"]
    assert versions(lake) == before


def test_dry_run_leaves_the_commit_of_a_run_that_died_as_it_is(tmp_path: Path) -> None:
    lake = lake_without_a_large_batch(tmp_path)
    limits = {"max_decompressed_batch_bytes": LARGE_LIMIT}

    with pytest.raises(Died):
        replayed(lake, after=dying("records"), limits=limits)
    before = versions(lake)
    replayed(lake, dry_run=True, limits=limits)
    assert versions(lake) == before


def test_replay_of_no_lake_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(NotALakeError, match="is not a lake: it does not exist"):
        replayed(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("command", [replayed, audited])
def test_lake_that_may_be_listed_but_not_read_is_refused_where_it_is_opened(
    command: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_without_a_large_batch(tmp_path)

    def refuse(self: LakeTables, table: Table) -> DeltaTable:
        raise RefusedError(action="open the table", path=self.path(table), reason="not permitted")

    monkeypatch.setattr(LakeTables, "unchecked", refuse)
    with pytest.raises(LakeRefusedError, match="the lake is refused: cannot open the table"):
        command(lake)
