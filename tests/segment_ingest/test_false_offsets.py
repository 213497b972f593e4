"""Batches whose offset field is wrong: what a run ingests, quarantines and says."""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from seglake.cli import ingest_command
from seglake.task_engine.engine import SparkEngine
from support.accounts import imbalances_of
from support.broker_disks import SCENARIOS, copies, log_dirs
from support.cases import cases, every
from support.encoder import (
    Codec,
    EncodedBatch,
    Partition,
    Record,
    Segment,
    message,
    record_batch,
    wrapper,
    write_log_dir,
)
from support.faults import with_offset
from support.lakes import content, ingested, read_table
from support.made_logs import FIRST_MS
from support.offset_flips import Flip, FlippedLog, Outcome, logs_of, random_flip
from support.taken import gaps_taken, offsets_taken

Span = tuple[int, int]
KINDS = ("batch", "wrapper_0", "wrapper_1", "message_0", "message_1")
_PLACES = [*product(KINDS, [0, 2, 3, 7])]


def _records(start: int, stop: int) -> list[Record]:
    return [Record(b"k", b"v%d" % number, FIRST_MS + number) for number in range(start, stop)]


def _made(kind: str, start: int) -> EncodedBatch:
    """One message, or a batch of ten."""
    if kind == "batch":
        return record_batch(start, _records(start, start + 10))
    name, magic = kind.split("_")
    if name == "wrapper":
        return wrapper(start, _records(start, start + 10), int(magic), Codec.GZIP)
    return message(start, _records(start, start + 1)[0], int(magic))


def _raised(batch: EncodedBatch, by: int) -> EncodedBatch:
    return with_offset(batch, int.from_bytes(batch.data[:8], "big") + by)


def _disk(folder: Path, kind: str, index: int, by: int) -> range:
    """Write two segments of four batches each, one batch raised; the offsets that it truly has."""
    step = 1 if kind.startswith("message") else 10
    log = [_made(kind, start) for start in range(0, 8 * step, step)]
    true = range(log[index].base_offset, log[index].next_offset)
    log[index] = _raised(log[index], by)
    segments = [Segment(0, log[:4]), Segment(4 * step, log[4:])]
    write_log_dir(folder, [Partition("orders", 0, segments, high_watermark=8 * step)])
    return true


@pytest.mark.parametrize(("kind", "index"), cases(_PLACES, telling=every(3, _PLACES)))
def test_a_raised_batch_is_lost_alone(kind: str, index: int, tmp_path: Path) -> None:
    lost = _disk(tmp_path / "data", kind, index, 4)
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert summary.exit_code == 3
    assert summary.counts.quarantined == 1
    if kind == "wrapper_0":  # its messages have offsets of their own, which a checksum covers
        (row,) = read_table(tmp_path / "lake", "quarantine")
        assert (row["defect_code"], len(row["raw"])) == ("offset_contradicted", 8)
        lost = range(0)
    gaps = [(lost.start, lost.stop, "quarantined")] if lost else []
    assert gaps_taken(tmp_path / "lake") == gaps
    rows = read_table(tmp_path / "lake", "records")
    assert {row["offset"]: row["value"] for row in rows} == {
        offset: b"v%d" % offset
        for offset in range(8 if kind.startswith("message") else 80)
        if offset not in lost
    }
    assert imbalances_of(tmp_path / "lake") == []


def test_the_command_says_which_partition_has_a_false_offset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _disk(tmp_path / "data", "batch", 2, 4)
    arguments = ["--source", str(tmp_path / "data"), "--lake", str(tmp_path / "lake")]
    assert ingest_command.main([*arguments, "--engine", "local"]) == 3
    assert "quarantined: 1 offset_contradicted" in capsys.readouterr().out
    (row,) = read_table(tmp_path / "lake", "quarantine")
    assert row["defect_detail"] == (
        "offsets 24 to 33 are between offset 19 and 30 to 39; its neighbours prove that it has "
        "offsets 20 to 29"
    )


