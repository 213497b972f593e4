"""Holes are named and never green: segments that are compressed, packed, tiered, or gone."""

import gzip
import json
import shutil
import tarfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from seglake.findings.kinds import FindingKind
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import SparkEngine
from support.accounts import imbalances_of
from support.audits import audited, kinds
from support.broker_disks import unpacked
from support.cases import cases
from support.encoder import Partition
from support.found import unknown_outcomes, unread_files
from support.lake_rows import new_lake
from support.lakes import content, ingested, oracle_record, read_table, replayed
from support.made_logs import made_records, made_segments, make_log_dir, write_over
from support.oracle import Isolation, expected_records
from support.taken import gaps_taken, is_nothing_new, offsets_taken, ranges_taken, records_taken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ORDERS = ("orders", 0)
_MARKS = "replication-offset-checkpoint"


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "disk", {_ORDERS: [0, 20, 40, 60]})


def _compress(disk: Path, *bases: int) -> None:
    for base in bases:
        log = disk / "orders-0" / f"{base:020d}.log"
        log.with_name(f"{log.name}.gz").write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()


def _decompress(disk: Path) -> None:
    for packed in (disk / "orders-0").glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))


@pytest.mark.parametrize(
    ("compressed", "readable"),
    cases(
        [
            ((0,), [(20, 60)]),
            ((20,), [(0, 20), (40, 60)]),
            ((40,), [(0, 40)]),
            ((0, 20, 40), []),
        ],
        telling=lambda case: case[0] in ((20,), (0, 20, 40)),
    ),
)
def test_compressed_segments_wait_until_somebody_decompresses_them(
    compressed: tuple[int, ...], readable: list[tuple[int, int]], disk: Path, lake: Path
) -> None:
    _compress(disk, *compressed)
    for _ in range(2):
        summary = ingested(disk, lake)
        assert summary.exit_code == 3
        assert (ranges_taken(lake), gaps_taken(lake)) == (readable, [])
        assert summary.findings.of(FindingKind.NOT_ON_DISK) == []
        (files,) = unread_files(summary)
        waiting = {n for base in compressed for n in range(base, base + 20)}
        assert {n for start, stop in files.ranges for n in range(start, stop)} == waiting
        assert (files.place, files.facts["files"], files.facts["size_bytes"]) == (
            "orders-0",
            len(compressed),
            sum(path.stat().st_size for path in disk.rglob("*.gz")),
        )
    said = summary.left_out["orders-0"]
    assert said.endswith(f"in {disk}/orders-0: decompress in place and run again")
    (told,) = [of for of in json.loads(summary.to_json())["findings"] if of["kind"] == "left_out"]
    assert told["ranges"] == [list(offsets) for offsets in files.ranges]
    _decompress(disk)
    assert ingested(disk, lake).exit_code == 0
    assert records_taken(lake) == made_records({_ORDERS: range(60)})
    assert (gaps_taken(lake), imbalances_of(lake), audited(lake).exit_code) == ([], [], 0)
    assert is_nothing_new(ingested(disk, lake))


@pytest.mark.parametrize(
    ("base", "isolation"),
    cases(
        [*product([13, 120], ["read_committed", "read_uncommitted"])],
        telling=[(13, "read_uncommitted"), (120, "read_committed")],
    ),
)
def test_how_a_transaction_ended_in_a_compressed_segment_is_not_guessed(
    base: int, isolation: str, lake: Path, tmp_path: Path
) -> None:
    disk, whole = tmp_path / "disk", tmp_path / "whole"
    shutil.copytree(unpacked("05_compacted") / "disks" / "before", disk)
    (log,) = disk.rglob(f"cmp-txn-0/{base:020d}.log")
    ingested(disk, whole, isolation=isolation)
    packed = log.rename(log.with_name(f"{log.name}.gz"))
    for _ in range(2):
        summary = ingested(disk, lake, isolation=isolation)
        assert unknown_outcomes(summary) == []
        assert [*summary.left_out] == ["cmp-txn-0"]
    packed.rename(log)
    assert ingested(disk, lake, isolation=isolation).exit_code == 0
    for table in ("records", "batches", "gaps"):
        assert content(lake, table) == content(whole, table)


