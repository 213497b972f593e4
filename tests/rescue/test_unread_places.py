"""What a run leaves unread beside the logs is said by audit and report, until nothing is left."""

import gzip
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import Loss
from seglake.pipelines.lake_report.model import Level
from support.audits import audited
from support.encoder import Partition, Segment
from support.lakes import ingested, read_table
from support.made_logs import made_batches, write_over
from support.reports import by_name, reported

_FIRST = "00000000000000000000.log"


def _disk(
    folder: Path,
    *,
    watermark: int = 16,
    end: int = 16,
    broker_id: int = 0,
    topic: str = "orders",
) -> Path:
    segments = [Segment(0, made_batches(topic, 0, range(end)))]
    partition = Partition(topic, 0, segments, high_watermark=watermark)
    return write_over(folder, [partition], broker_id=broker_id)


def _archive(disk: Path, topic: str = "orders") -> Path:
    place = disk / f"{topic}-7.tar.gz"
    place.write_bytes(gzip.compress(b"segments"))
    return place


def _link(disk: Path, topic: str = "orders") -> Path:
    place = disk / f"{topic}-1"
    place.symlink_to(disk / "nowhere", target_is_directory=True)
    return place


def _copy(disk: Path, topic: str = "orders") -> Path:
    place = disk / f"{topic}-0 (copy)"
    shutil.copytree(disk / f"{topic}-0", place)
    return place


def _renamed(disk: Path, topic: str = "orders") -> Path:
    place = disk / f"{topic}-0" / f"{_FIRST}.old"
    shutil.copyfile(disk / f"{topic}-0" / _FIRST, place)
    return place


def _packed(disk: Path, topic: str = "orders") -> Path:
    place = disk / f"{topic}-3" / f"{_FIRST}.gz"
    place.parent.mkdir()
    place.write_bytes(gzip.compress((disk / f"{topic}-0" / _FIRST).read_bytes()))
    return place


_MAKES = (_archive, _link, _copy, _renamed, _packed)


