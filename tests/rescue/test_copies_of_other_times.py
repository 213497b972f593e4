"""Copies of one disk from before and after a compaction: what the older one has more."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.task_engine.engine import Engine
from support.audits import audited, checked, falsified, kinds
from support.broker_disks import log_dir, partitions
from support.encoder import (
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    write_checkpoint,
)
from support.lakes import ingested, read_table, replayed, retaken
from support.made_logs import FIRST_MS, TOPIC_IDS, made_batches, write_over
from support.oracle import Isolation, OracleRecord, expected_records
from support.views import records_in, viewed

_OLDER = {"older_copies": True}
_GAPS = "SELECT start_offset, next_offset, cause FROM current_gaps ORDER BY start_offset"


def _by_kafka(topic: str, partition: int) -> list[OracleRecord]:
    """What Kafka's consumer got from either copy of the disk."""
    found = {
        record.offset: record
        for copy in ("after", "before")
        for record in expected_records(
            "05_compacted", copy, topic, partition, Isolation.READ_COMMITTED
        )
    }
    return [found[offset] for offset in sorted(found)]


@pytest.mark.parametrize(
    "calls", [["after", "before"], ["before", "after"], ["after before"]], ids=" then ".join
)
def test_a_real_disk_gives_what_kafkas_consumer_got_before_and_after_the_cleaner(
    tmp_path: Path, engine: Engine, calls: Sequence[str]
) -> None:
    lake = tmp_path / "lake"
    for call in calls:
        sources = [log_dir("05_compacted", copy) for copy in call.split()]
        ingested(sources, lake, isolation="read_committed", engine=engine, read=_OLDER)
    for facts in partitions("05_compacted", "after"):
        if not facts.topic.startswith("__"):
            found = records_in(lake, "current_records", facts.partition, facts.topic)
            assert found == _by_kafka(facts.topic, facts.partition), facts.topic
    assert audited(lake, engine=engine).exit_code == 0
    for copy in ("after", "before"):
        reports = checked(log_dir("05_compacted", copy), lake, engine=engine)
        assert not any(report.has_problem for report in reports)


def _thinned(tmp_path: Path) -> tuple[Path, Path]:
    """A disk as it was, and after the cleaner took a batch and three records of another one."""
    whole = made_batches("orders", 0, range(20))
    left = Record(b"k7", b"left", FIRST_MS, offset=7), Record(b"k9", b"left", FIRST_MS, offset=9)
    whole[1] = record_batch(
        5, [Record(f"k{at}".encode(), b"left", FIRST_MS, offset=at) for at in range(5, 10)]
    )
    thinned = [whole[0], record_batch(5, left), whole[3]]
    paths = tmp_path / "before", tmp_path / "after"
    for path, batches in zip(paths, (whole, thinned), strict=True):
        segment = Segment(0, batches)
        write_over(path, [Partition("orders", 0, [segment], topic_id=TOPIC_IDS["orders"])])
    write_checkpoint(paths[1] / "cleaner-offset-checkpoint", {("orders", 0): 15})
    return paths


def test_a_thinned_batch_gets_its_records_back_and_says_so(tmp_path: Path) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    ingested(after, lake)
    planned = ingested(before, lake, read=_OLDER, dry_run=True)
    assert planned.refilled == {"orders-0": 8}  # five in a gap, three in the thinned batch
    summary = ingested(before, lake, read=_OLDER)
    assert (summary.exit_code, summary.refilled) == (0, {"orders-0": 8})
    assert "ingested from older copies: 8 records in orders-0 (8)" in summary.to_text()
    offsets = [row["offset"] for row in viewed(lake, 'SELECT "offset" FROM current_records')]
    assert sorted(offsets) == [*range(20)]
    assert viewed(lake, _GAPS) == []
    (refill,) = [row for row in read_table(lake, "checkpoints") if row["kind"] == "refill"]
    assert (refill["records"], refill["batches"]) == (8, 2)
    audit = audited(lake)
    (found,) = audit.partitions
    assert (found.problems, found.refilled.records, found.totals.accounted) == ((), 8, 20)
    assert "refilled 8 records that were compacted in the first copy" in to_text(audit)


def test_a_lake_without_a_topic_id_gets_the_records_of_a_copy_that_names_one(
    tmp_path: Path,
) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    (after / "orders-0" / "partition.metadata").unlink()
    ingested(after, lake)
    for is_dry_run in (True, False):
        summary = ingested(before, lake, read=_OLDER, dry_run=is_dry_run)
        assert summary.refilled == {"orders-0": 8}
    assert len(viewed(lake, 'SELECT "offset" FROM current_records')) == 20
    assert audited(lake).exit_code == 0


def test_offsets_of_a_cleaned_disk_add_up_after_an_older_copy(tmp_path: Path) -> None:
    """The cleaner kept empty batches, whose records the older copy has."""
    lake = tmp_path / "lake"
    for copy in ("after", "before"):
        ingested(log_dir("05_compacted", copy), lake, isolation="read_committed", read=_OLDER)
    for found in audited(lake).partitions:
        sums, covered = found.totals, sum(stop - start for start, stop in found.covered)
        assert min(sums.other_span, sums.lacking) >= 0, found.partition
        assert sums.accounted == covered, found.partition


