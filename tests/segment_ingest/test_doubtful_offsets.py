"""Offsets that no checksum covers, damage at the edges of what is planned, disks that change."""

import os
import shutil
import struct
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from support.accounts import imbalances_of
from support.cases import cases
from support.encoder import (
    Codec,
    EncodedBatch,
    Partition,
    Record,
    Segment,
    message,
    payload_wrapper,
    wrapper,
    write_log_dir,
)
from support.faults import batch
from support.lakes import ingested, read_table
from support.made_logs import FIRST_MS, made_batches, made_segments, make_log_dir, write_over
from support.taken import gaps_taken, offsets_taken

_OFFSET = struct.Struct(">q")


def _records(start: int, stop: int) -> list[Record]:
    return [Record(b"k", b"v%d" % number, FIRST_MS + number) for number in range(start, stop)]


def _at_offset(batch: EncodedBatch, offset: int) -> EncodedBatch:
    """The batch with another offset in its header, which no checksum covers."""
    return batch._replace(data=_OFFSET.pack(offset) + batch.data[_OFFSET.size :])


def _flipped(batch: EncodedBatch) -> EncodedBatch:
    return batch._replace(data=batch.data[:-1] + bytes([batch.data[-1] ^ 1]))


@pytest.mark.parametrize(("segment", "batch"), [(0, 0), (1, 0), (1, 1), (2, 0)])
def test_a_bad_checksum_in_any_batch_costs_that_batch_alone(
    segment: int, batch: int, tmp_path: Path
) -> None:
    segments = list(made_segments("orders", 0, [0, 20, 40, 60]))
    batches = list(segments[segment].batches)
    damaged, batches[batch] = batches[batch], _flipped(batches[batch])
    segments[segment] = Segment(segments[segment].base_offset, batches)
    write_log_dir(tmp_path / "data", [Partition("orders", 0, segments)])
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert summary.exit_code == 3
    lost = range(damaged.base_offset, damaged.next_offset)
    assert offsets_taken(tmp_path / "lake") == [n for n in range(60) if n not in lost]
    assert gaps_taken(tmp_path / "lake") == [(lost.start, lost.stop, "quarantined")]


@pytest.mark.parametrize(
    "offset", cases([28, 31, 25, 21, 61, 29 | 1 << 40], telling=[28, 25, 61, 29 | 1 << 40])
)
def test_a_wrapper_at_a_wrong_offset_brings_no_row_twice(offset: int, tmp_path: Path) -> None:
    batches = [wrapper(n, _records(n, n + 10), 1, Codec.GZIP) for n in range(0, 50, 10)]
    batches[2] = _at_offset(batches[2], offset)
    write_log_dir(tmp_path / "data", [Partition("orders", 0, [Segment(0, batches)])])
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert summary.counts.quarantined == 1
    offsets = offsets_taken(tmp_path / "lake")
    assert len(offsets) == len(set(offsets)) == 40
    assert imbalances_of(tmp_path / "lake") == []


@pytest.mark.parametrize("magic", [0, 1])
def test_wrappers_that_overlap_bring_no_row_twice(magic: int, tmp_path: Path) -> None:
    starts = ((0, 10), (10, 20), (15, 25), (25, 30))
    batches = [wrapper(a, _records(a, b), magic, Codec.GZIP) for a, b in starts]
    write_log_dir(tmp_path / "data", [Partition("orders", 0, [Segment(0, batches)])])
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert summary.defects == {"offset_out_of_order": 1}
    assert offsets_taken(tmp_path / "lake") == [*range(20), *range(25, 30)]
    assert imbalances_of(tmp_path / "lake") == []


@pytest.mark.parametrize("magic", [0, 1])
def test_missing_messages_are_a_gap_where_the_cleaner_never_was(magic: int, tmp_path: Path) -> None:
    numbers = [*range(40), *range(60, 100)]
    batches = [message(n, _records(n, n + 1)[0], magic) for n in numbers]
    write_log_dir(tmp_path / "data", [Partition("orders", 0, [Segment(0, batches)])])
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert (summary.exit_code, summary.counts.missing_offsets) == (3, 20)
    assert "20 offsets missing without a known cause in orders-0 [40, 60)" in summary.to_text()
    assert ingested(tmp_path / "data", tmp_path / "lake").exit_code == 0
    assert gaps_taken(tmp_path / "lake") == [(40, 60, "missing")]


def test_an_impossible_offset_does_not_cover_what_is_written_later(tmp_path: Path) -> None:
    data, lake = tmp_path / "data", tmp_path / "lake"
    for stop in (30, 100):
        shutil.rmtree(data, ignore_errors=True)
        segments = list(made_segments("orders", 0, [0, stop]))
        batches = list(segments[0].batches)
        batches[2] = _at_offset(batches[2], batches[2].base_offset | 1 << 20)
        write_log_dir(data, [Partition("orders", 0, [Segment(0, batches)])])
        (data / "replication-offset-checkpoint").unlink()
        ingested(data, lake)
    lost = range(batches[2].base_offset, batches[2].next_offset)
    assert offsets_taken(lake) == [n for n in range(100) if n not in lost]
    assert imbalances_of(lake) == []


