"""A log that is written, rolled and cleaned as a broker does it, and copies of its disk between.

Knows nothing of the product: what a reader gets from a copy is said by the model, not by the bytes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    message,
    record_batch,
    wrapper,
    write_checkpoint,
)
from support.made_logs import FIRST_MS, STEP_MS, topic_id_of, write_over

TOPIC = "orders"
Row = tuple[int, bytes | None, bytes | None]  # offset, key, value
_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY)


@dataclass(frozen=True)
class Batch:
    """A batch of the model; `rows` are what is left of it.

    `producer_id` is that of a transaction, -1 without one; `is_commit` makes it a marker.
    """

    first: int
    last: int
    rows: tuple[Row, ...]
    magic: int = 2
    codec: Codec = Codec.NONE
    producer_id: int = -1
    is_commit: bool | None = None

    @property
    def is_marker(self) -> bool:
        return self.is_commit is not None


@dataclass
class Disk:
    """One replica's disk as time goes by: segments of batches, the last of them active."""

    segments: list[list[Batch]] = field(default_factory=lambda: [[]])
    bases: list[int] = field(default_factory=lambda: [0])
    end: int = 0
    cleaner_offset: int | None = None

    @property
    def batches(self) -> list[Batch]:
        return [batch for segment in self.segments for batch in segment]

    def append(self, batch: Batch) -> None:
        self.segments[-1].append(batch)
        self.end = batch.last + 1

    def roll(self) -> None:
        if self.segments[-1]:
            self.segments.append([])
            self.bases.append(self.end)

    def clean(self, random: Random, *, drops_tombstones: bool) -> None:
        """Clean all segments but the active one, as far as no transaction is open."""
        stop = min([self.bases[-1], *open_from(self.batches).values()])
        dirty = [index for index, base in enumerate(self.bases[1:], 1) if base <= stop]
        if not dirty:
            return
        count = dirty[-1]
        self.cleaner_offset = self.bases[count]
        cleaned = [batch for segment in self.segments[:count] for batch in segment]
        aborted = _aborted(self.batches)
        newest = {
            key: offset
            for batch in cleaned
            if not batch.is_marker and batch.first not in aborted
            for offset, key, _ in batch.rows
        }

        def left(batch: Batch) -> Batch | None:
            if batch.is_marker:
                has_data = any(  # also without records: the cleaner keeps a producer's last batch
                    other.producer_id == batch.producer_id
                    and not other.is_marker
                    and other.last < batch.first
                    for other in cleaned
                )
                return batch if has_data or not drops_tombstones else None
            rows = tuple(
                row
                for row in batch.rows
                if batch.first not in aborted
                and newest[row[1]] == row[0]
                and (row[2] is not None or not drops_tombstones)
            )
            is_kept_empty = batch.magic == 2 and random.random() < 0.3
            return replace(batch, rows=rows) if rows or is_kept_empty else None

        kept = [
            [survivor for batch in segment if (survivor := left(batch)) is not None]
            for segment in self.segments[:count]
        ]
        if random.random() < 0.5:  # the cleaner puts small segments together
            kept = [[batch for segment in kept for batch in segment]]
        self.bases = [*self.bases[: len(kept)], *self.bases[count:]]
        self.segments = [*kept, *self.segments[count:]]

    def cut(self, count: int) -> None:
        """Take the oldest segments away, as retention does; the active one stays."""
        count = min(count, len(self.segments) - 1)
        self.segments, self.bases = self.segments[count:], self.bases[count:]

    def copy(self) -> "Disk":
        segments = [[*segment] for segment in self.segments]
        return Disk(segments, [*self.bases], self.end, self.cleaner_offset)


def open_from(batches: Iterable[Batch]) -> dict[int, int]:
    """The first offset of each transaction that has not ended, by producer."""
    found: dict[int, int] = {}
    for batch in batches:
        if batch.is_marker:
            found.pop(batch.producer_id, None)
        elif batch.producer_id >= 0:
            found.setdefault(batch.producer_id, batch.first)
    return found