def test_the_newer_copy_agrees_with_a_lake_that_has_more(tmp_path: Path) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    ingested([after, before], lake, read=_OLDER)
    for copy in (after, before):
        (report,) = checked(copy, lake)
        assert not report.has_problem


def test_a_second_run_takes_nothing_more(tmp_path: Path) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    for copy in (after, before):
        ingested(copy, lake, read=_OLDER)
    count = len(read_table(lake, "checkpoints"))
    for copies in ([before], [after], [after, before]):
        assert ingested(copies, lake, read=_OLDER).refilled == {}
    assert len(read_table(lake, "checkpoints")) == count


def test_a_replay_takes_from_an_older_copy_too(tmp_path: Path) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    ingested(after, lake)
    assert replayed(lake, before).refilled == {}
    assert replayed(lake, before, read=_OLDER, dry_run=True).refilled == {"orders-0": 8}
    assert len(read_table(lake, "records")) == 12
    summary = replayed(lake, before, read=_OLDER)
    assert (summary.exit_code, summary.refilled) == (0, {"orders-0": 8})
    assert "8 records came from older copies" in summary.to_text()
    assert json.loads(summary.to_json())["refilled"] == {"orders-0": 8}


def test_a_compressed_segment_of_an_older_copy_is_named_as_long_as_it_may_have_more(
    tmp_path: Path,
) -> None:
    before, after = _thinned(tmp_path)
    (plain,) = (before / "orders-0").glob("*.log")
    compressed = plain.with_name(f"{plain.name}.gz")
    compressed.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    lake = tmp_path / "lake"
    ingested(after, lake)
    for is_dry_run in (True, False):
        summary = ingested([after, before], lake, read=_OLDER, dry_run=is_dry_run)
        assert (summary.exit_code, summary.refilled) == (3, {})
        said = f"left out: orders-0: 1 compressed segment ({compressed.name}) in {before}/orders-0"
        assert f"{said} may have records at 5 offsets" in summary.to_text()
    plain.write_bytes(gzip.decompress(compressed.read_bytes()))
    compressed.unlink()
    summary = ingested([after, before], lake, read=_OLDER)
    assert (summary.exit_code, summary.refilled) == (0, {"orders-0": 8})
    plain.rename(compressed)
    assert ingested([after, before], lake, read=_OLDER).exit_code == 0


def test_a_lake_follows_its_log_and_says_what_an_older_copy_has_more(tmp_path: Path) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    ingested(after, lake)
    for is_dry_run in (True, False):
        summary = ingested(before, lake, dry_run=is_dry_run)
        assert (summary.exit_code, summary.left_in_copies) == (0, {"orders-0": 8})
        first, second, *_ = summary.to_text().splitlines()
        assert "nothing ingested in 1 partition" in first
        assert second == (
            "left in older copies: 8 records that are compacted in the lake, orders-0 (8); the "
            "same call with --older-copies ingests them"
        )
    replay = replayed(lake, before)
    assert (replay.exit_code, replay.left_in_copies) == (0, {"orders-0": 8})
    assert "left in older copies: 8 records" in replay.to_text()
    assert len(read_table(lake, "records")) == 12
    ingested(before, lake, read=_OLDER)
    assert "nothing new in" in ingested(before, lake).to_text()


def test_a_copy_that_ends_below_the_lake_is_looked_at_without_a_gap_too(tmp_path: Path) -> None:
    # The cleaner took records of a batch, and no whole batch.
    whole = made_batches("orders", 0, range(20))
    few = Record(b"k7", b"left", FIRST_MS, offset=7), Record(b"k9", b"left", FIRST_MS, offset=9)
    for name, batches in (
        ("after", [whole[0], record_batch(5, few), *whole[2:]]),
        ("b", whole[:3]),
    ):
        partition = Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])
        write_over(tmp_path / name, [partition])
    lake = tmp_path / "lake"
    ingested(tmp_path / "after", lake)
    assert ingested(tmp_path / "b", lake).left_in_copies == {"orders-0": 3}


def test_live_replicas_whose_cleaner_is_behind_are_named_and_not_read(tmp_path: Path) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    ingested(after, lake)
    properties = before / "meta.properties"
    properties.write_text(properties.read_text().replace("broker.id=0", "broker.id=1"))
    once, twice = (ingested([after, before], lake) for _ in range(2))
    again = retaken(lake, after, before, selection=Selection(is_whole=True))
    assert (once.left_in_copies, twice.left_in_copies, again.left_in_copies) == ({}, {}, {})
    for summary in (once, twice, again):
        assert summary.exit_code == 0
        assert (
            "up to 5 offsets that are compacted in the lake may be in less compacted "
            "replicas: orders-0 (5); --older-copies ingests them"
        ) in summary.notes
    assert ingested(after, lake).notes == []