def test_an_empty_folder_beside_a_broker_hides_nothing(tmp_path: Path) -> None:
    make_log_dir(tmp_path / "disks" / "broker-0", {("orders", 0): [0, 20]})
    (tmp_path / "disks" / "broker-1").mkdir()
    assert ingested(tmp_path / "disks", tmp_path / "lake").records == 20


def test_a_pipe_and_a_dangling_link_among_the_segments_cost_their_partition_alone(
    tmp_path: Path,
) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20], ("payments", 0): [0, 20]})
    log = data / "orders-0" / f"{0:020d}.log"
    log.unlink()
    os.mkfifo(log)
    (data / "orders-0" / f"{20:020d}.log").symlink_to(tmp_path / "nowhere")
    summary = ingested(data, tmp_path / "lake")
    assert (summary.records, list(summary.left_out)) == (20, ["orders-0"])


def test_a_disk_that_ends_below_the_brokers_checkpoint_is_named(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20]})
    log = data / "orders-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    summary = ingested(data, tmp_path / "lake")
    (short,) = summary.findings.of(FindingKind.NOT_ON_DISK)
    assert (short.ranges, summary.exit_code) == (((10, 20),), 3)


def test_unreadable_wrapper_that_claims_offsets_of_the_next_segment_costs_itself(
    tmp_path: Path,
) -> None:
    sound = [batch(offset, 1) for offset in range(10)]
    unreadable = payload_wrapper(405, b"not gzip", 1, Codec.GZIP)
    others = [batch(400 + offset, 1) for offset in range(5)]
    segments = [Segment(0, [*sound, unreadable]), Segment(400, others)]
    write_log_dir(tmp_path / "data", [Partition("orders", 0, segments)])
    summary = ingested(tmp_path / "data", tmp_path / "lake")
    assert (summary.left_out, sum(summary.defects.values())) == ({}, 1)
    assert offsets_taken(tmp_path / "lake") == [*range(10), *range(400, 405)]


def test_an_offset_that_leaves_no_room_for_the_next_is_quarantined(tmp_path: Path) -> None:
    (segment,) = made_segments("orders", 0, [0, 20])
    batches = list(segment.batches)
    batches[1] = _at_offset(batches[1], 2**63 - 1)
    write_log_dir(tmp_path / "data", [Partition("orders", 0, [Segment(0, batches)])])
    lake = tmp_path / "lake"
    assert ingested(tmp_path / "data", lake).exit_code == 3
    assert offsets_taken(lake) == [*range(5), *range(10, 20)]
    (row,) = read_table(lake, "quarantine")
    assert (row["base_offset"], row["last_offset"]) == (2**63 - 1, None)


def _without_proof(folder: Path, *segments: Segment, end: int) -> Path:
    """A log dir whose files say of no offset from `end` on that it was there."""
    log = Partition("orders", 0, segments, high_watermark=end, recovery_point=end)
    return write_over(folder, [log])


_TO_THE_END = {"upper_bound": "log_end"}


@pytest.mark.parametrize(("byte", "mask"), [(16, 0x04), (1, 0x01)], ids=["magic", "offset"])
def test_damage_at_the_end_that_nothing_shows_the_offsets_of_is_kept_and_named(
    byte: int, mask: int, tmp_path: Path
) -> None:
    (segment,) = made_segments("orders", 0, [0, 15])
    batches = list(segment.batches)
    damaged = bytearray(batches[2].data)
    damaged[byte] ^= mask
    batches[2] = batches[2]._replace(data=bytes(damaged))
    lake = tmp_path / "lake"
    disk = _without_proof(tmp_path / "data", Segment(0, batches), end=10)
    summary = ingested(disk, lake, read=_TO_THE_END)
    assert (summary.exit_code, offsets_taken(lake)) == (3, [*range(10)])
    (row,) = read_table(lake, "quarantine")
    assert (row["raw"], row["previous_offset"], row["next_offset"]) == (bytes(damaged), 9, None)
    assert (imbalances_of(lake), read_table(lake, "gaps")) == ([], [])
    assert "quarantined: 1 " in summary.to_text()
    again = ingested(disk, lake, read=_TO_THE_END)
    assert (again.exit_code, again.counts.records) == (0, 0)
    assert len(read_table(lake, "quarantine")) == 1

    behind = made_batches("orders", 0, range(15, 20))
    _without_proof(disk, Segment(0, [*batches, *behind]), end=20)
    ingested(disk, lake, read=_TO_THE_END)
    assert offsets_taken(lake) == [*range(10), *range(15, 20)]
    assert gaps_taken(lake) == [(10, 15, "quarantined")]
    assert {row["raw"] for row in read_table(lake, "quarantine")} == {bytes(damaged)}
    assert imbalances_of(lake) == []


def test_a_last_segment_that_holds_only_damage_is_kept_and_named(tmp_path: Path) -> None:
    first, last = made_segments("orders", 0, [0, 10, 15])
    (batch,) = last.batches
    damaged = batch._replace(data=batch.data[:16] + b"\x06" + batch.data[17:])
    disk = _without_proof(tmp_path / "data", first, Segment(10, [damaged]), end=10)
    lake = tmp_path / "lake"
    summary = ingested(disk, lake, read=_TO_THE_END)
    assert (summary.exit_code, offsets_taken(lake)) == (3, [*range(10)])
    (row,) = read_table(lake, "quarantine")
    assert row["raw"] == damaged.data
    assert imbalances_of(lake) == []
    assert "quarantined: 1 " in summary.to_text()