def _aborted(batches: Sequence[Batch]) -> set[int]:
    """The first offsets of batches whose transaction was aborted."""
    found: set[int] = set()
    waiting: dict[int, list[int]] = {}
    for batch in batches:
        if batch.is_marker:
            data = waiting.pop(batch.producer_id, [])
            found.update(() if batch.is_commit else data)
        elif batch.producer_id >= 0:
            waiting.setdefault(batch.producer_id, []).append(batch.first)
    return found


def committed_rows(disk: Disk, *, to_end: bool = False) -> set[Row]:
    """Return the rows that a read_committed consumer gets from this disk alone.

    Args:
        to_end: it waits for no open transaction, and leaves out its records only.
    """
    still_open = open_from(disk.batches)
    stop = disk.end if to_end else min([disk.end, *still_open.values()])
    aborted = _aborted(disk.batches)
    return {
        row
        for batch in disk.batches
        if not batch.is_marker and batch.first not in aborted and batch.last < stop
        if batch.first < still_open.get(batch.producer_id, disk.end)
        for row in batch.rows
    }


def random_copies(seed: int, count: int) -> list[Disk]:
    """Copies of one disk at several times, between which it is written, rolled and cleaned."""
    random = Random(seed)
    disk, copies = Disk(), []
    magic = random.choice((0, 1, 2, 2))
    for number in range(count):
        for _ in range(random.randint(3, 9)):
            magic = 2 if random.random() < 0.2 else magic  # brokers are upgraded, never back
            _write(disk, random, magic)
            if random.random() < 0.4:
                disk.roll()
        if number or random.random() < 0.3:
            disk.roll()
            disk.clean(random, drops_tombstones=random.random() < 0.5)
        copies.append(disk.copy())
    return copies


def _write(disk: Disk, random: Random, magic: int) -> None:
    waiting = [*open_from(disk.batches)]
    if magic == 2 and waiting and random.random() < 0.5:
        marker = (disk.end, disk.end, ())
        disk.append(
            Batch(*marker, producer_id=random.choice(waiting), is_commit=random.random() < 0.6)
        )
        return
    codec = random.choice(_CODECS)
    size = 1 if magic < 2 and codec is Codec.NONE else random.randint(1, 6)
    rows = tuple(
        (
            offset,
            f"k{random.randrange(8)}".encode(),
            None if random.random() < 0.15 else f"v{offset}".encode(),
        )
        for offset in range(disk.end, disk.end + size)
    )
    producer_id = random.choice((-1, -1, 7, 8)) if magic == 2 else -1
    disk.append(Batch(disk.end, disk.end + size - 1, rows, magic, codec, producer_id))


def write_disk(folder: Path, disk: Disk, number: int = 0) -> Path:
    """Write a copy as a log dir of the partition with this number."""
    segments = [
        Segment(base, [*map(_encoded, batches)])
        for base, batches in zip(disk.bases, disk.segments, strict=True)
    ]
    end = disk.end
    partition = Partition(
        TOPIC,
        number,
        segments,
        high_watermark=end,
        recovery_point=end,
        topic_id=topic_id_of(TOPIC),
    )
    write_over(folder, [partition])
    if disk.cleaner_offset is not None:
        write_checkpoint(
            folder / "cleaner-offset-checkpoint", {(TOPIC, number): disk.cleaner_offset}
        )
    return folder


def _encoded(batch: Batch) -> EncodedBatch:
    if batch.is_commit is not None:
        kind = ControlType.COMMIT if batch.is_commit else ControlType.ABORT
        return end_marker(
            batch.first, kind, producer_id=batch.producer_id, timestamp_ms=_time_ms(batch.first)
        )
    records = [Record(key, value, _time_ms(at), offset=at) for at, key, value in batch.rows]
    if batch.magic < 2 and batch.codec is Codec.NONE:
        return message(batch.first, records[0], batch.magic)
    if batch.magic < 2:
        return wrapper(batch.rows[0][0], records, batch.magic, batch.codec)
    header = Header(
        producer=Producer(batch.producer_id, 0 if batch.producer_id >= 0 else -1),
        is_transactional=batch.producer_id >= 0,
        last_offset_delta=batch.last - batch.first,
        max_timestamp_ms=None if records else _time_ms(batch.last),
    )
    return record_batch(batch.first, records, header, codec=batch.codec)


def _time_ms(offset: int) -> int:
    return FIRST_MS + offset * STEP_MS
