"""Bytes of made transaction logs changed, and what the bounds of the log then say."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.transaction_markers import Markers
from support.transaction_logs import (
    OUTSIDE,
    PlacedStep,
    TransactionLog,
    abort,
    commit,
    damage_batch,
    sent,
    write_log,
)

CHECKED = 40, 0x01  # any byte that the checksum covers


class Flip(NamedTuple):
    """A byte of a batch that is changed; numbers are taken modulo what there is."""

    batch: int
    byte: int
    mask: int


def data_steps(log: TransactionLog) -> list[PlacedStep]:
    """The batches of data in transactions."""
    return [
        placed
        for placed in log.placed
        if placed.step.is_commit is None and placed.step.producer_id != OUTSIDE
    ]


def states_of(bounds: LogBounds, steps: Iterable[PlacedStep]) -> dict[int, str]:
    outcomes = Markers(bounds.markers)
    return {step.offset: str(outcomes.state(step.step.producer_id, step.offset)) for step in steps}


def doubted_producers(bounds: LogBounds) -> set[int]:
    """The producers that the summary is uncertain about."""
    texts = [doubt.text for doubt in bounds.unknown_outcomes]
    return {int(text.split("producer ")[1].split("'")[0]) for text in texts}


def flip_byte(folder: Path, log: TransactionLog, edges: list[int], flip: Flip) -> int:
    """Change a byte of a batch; where the batch begins."""
    placed = log.placed[flip.batch % len(log.placed)]
    base = max(edge for edge in edges if edge <= placed.offset)
    path = folder / "orders-0" / f"{base:020d}.log"
    before = sum(len(batch.data) for batch in log.batches(base, placed.offset))
    size = len(log.batches(placed.offset, placed.offset + 1)[0].data)
    content = bytearray(path.read_bytes())
    content[before + flip.byte % size] ^= flip.mask
    path.write_bytes(content)
    return placed.offset


# Offsets: 0-2 data of 1, 3 its end, 4-6 data of 1, 7 its end, 8-10 plain.
UNKNOWN_END_LOG = TransactionLog.of([sent(1), commit(1), sent(1), abort(1), sent()])
UNKNOWN_END_STATES = {
    "read_committed": ["none"] * 3,
    "read_uncommitted": ["aborted"] * 6 + ["none"] * 3,
}


def unknown_end_log_dir(data: Path, *, stop: int | None = None) -> Path:
    """A log dir whose first marker is damaged, and where nothing else tells of it."""
    write_log(data, UNKNOWN_END_LOG, (0,), stop=stop, has_files=False)
    damage_batch(data, UNKNOWN_END_LOG, (0,), 1)
    return data