def test_segments_that_are_compressed_after_they_were_ingested_are_of_no_interest(
    disk: Path, lake: Path
) -> None:
    ingested(disk, lake)
    _compress(disk, 0, 20)
    summary = ingested(disk, lake)
    assert (summary.exit_code, unread_files(summary), summary.notes) == (0, [], [])


def test_another_replica_has_what_is_compressed_in_the_one_that_is_read(
    disk: Path, lake: Path, tmp_path: Path
) -> None:
    other = make_log_dir(tmp_path / "other", {_ORDERS: [0, 20, 40]}, broker_id=1)
    _compress(disk, 0)
    summary = ingested([disk, other], lake)
    assert (summary.exit_code, offsets_taken(lake)) == (0, list(range(60)))


def test_a_folder_with_nothing_but_compressed_segments_is_still_a_partition(
    disk: Path, lake: Path
) -> None:
    _compress(disk, 0, 20, 40)
    for path in (disk / "orders-0").iterdir():
        if path.suffix != ".gz":
            path.unlink()
    for source in (disk, disk / "orders-0"):
        summary = ingested(source, lake)
        assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])


def test_a_disk_whose_checkpoints_prove_more_ends_with_3_as_long_as_it_does(
    disk: Path, lake: Path
) -> None:
    shorter = disk / "orders-0" / f"{40:020d}.log"
    content = shorter.read_bytes()
    for path in (disk / "orders-0").glob(f"{40:020d}.*"):
        path.unlink()
    for _ in range(2):
        summary = ingested(disk, lake)
        assert summary.exit_code == 3
        (short,) = summary.findings.of(FindingKind.NOT_ON_DISK)
        assert short.ranges == ((40, 60),)
        assert f"not on disk: orders-0: [40, 60): {_MARKS} says 60" in summary.to_text()
    allowed = ingested(disk, lake, limits={"fail_on_short_log": False})
    assert (allowed.exit_code, len(allowed.findings.of(FindingKind.NOT_ON_DISK))) == (0, 1)
    shorter.write_bytes(content)
    assert (ingested(disk, lake).exit_code, offsets_taken(lake)) == (0, list(range(60)))


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "snapshot", "index"])
def test_without_a_high_watermark_the_files_of_the_folder_prove_it(
    name: str, disk: Path, lake: Path
) -> None:
    (disk / _MARKS).unlink()
    (disk / "recovery-point-offset-checkpoint").unlink()
    folder = disk / "orders-0"
    for path in folder.glob(f"{40:020d}.*"):
        path.unlink()
    if name == "leader-epoch-checkpoint":
        (folder / name).write_text("0\n2\n0 0\n1 50\n")
    else:
        (folder / f"{50:020d}.{name}").write_bytes(b"")
    summary = ingested(disk, lake)
    assert (summary.exit_code, offsets_taken(lake)) == (3, list(range(40)))
    (short,) = summary.findings.of(FindingKind.NOT_ON_DISK)
    assert short.ranges == ((40, 50),)
    # Nothing is new, and it is looked at all the same.
    assert ingested(disk, lake).exit_code == 3


def test_a_partition_without_a_folder_is_named(disk: Path, lake: Path) -> None:
    with tarfile.open(disk / "orders-0.tar", "w") as archive:
        archive.add(disk / "orders-0", "orders-0")
    shutil.move(disk / "orders-0", lake.with_name("kept"))
    payments = make_log_dir(lake.with_name("beside"), {("payments", 0): [0, 10]}) / "payments-0"
    shutil.move(payments, disk / "payments-0")
    summary = ingested(disk, lake)
    assert summary.exit_code == 3
    text = summary.to_text()
    assert f"not on disk: orders-0: [0, 60): {_MARKS} says 60, there is no folder" in text
    assert "not read: orders-0: 1 archive (" in text
    shutil.move(lake.with_name("kept"), disk / "orders-0")
    again = ingested(disk, lake)
    assert (again.exit_code, again.findings.of(FindingKind.NOT_ON_DISK)) == (
        3,
        [],
    )  # the archive is still there
    assert offsets_taken(lake) == list(range(60))