def _remove(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    else:
        shutil.rmtree(place)


def _placed_at(text: str, places: Mapping[str, Path]) -> str:
    """The topic of the only place that a text names; of a packed segment the folder is named."""
    (found,) = (
        topic
        for topic, place in places.items()
        if (place.name if topic != "packed" else place.parent.name) in text
    )
    return found


def test_what_is_not_read_is_said_until_a_run_no_longer_finds_it(
    tmp_path: Path, lake: Path
) -> None:
    makes = {make.__name__.strip("_"): make for make in _MAKES}
    disks = [
        _disk(tmp_path / topic, broker_id=number, topic=topic) for number, topic in enumerate(makes)
    ]
    places = {
        topic: make(disk, topic) for disk, (topic, make) in zip(disks, makes.items(), strict=True)
    }
    for _ in range(2):
        assert ingested(disks, lake).exit_code == 3
        problems = audited(lake).problems
        assert sorted(_placed_at(each, places) for each in problems) == sorted(places)
        report = reported(lake)
        assert "no offset is known to be lost" not in report.headline
        assert (report.level, "5 places not read" in report.headline) == (Level.LOOK, True)
        unread = report.recovery.unread
        assert all(
            problem.startswith(f"not read: {each}")
            for problem, each in zip(sorted(problems), sorted(unread), strict=True)
        )
    count = len(read_table(lake, "observations"))
    other = write_over(tmp_path / "other", [Partition("pay", 0, [Segment(0, [])])], broker_id=9)
    ingested(other, lake)  # tells nothing of the first disks
    assert len(audited(lake).problems) == 5
    assert len(read_table(lake, "observations")) == count + 1 + len(places)
    for topic in [*places][:-1]:
        _remove(places.pop(topic))
    ingested(disks, lake)
    assert [_placed_at(each, places) for each in audited(lake).problems] == [*places]
    for place in places.values():
        _remove(place)
    ingested(disks, lake)
    assert audited(lake).problems == ()
    assert reported(lake).recovery.unread == ()


def test_a_short_log_is_named_after_a_replica_that_proves_nothing(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(_disk(tmp_path / "disk", watermark=16, end=10), lake)
    lost = audited(lake).problems
    assert [*reported(lake).recovery.lost] == [Loss.NOT_ON_DISK]
    other = _disk(tmp_path / "other", watermark=10, end=10, broker_id=1)
    for _ in range(2):
        ingested(other, lake)
        assert (audited(lake).problems, len(lost)) == (lost, 1)
        assert reported(lake).recovery.lost_offsets == 6
    _disk(tmp_path / "other", watermark=13, end=13, broker_id=1)
    ingested(other, lake)
    assert "[13, 16)" in audited(lake).problems[0]
    assert reported(lake).recovery.lost_offsets == 3
    ingested(_disk(tmp_path / "whole", broker_id=2), lake)
    assert (audited(lake).problems, reported(lake).recovery.lost) == ((), {})


def test_a_partition_whose_folder_is_gone_is_named_by_audit_and_report(tmp_path: Path) -> None:
    disk, lake = _disk(tmp_path / "disk"), tmp_path / "lake"
    partitions = [
        Partition(topic, 0, [Segment(0, made_batches(topic, 0, range(end)))], high_watermark=end)
        for topic, end in (("pay", 9), ("orders", 16))
    ]
    write_over(disk, partitions)
    shutil.copytree(disk, tmp_path / "copy")
    shutil.rmtree(disk / "pay-0")
    for _ in range(2):
        ingested(disk, lake)
        (problem,) = audited(lake).problems
        assert problem.startswith("not on disk: pay-0: [0, 9): replication-offset-checkpoint says")
        recovery = reported(lake).recovery
        assert recovery.lost[Loss.NOT_ON_DISK]["pay-0"].ranges == ((0, 9),)
        assert "no record from 1 of 2 partitions: not on disk: pay-0" in recovery.lines()
    assert len({row["run_id"] for row in read_table(lake, "observations")}) == 1
    shutil.copytree(tmp_path / "copy" / "pay-0", disk / "pay-0")
    ingested(disk, lake)
    assert (audited(lake).problems, reported(lake).recovery.lost) == ((), {})


def test_a_folder_that_cannot_be_read_is_a_need_of_its_partition(tmp_path: Path) -> None:
    disk, lake = _disk(tmp_path / "disk"), tmp_path / "lake"
    ingested(disk, lake)
    shutil.move(disk / "orders-0", tmp_path / "kept")
    (disk / "orders-0").symlink_to(tmp_path / "nowhere", target_is_directory=True)
    ingested([disk, _disk(tmp_path / "other", broker_id=1)], lake)
    assert [found.kind for found in by_name(reported(lake))["orders-0"].findings] == [
        FindingKind.LEFT_OUT
    ]


def test_an_older_copy_in_the_same_folder_does_not_tell_that_nothing_is_lost(
    tmp_path: Path,
) -> None:
    disk, lake = tmp_path / "disk", tmp_path / "lake"
    ingested(_disk(disk, watermark=16, end=10), lake)
    lost = audited(lake).problems
    ingested(_disk(disk, watermark=5, end=5), lake)
    assert (audited(lake).problems, len(lost)) == (lost, 1)


def _decompressed(place: Path) -> None:
    """Mend a copy as the message says: decompress."""
    name = place.name.removesuffix(".gz")
    place.with_name(name).write_bytes(gzip.decompress(place.read_bytes()))
    place.unlink()


def test_offsets_in_a_compressed_segment_are_left_out_until_a_mended_copy_brings_them(
    tmp_path: Path,
) -> None:
    segments = [Segment(n, made_batches("orders", n, range(n, n + 8))) for n in (0, 8, 16)]
    lake = tmp_path / "lake"
    disk = write_over(tmp_path / "disk", [Partition("orders", 0, segments, high_watermark=24)])
    packed = disk / "orders-0" / f"{8:020d}.log"
    packed.with_name(f"{packed.name}.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    run = ingested(disk, lake)
    (problem,) = audited(lake).problems
    assert (run.exit_code, problem.startswith("not read: orders-0: [8, 16) in 1")) == (3, True)
    for recovery in (run.recovery, audited(lake).recovery, reported(lake).recovery):
        assert {cause: gaps["orders-0"].ranges for cause, gaps in recovery.lost.items()} == {
            Loss.LEFT_OUT: ((8, 16),)
        }
    copy = tmp_path / "copy"
    shutil.copytree(disk, copy)
    _decompressed(copy / "orders-0" / f"{packed.name}.gz")
    assert ingested(copy, lake).exit_code == 0
    for recovery in (audited(lake).recovery, reported(lake).recovery):
        assert (recovery.lost, recovery.unread) == ({}, ())
    assert audited(lake).problems == ()


def test_a_partition_whose_folder_was_renamed_in_a_copy_is_no_longer_lost(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    partitions = [
        Partition(topic, 0, [Segment(0, made_batches(topic, 0, range(16)))], high_watermark=16)
        for topic in ("pay", "orders")
    ]
    disk = write_over(tmp_path / "disk", partitions)
    shutil.move(disk / "orders-0", disk / "orders-0_bad")
    ingested(disk, lake)
    lost, unread = sorted(audited(lake).problems)
    assert lost.startswith("not on disk: orders-0: [0, 16)")
    copy = tmp_path / "copy"
    shutil.copytree(disk, copy)
    shutil.move(copy / "orders-0_bad", copy / "orders-0")
    settled = {"settled": [str(disk / "orders-0_bad")]}
    ingested(copy, lake)
    assert audited(lake).problems == (unread,)
    assert "select.settled" in unread
    ingested(copy, lake, select=settled)
    assert (audited(lake).problems, reported(lake).recovery.unread) == ((), ())


@pytest.mark.parametrize("make", [_archive, _copy, _renamed])
def test_a_place_that_a_person_calls_settled_is_not_named_again(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    disk, lake = _disk(tmp_path / "disk"), tmp_path / "lake"
    place = make(disk)
    assert ingested(disk, lake).exit_code == 3
    run = ingested(disk, lake, select={"settled": [str(place)]})
    assert (run.exit_code, audited(lake).problems) == (0, ())
    assert ingested(disk, lake, select={"settled": [str(disk / "ord")]}).exit_code == 3
