"""Snapshots of one log, taken in any order, cut off anywhere, end in the same tables.

A snapshot is the disk at some time: the log grows, its start and its high watermark rise, old
segments go, and each copy has damage of its own. What must come out is told by a model that knows
nothing of logs: an offset is there if one snapshot has it whole.
"""

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from support.accounts import imbalances_of, standing_gaps
from support.cases import cases, every
from support.dying import Died, dying
from support.encoder import Partition, Segment
from support.lakes import ingested, ingested_in_pieces, read_table
from support.made_logs import TOPIC_IDS, made_batches, value_of, write_over

_BATCH = 5
_SEGMENT = 15
_ORDERS = list(itertools.product(range(20), range(10)))  # of twenty worlds, ten each
_STEPS = ["redo", "records", "batches", "quarantine", "gaps", "checkpoints"]


class _Snapshot(NamedTuple):
    """The disk of a broker at some time; `damaged` are base offsets of batches."""

    broker_id: int
    log_start_offset: int
    high_watermark: int
    log_end_offset: int
    damaged: frozenset[int]

    @property
    def next_offset(self) -> int:
        """Up to where it counts: a sound batch across the high watermark is not ingested yet."""
        base = self.high_watermark // _BATCH * _BATCH
        return self.high_watermark if base in self.damaged else base

    def holds(self, offset: int) -> bool:
        return self.log_start_offset <= offset < self.next_offset

    def is_whole(self, offset: int) -> bool:
        return self.holds(offset) and offset // _BATCH * _BATCH not in self.damaged

    def write(self, folder: Path) -> Path:
        first = self.log_start_offset // _SEGMENT * _SEGMENT
        edges = [*range(first, self.log_end_offset, _SEGMENT), self.log_end_offset]
        segments = [
            Segment(start, made_batches("orders", 0, range(start, stop), batch_records=_BATCH))
            for start, stop in itertools.pairwise(edges)
        ]
        partition = Partition(
            "orders",
            0,
            tuple(segments),
            topic_id=TOPIC_IDS["orders"],
            high_watermark=self.high_watermark,
            log_start_offset=self.log_start_offset,
        )
        write_over(folder, [partition], broker_id=self.broker_id)
        for segment in segments:
            log = folder / "orders-0" / f"{segment.base_offset:020}.log"
            content, end = bytearray(log.read_bytes()), 0
            for base, batch in zip(itertools.count(segment.base_offset, _BATCH), segment.batches):
                end += len(batch.data)
                content[end - 1] ^= 0xFF * (base in self.damaged)
            log.write_bytes(content)
        return folder


def _snapshots(random: Random) -> list[_Snapshot]:
    found = []
    log_start, log_end = 0, 0
    for _ in range(random.randint(2, 4)):
        log_end += random.randint(1, 6) * _BATCH
        log_start += random.choice((0, 0, 1, 2, 1, 2)) * random.choice((_SEGMENT, _BATCH, 3))
        log_start = min(log_start, log_end - 1)
        high_watermark = max(
            log_start, log_end - random.choice((0, 0, 1, 2, 1, 2)) * random.choice((_BATCH, 3))
        )
        batches = range(log_start // _SEGMENT * _SEGMENT, log_end, _BATCH)
        damaged = frozenset(base for base in batches if random.random() < 0.25)
        found.append(_Snapshot(random.randint(1, 3), log_start, high_watermark, log_end, damaged))
    return found


def _expected(snapshots: list[_Snapshot]) -> tuple[list[int], dict[int, str]]:
    """The offsets that are records, and of the others of the covered range why they are not."""
    covered = range(max(snapshot.next_offset for snapshot in snapshots))
    records = [o for o in covered if any(snapshot.is_whole(o) for snapshot in snapshots)]
    causes = {
        o: "quarantined" if any(snapshot.holds(o) for snapshot in snapshots) else "deleted"
        for o in set(covered) - set(records)
    }
    return records, causes


def _found(lake: Path) -> tuple[list[int], dict[int, str]]:
    rows = read_table(lake, "records")
    assert all(row["value"] == value_of("orders", 0, row["offset"]) for row in rows)
    causes = {
        offset: gap.cause
        for gap in standing_gaps(lake)
        for offset in range(gap.start_offset, gap.next_offset)
    }
    return sorted(row["offset"] for row in rows), causes


@pytest.mark.parametrize(("world", "order"), cases(_ORDERS, telling=every(60, _ORDERS)))
def test_order_of_snapshots_and_cuts_do_not_matter(tmp_path: Path, world: int, order: int) -> None:
    snapshots = _snapshots(Random(f"snapshots {world}"))
    disks = [snapshot.write(tmp_path / f"disk{index}") for index, snapshot in enumerate(snapshots)]
    lake, random = tmp_path / "lake", Random(f"order {order} of {world}")
    for disk in random.sample(disks, len(disks)):
        if random.random() < 0.4:
            commit = random.randint(1, 4)  # a wave is a segment
            _ingest_cut_off(disk, lake, dying(random.choice(_STEPS), commit=commit))
        ingested(disk, lake)
    assert _found(lake) == _expected(snapshots), snapshots
    assert imbalances_of(lake) == []


def _ingest_cut_off(disk: Path, lake: Path, after: Callable[[str], None]) -> None:
    with contextlib.suppress(Died):
        ingested_in_pieces(disk, lake, "read_uncommitted", split_bytes=1, wave_bytes=1, after=after)