def test_a_copy_of_another_log_fills_nothing_and_is_named(tmp_path: Path) -> None:
    _, after = _thinned(tmp_path)
    lake, other = tmp_path / "lake", tmp_path / "other"
    ingested(after, lake)
    batches = made_batches("payments", 0, range(20))
    write_over(other, [Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])])
    summary = replayed(lake, other, read=_OLDER)
    assert summary.refilled == {}
    assert summary.exit_code == 3
    assert (
        "its batches differ from the lake's; nothing is ingested from this copy"
        in summary.to_text()
    )


def test_an_older_copy_with_one_differing_batch_is_left_out(tmp_path: Path) -> None:
    whole, lake = made_batches("orders", 0, range(20)), tmp_path / "lake"
    other = record_batch(10, [Record(b"k", b"other", FIRST_MS, offset=at) for at in range(10, 15)])
    disks = {
        "new": [whole[0], *whole[2:]],
        "old": [*whole[:2], other],
        "older": [*whole[:2], other],
    }
    for number, (name, batches) in enumerate(disks.items()):
        partition = Partition("orders", 0, [Segment(0, batches)], topic_id=TOPIC_IDS["orders"])
        write_over(tmp_path / name, [partition], broker_id=number)
    write_checkpoint(tmp_path / "new" / "cleaner-offset-checkpoint", {("orders", 0): 20})
    read = {**_OLDER, "upper_bound": "log_end"}
    ingested(tmp_path / "new", lake, read=read)
    older = [tmp_path / name for name in ("old", "older")]
    for is_dry_run in (True, False, False):
        summary = ingested(older, lake, read=read, dry_run=is_dry_run)
        assert (summary.exit_code, summary.refilled) == (3, {})
        assert "left out: orders-0: " in summary.to_text()
    for folder in older:
        assert f"{folder / 'orders-0'}: its batches differ from the lake's" in summary.to_text()


def test_what_a_refill_leaves_of_an_open_transaction_still_names_its_producer(
    tmp_path: Path,
) -> None:
    header = Header(producer=Producer(7, 0), is_transactional=True)
    still_open = record_batch(5, [Record(b"k", b"v", FIRST_MS)], header)
    whole, lake = made_batches("orders", 0, range(5))[0], tmp_path / "lake"
    thinned = record_batch(0, [Record(b"k", b"v", FIRST_MS, offset=at) for at in (0, 4)])
    for name, batch in (("after", thinned), ("before", whole)):
        segment = Segment(0, [batch, still_open])
        partition = Partition("orders", 0, [segment], topic_id=TOPIC_IDS["orders"])
        write_over(tmp_path / name, [partition])
        read = {**_OLDER, "upper_bound": "log_end"}
        ingested(tmp_path / name, lake, isolation="read_committed", read=read)
    rows = [(row["start_offset"], row["detail"]) for row in read_table(lake, "gaps")]
    assert rows == [(5, "of a transaction of producer 7 that has not ended")] * 2


def test_a_record_that_came_twice_by_a_refill_is_a_problem(tmp_path: Path) -> None:
    before, after = _thinned(tmp_path)
    lake = tmp_path / "lake"
    for copy in (after, before):
        ingested(copy, lake, read=_OLDER)
    falsified(
        lake,
        "records",
        lambda rows: [row | {"offset": 7} if row["offset"] == 6 else row for row in rows],
    )
    assert "offset_twice" in kinds(audited(lake))


def _aborted_and_cleaned(tmp_path: Path) -> tuple[Path, Path]:
    """A disk with an open transaction, and the disk when the cleaner had taken that and its abort.

    The same producer committed another transaction since.
    """

    def data(first: int) -> EncodedBatch:
        header = Header(producer=Producer(7, 0), is_transactional=True)
        return record_batch(first, [Record(f"k{first}".encode(), b"v", FIRST_MS)], header)

    begun = [*made_batches("orders", 0, range(5)), data(5)]
    commit = end_marker(9, ControlType.COMMIT, producer_id=7, timestamp_ms=FIRST_MS)
    cleaned = [begun[0], *made_batches("orders", 0, range(7, 8)), data(8), commit]
    paths = tmp_path / "begun", tmp_path / "cleaned"
    for path, batches in zip(paths, (begun, cleaned), strict=True):
        segment = Segment(0, batches)
        write_over(path, [Partition("orders", 0, [segment], topic_id=TOPIC_IDS["orders"])])
    write_checkpoint(paths[1] / "cleaner-offset-checkpoint", {("orders", 0): 7})
    return paths


@pytest.mark.parametrize("older_copies", [False, True])
def test_what_an_older_copy_has_of_an_aborted_transaction_stays_out(
    tmp_path: Path, older_copies: bool
) -> None:
    begun, cleaned = _aborted_and_cleaned(tmp_path)
    read = {"older_copies": older_copies, "upper_bound": "log_end"}
    for number, order in enumerate(([begun, cleaned, begun], [cleaned, begun])):
        lake = tmp_path / f"lake{number}"
        for path in order:
            ingested(path, lake, isolation="read_committed", read=read)
        offsets = sorted(row["offset"] for row in read_table(lake, "records"))
        assert offsets == [0, 1, 2, 3, 4, 7, 8]