def test_a_replica_that_was_emptied_does_not_hide_what_its_checkpoints_prove(
    disk: Path, lake: Path, tmp_path: Path
) -> None:
    """It has the newest leader epoch, so no other is read before it."""
    for path in (disk / "orders-0").glob("0*"):
        path.unlink()
    (disk / "orders-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 40\n")
    other = make_log_dir(tmp_path / "other", {_ORDERS: [0, 20]}, broker_id=1)
    summary = ingested([disk, other], lake)
    (short,) = summary.findings.of(FindingKind.NOT_ON_DISK)
    assert (summary.exit_code, short.ranges) == (3, ((0, 60),))


class _Broker:
    """Writes to its disk, each time before its high watermarks are read."""

    def __init__(self, disk: Path, patch: pytest.MonkeyPatch, times: int) -> None:
        self.end = 20
        read_bytes = LocalStorage.read_bytes

        def read(storage: LocalStorage, path: str) -> bytes:
            if path.endswith(_MARKS) and self.end < 20 + times * 20:
                self.end += 20
                make_log_dir(disk, {_ORDERS: range(0, self.end + 1, 20)})
            return read_bytes(storage, path)

        patch.setattr(LocalStorage, "read_bytes", read)


@pytest.mark.parametrize("times", [1, 2, 9])
def test_a_running_broker_that_rolls_a_segment_meanwhile_is_no_reason_to_look(
    times: int, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = make_log_dir(tmp_path / "data", {_ORDERS: [0, 20]})
    broker = _Broker(disk, monkeypatch, times)
    summary = ingested(disk, lake)
    assert (summary.exit_code, summary.findings.of(FindingKind.NOT_ON_DISK)) == (0, [])
    assert offsets_taken(lake) == list(range(min(broker.end, 40)))


def test_a_dry_run_beside_a_running_broker_plans_once_and_finds_nothing(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = make_log_dir(tmp_path / "data", {_ORDERS: [0, 20]})
    _Broker(disk, monkeypatch, 1)
    summary = ingested(disk, lake, dry_run=True)
    assert (summary.exit_code, summary.planned.planned_offsets) == (0, 20)


def test_a_topic_that_is_deleted_meanwhile_is_no_reason_to_look(
    disk: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is seen empty, and renamed when the sources are listed again."""
    for path in (disk / "orders-0").iterdir():
        path.unlink()
    read_bytes, reads = LocalStorage.read_bytes, []

    def read(storage: LocalStorage, path: str) -> bytes:
        content = read_bytes(storage, path)
        if path.endswith(_MARKS):
            reads.append(path)
            if len(reads) == 1:
                (disk / "orders-0").rename(disk / f"orders-0.{'a' * 32}-delete")
        return content

    monkeypatch.setattr(LocalStorage, "read_bytes", read)
    assert ingested(disk, lake).exit_code == 0
    assert len(reads) == 2


def test_offsets_in_a_remote_tier_are_a_reason_to_look_once(lake: Path) -> None:
    source = unpacked("12_tiered") / "disks"
    for dry_run in (True, False):
        summary = ingested(source, lake, isolation="read_committed", dry_run=dry_run)
        assert summary.exit_code == 3
        assert (
            "NOT recovered: 720 offsets in the remote tier only (run seglake replay --source TIER,"
            " with --tiered-key if it is encrypted)"
            " in ti-0 [0, 375), ti-1 [0, 345)"
        ) in summary.to_text()
    assert ingested(source, lake, isolation="read_committed").exit_code == 0
    audit = audited(lake)
    assert (audit.exit_code, audit.partitions[0].gaps["remote"].ranges) == (0, ((0, 375),))


def test_copies_of_plain_segments_of_a_tier_fill_what_was_remote(
    lake: Path, tmp_path: Path
) -> None:
    """Kafka's consumer got these records from the tier."""
    source = unpacked("12_tiered")
    ingested(source / "disks", lake, isolation="read_committed")
    (data,) = source.glob("disks/*/*/data")
    for folder in (data / "ti-0", data / "ti-1"):
        copy = tmp_path / "copies" / folder.name
        copy.mkdir(parents=True)
        for name in ("leader-epoch-checkpoint", "partition.metadata"):
            shutil.copy(folder / name, copy)
        for log in source.glob(f"tier/{folder.name}-*/*.log"):
            shutil.copy(log, copy / f"{log.name[:20]}.log")
    shutil.copy(data / "meta.properties", tmp_path / "copies")
    assert replayed(lake, tmp_path / "copies").exit_code == 0
    rows = sorted(read_table(lake, "records"), key=lambda row: row["offset"])
    for partition in (0, 1):
        expected = expected_records(
            "12_tiered", "stopped", "ti", partition, Isolation.READ_COMMITTED
        )
        found = [oracle_record(row) for row in rows if row["partition"] == partition]
        assert found == expected
    assert audited(lake).exit_code == 0


def test_a_gap_that_a_replica_fills_in_the_same_run_is_no_reason_to_look(
    disk: Path, lake: Path, tmp_path: Path
) -> None:
    other = make_log_dir(tmp_path / "other", {_ORDERS: [0, 20, 40, 60]}, broker_id=1)
    (disk / "orders-0" / f"{20:020d}.log").unlink()
    broken = make_log_dir(tmp_path / "broken", {_ORDERS: [0, 20, 40, 60]}, broker_id=2)
    (broken / "orders-0" / f"{20:020d}.log").unlink()
    alone = ingested(disk, lake.with_name("alone"))
    assert (alone.exit_code, alone.counts.missing_offsets) == (3, 20)
    assert kinds(audited(lake.with_name("alone"))) == {"missing"}
    summary = ingested([disk, other], lake)
    assert (summary.exit_code, summary.gaps, offsets_taken(lake)) == (0, {}, list(range(60)))
    later = ingested([broken], lake)
    assert is_nothing_new(later)


@pytest.mark.spark
def test_both_engines_name_the_same_holes(
    tmp_path: Path, lake: Path, spark_session: "SparkSession"
) -> None:
    edges = {("orders", n): [0, 20, 40, 60] for n in range(3)} | {("payments", 0): [0, 20]}
    disk = make_log_dir(tmp_path / "disk", edges)
    _compress(disk, 0)
    (disk / "orders-1" / f"{20:020d}.log").unlink()
    for path in (disk / "orders-2").glob(f"{40:020d}.*"):
        path.unlink()
    shutil.rmtree(disk / "payments-0")
    spark = SparkEngine(spark_session.sparkContext)
    by_spark, by_processes = ingested(disk, lake, engine=spark), ingested(disk, tmp_path / "other")
    for summary in (by_spark, by_processes):
        assert (summary.exit_code, [*summary.left_out]) == (3, ["orders-0"])
        assert summary.gaps["missing"]["orders-1"].ranges == ((20, 40),)
        assert [short.ranges for short in summary.findings.of(FindingKind.NOT_ON_DISK)] == [
            ((40, 60),),
            ((0, 20),),
        ]
    assert by_spark.to_text().splitlines()[1:] == by_processes.to_text().splitlines()[1:]
    assert kinds(audited(lake, engine=spark)) == {"missing"}
    new_lake(tmp_path / "empty")
    assert audited(tmp_path / "empty", engine=spark).exit_code == 3


def test_what_a_repair_of_an_older_gap_leaves_is_no_news(
    disk: Path, lake: Path, tmp_path: Path
) -> None:
    (disk / "orders-0" / f"{20:020d}.log").unlink()
    assert ingested(disk, lake).exit_code == 3
    segments = made_segments("orders", 0, [0, 20, 30, 40, 60])
    del segments[2]
    other = write_over(tmp_path / "other", [Partition("orders", 0, segments)], broker_id=1)
    summary = ingested(other, lake)
    assert (summary.exit_code, summary.gaps) == (0, {})
    assert summary.repaired["orders-0"] == (1, 10, ((20, 40),))
    assert offsets_taken(lake) == [*range(30), *range(40, 60)]
    assert replayed(lake).left_gaps["missing"]["orders-0"].ranges == ((30, 40),)