def test_batches_of_which_either_may_be_false_are_both_quarantined(tmp_path: Path) -> None:
    spans = [(0, 10), (32, 37), (33, 38), (60, 70), (70, 80)]
    log = [record_batch(start, _records(start, stop)) for start, stop in spans]
    partition = Partition("orders", 0, [Segment(0, log), Segment(80, [])])
    write_log_dir(tmp_path / "data", [partition])
    (tmp_path / "data" / "cleaner-offset-checkpoint").write_text("0\n1\norders 0 80\n")
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert summary.defects == {"offset_contradicted": 2}
    assert offsets_taken(tmp_path / "lake") == [*range(10), *range(60, 80)]
    assert {row["defect_detail"] for row in read_table(tmp_path / "lake", "quarantine")} == {
        "offsets 32 to 36 and 33 to 37 overlap, and nothing shows which are wrong"
    }


def test_holes_that_leave_offsets_unproved_are_said(tmp_path: Path) -> None:
    log = [record_batch(start, _records(start, start + 5)) for start in (0, 5, 20, 40)]
    write_log_dir(tmp_path / "data", [Partition("orders", 0, [Segment(0, log)])])
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert summary.counts.quarantined == 0
    assert summary.notes == [
        "holes between batches are normal in 1 compacted partition; but no checksum proves the "
        "offsets of the batches next to a hole"
    ]


@pytest.mark.spark
@pytest.mark.matrix  # tasks of Spark are those of any engine, and read damage: test_readers_agree
def test_spark_finds_the_same_false_offsets(tmp_path: Path, spark_session: SparkSession) -> None:
    _disk(tmp_path / "data", "wrapper_1", 3, 4)
    spark = SparkEngine(spark_session.sparkContext)
    ingested(tmp_path / "data", tmp_path / "spark", engine=spark)
    ingested(tmp_path / "data", tmp_path / "local")
    for table in ("records", "quarantine", "gaps"):
        assert content(tmp_path / "spark", table) == content(tmp_path / "local", table)


def _sample_logs(scenario: str, split_bytes: int) -> Iterator[FlippedLog]:
    for copy in copies(scenario)[:1]:
        for log_dir in log_dirs(scenario, copy):
            for log in logs_of(log_dir.path, split_bytes=split_bytes):
                if any(log.batches):
                    yield log


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_flipped_offset_of_a_real_log_is_silently_wrong(scenario: str) -> None:
    """A sample; `make flips` flips as many as it is told."""
    random = Random(scenario)
    for log in islice(_sample_logs(scenario, 2000), 6):
        for _ in range(2):
            flip = random_flip(log, random)
            outcome, _ = log.outcome(flip)
            assert outcome is not Outcome.WRONG, (log.replica.key, flip)


def test_compaction_in_the_next_segment_leaves_no_room_above_its_name() -> None:
    """The last batch of a segment, moved to where the next segment lost its first ones."""
    (log_dir,) = log_dirs("13_legacy_in_4x", "after")
    (log,) = (log for log in logs_of(log_dir.path) if log.replica.key.topic == "old-v0-lz4")
    outcome, answer = log.outcome(Flip(segment=1, batch=3, mask=24))
    assert outcome is Outcome.QUARANTINED
    assert [row[-1] for row in answer.quarantined] == [
        "offsets 151 to 151 are outside the segment's range, 74 to 150"
    ]


@pytest.mark.parametrize("scenario", ["02_v1_codecs", "03_v2_codecs", "05_compacted"])
def test_the_size_of_splits_does_not_change_what_is_found(scenario: str) -> None:
    random = Random(scenario)
    sizes = [_sample_logs(scenario, split_bytes) for split_bytes in (300, 1 << 30)]
    for small, large in islice(zip(*sizes, strict=True), 5):
        for _ in range(2):
            flip = random_flip(small, random)
            one, other = small.outcome(flip)[1], large.outcome(flip)[1]
            assert one.records == other.records
            assert _sorted(one.quarantined) == _sorted(other.quarantined)


def _sorted(rows: Sequence[tuple[object, ...]]) -> list[str]:
    return sorted(map(repr, rows))
