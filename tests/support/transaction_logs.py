"""Made logs with transactions, the files a broker writes beside them, and what must come of them.

The oracle is naive: it looks forward through the steps for the end of each, again for every one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from support.encoder import (
    Aborted,
    ControlType,
    EncodedBatch,
    Header,
    Partition,
    Producer,
    ProducerEntry,
    Record,
    Segment,
    end_marker,
    producer_snapshot,
    record_batch,
)
from support.made_logs import FIRST_MS, STEP_MS, write_over

TOPIC = "orders"
OUTSIDE = -1  # the producer id of plain records


class Step(NamedTuple):
    """A batch: data of a producer, or the marker that ends its transaction."""

    producer_id: int
    is_commit: bool | None = None  # None for data
    records: int = 1


class PlacedStep(NamedTuple):
    """A step with its offset and time."""

    step: Step
    offset: int
    timestamp_ms: int

    @property
    def next_offset(self) -> int:
        return self.offset + self.step.records


def sent(producer_id: int = OUTSIDE, records: int = 3) -> Step:
    return Step(producer_id, None, records)


def commit(producer_id: int) -> Step:
    return Step(producer_id, is_commit=True)


def abort(producer_id: int) -> Step:
    return Step(producer_id, is_commit=False)


@dataclass(frozen=True, slots=True)
class TransactionLog:
    """Steps from offset 0 on; the time goes up a second with each offset."""

    placed: tuple[PlacedStep, ...]

    @classmethod
    def of(cls, steps: Iterable[Step]) -> "TransactionLog":
        placed = []
        offset = 0
        for step in steps:
            placed.append(PlacedStep(step, offset, FIRST_MS + offset * STEP_MS))
            offset += step.records
        return cls(tuple(placed))

    @property
    def next_offset(self) -> int:
        return self.placed[-1].next_offset if self.placed else 0

    def state(self, placed: PlacedStep, upper: int) -> str:
        """Return the state of a data step's transaction, if the log ends at `upper`."""
        if placed.step.producer_id == OUTSIDE:
            return "none"
        for later in self.placed:
            is_end = later.step.is_commit is not None and later.offset > placed.offset
            if is_end and later.step.producer_id == placed.step.producer_id:
                if later.offset >= upper:
                    break
                return "committed" if later.step.is_commit else "aborted"
        return "open"

    def states(self, upper: int) -> dict[int, str]:
        """The state of every record below an offset."""
        return {
            offset: self.state(placed, upper)
            for placed in self.placed
            if placed.step.is_commit is None
            for offset in range(placed.offset, placed.next_offset)
            if offset < upper
        }

    def open_firsts(self, upper: int) -> dict[int, int]:
        """Producers with an open transaction, and where it begins."""
        found: dict[int, int] = {}
        for placed in self.placed:
            is_data = placed.step.is_commit is None and placed.offset < upper
            if is_data and self.state(placed, upper) == "open":
                found.setdefault(placed.step.producer_id, placed.offset)
        return found

    def stable_offset(self, upper: int) -> int:
        return min([upper, *self.open_firsts(upper).values()])

    def aborted(self) -> list[Aborted]:
        """Return the entries that a broker writes into its transaction indexes."""
        found = []
        for placed in self.placed:
            producer_id = placed.step.producer_id
            first = self.open_firsts(placed.offset).get(producer_id)
            if placed.step.is_commit is False and first is not None:
                stable = self.stable_offset(placed.next_offset)
                found.append(Aborted(producer_id, first, placed.offset, stable))
        return found

    def snapshot(self, offset: int) -> list[ProducerEntry]:
        """Return the entries that a broker writes into a producer snapshot at an offset."""
        firsts = self.open_firsts(offset)
        last = {
            placed.step.producer_id: placed
            for placed in self.placed
            if placed.offset < offset and placed.step.producer_id != OUTSIDE
        }
        return [
            ProducerEntry(
                producer_id,
                last_offset=placed.next_offset - 1,
                timestamp_ms=placed.timestamp_ms,
                open_transaction_first_offset=firsts.get(producer_id, -1),
            )
            for producer_id, placed in sorted(last.items())
        ]

    def batches(self, start: int, stop: int, value_bytes: int = 40) -> list[EncodedBatch]:
        """The batches of the steps that begin in [start, stop)."""
        return [
            encoded(placed, value_bytes) for placed in self.placed if start <= placed.offset < stop
        ]


def encoded(placed: PlacedStep, value_bytes: int = 40) -> EncodedBatch:
    """The batch of a step."""
    step = placed.step
    if step.is_commit is not None:
        kind = ControlType.COMMIT if step.is_commit else ControlType.ABORT
        return end_marker(
            placed.offset, kind, producer_id=step.producer_id, timestamp_ms=placed.timestamp_ms
        )
    is_inside = step.producer_id != OUTSIDE
    producer = Producer(step.producer_id, 0, 0) if is_inside else Producer()
    records = [
        Record(None, b"%d" % offset + bytes(value_bytes), placed.timestamp_ms)
        for offset in range(placed.offset, placed.next_offset)
    ]
    return record_batch(
        placed.offset, records, Header(producer=producer, is_transactional=is_inside)
    )


def write_log(
    folder: Path,
    log: TransactionLog,
    edges: Sequence[int],
    *,
    stop: int | None = None,
    high_watermark: int | None = None,
    has_files: bool = True,
    has_end_snapshot: bool = True,
    number: int = 0,
) -> Path:
    """Write the log as a log dir, over what is there; the folder of the partition.

    Args:
        edges: where the segments begin; a first one above 0 leaves out what is below.
        stop: where the log ends, None for its real end.
        high_watermark: None for the end.
        has_files: transaction indexes and snapshots lie beside the segments.
        has_end_snapshot: the broker was stopped.
        number: that of the partition.
    """
    end = log.next_offset if stop is None else stop
    starts = [edge for edge in edges if edge < end]
    segments = [
        Segment(
            start,
            log.batches(start, following),
            aborted=[
                entry for entry in log.aborted() if has_files and start <= entry[2] < following
            ],
            snapshot=log.snapshot(start) if has_files and start else None,
        )
        for start, following in zip(starts, [*starts[1:], end], strict=True)
    ]
    write_over(folder, [Partition(TOPIC, number, segments, high_watermark=high_watermark)])
    partition = folder / f"{TOPIC}-{number}"
    if has_files and has_end_snapshot:
        (partition / f"{end:020d}.snapshot").write_bytes(producer_snapshot(log.snapshot(end)))
    return partition


def damage_batch(folder: Path, log: TransactionLog, edges: Sequence[int], index: int) -> None:
    """Change the last byte of a batch in a log dir that `write_log` wrote."""
    placed = log.placed[index]
    base = max(edge for edge in edges if edge <= placed.offset)
    path = folder / f"{TOPIC}-0" / f"{base:020d}.log"
    stop = sum(len(batch.data) for batch in log.batches(base, placed.next_offset))
    content = bytearray(path.read_bytes())
    content[stop - 1] ^= 0xFF
    path.write_bytes(content)
