"""Logs of a partition, drawn at random, with the records that a consumer would get of them."""

import random
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from support.encoder import (
    Codec,
    ControlType,
    Header,
    Producer,
    Record,
    end_marker,
    record_batch,
)
from support.encoder.record import EncodedBatch
from support.tiers import Rows

_CODECS = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD)


class Closed(NamedTuple):
    """Batches of a closed segment, and from which offset on they lost an election."""

    start_offset: int
    next_offset: int
    batches: tuple[EncodedBatch, ...]
    lost_from: int = 1 << 60

    @property
    def data(self) -> bytes:
        return b"".join(batch.data for batch in self.batches)


@dataclass
class DrawnLog:
    """A partition's log: its batches, its epochs, and its records by isolation.

    Attributes:
        transactions: the offsets of each transaction's data, and of its end.
        plain: header and codec of each batch without a transaction, by its base offset.
    """

    topic: str
    batches: list[EncodedBatch] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    every: Rows = field(default_factory=list)
    aborted: set[int] = field(default_factory=set)
    transactions: list[tuple[list[int], int]] = field(default_factory=list)
    plain: dict[int, tuple[Header, Codec]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The log end offset."""
        return self.batches[-1].next_offset

    def rows(self, isolation: str, start: int, stop: int) -> Rows:
        """Return the rows in [start, stop) that a consumer gets of a log of these offsets."""
        leaves = set[int]()
        if isolation == "read_committed":
            leaves = self.aborted
            data = (offsets for offsets, end in self.transactions if stop <= end)
            opened = [offset for offsets in data for offset in offsets if start <= offset < stop]
            stop = min([stop, *opened])
        return [row for row in self.every if start <= row[0] < stop and row[0] not in leaves]

    def epochs_in(self, start: int, following: int) -> list[tuple[int, int]]:
        """The leader epochs of a range, as an upload's event has them."""
        below = [epoch for epoch, first in self.epochs if first <= start][-1:]
        inside = [(epoch, first) for epoch, first in self.epochs if start < first < following]
        return [(epoch, start) for epoch in below] + inside


def drawn_log(chance: random.Random, topic: str, *, keys: int = 1 << 30) -> DrawnLog:
    """A log of some 40 batches with transactions, several codecs and leader epochs.

    Args:
        chance: draws everything.
        topic: its name.
        keys: number of different keys; each of the first records has one of its own.
    """
    log, epoch = DrawnLog(topic), 0
    open_ones: dict[int, list[int]] = {}
    offset = 0
    log.epochs.append((0, 0))
    for number in range(chance.randint(20, 45)):
        if chance.random() < 0.07:
            epoch += chance.randint(1, 3)
            log.epochs = [each for each in log.epochs if each[1] != offset]
            log.epochs.append((epoch, offset))
        ends = open_ones and chance.random() < 0.35
        if ends:
            producer = chance.choice([*open_ones])
            offset = _end(chance, log, producer, open_ones.pop(producer), offset, epoch)
            continue
        producer = chance.choice([-1, -1, 5, 6])
        count = chance.randint(1, 5)
        records = [_record(chance, offset + at, keys, 1000 + number) for at in range(count)]
        header = Header(leader_epoch=epoch)
        if producer > 0:
            header = Header(
                leader_epoch=epoch, producer=Producer(producer, 0, 0), is_transactional=True
            )
            open_ones.setdefault(producer, []).extend(range(offset, offset + count))
        codec = chance.choice(_CODECS)
        if producer < 0:
            log.plain[offset] = header, codec
        log.batches.append(record_batch(offset, records, header, codec=codec))
        log.every += [
            (offset + at, record.timestamp_ms, record.key, record.value)
            for at, record in enumerate(records)
        ]
        offset += count
    for producer, offsets in open_ones.items():
        offset = _end(chance, log, producer, offsets, offset, epoch)
    log.batches.append(
        record_batch(offset, [Record(b"last", b"", 2000)], Header(leader_epoch=epoch))
    )
    log.every.append((offset, 2000, b"last", b""))
    return log


def _record(chance: random.Random, offset: int, keys: int, timestamp_ms: int) -> Record:
    key = f"k{offset % keys}".encode()
    return Record(key, chance.randbytes(chance.randint(0, 60)), timestamp_ms)


def _end(
    chance: random.Random,
    log: DrawnLog,
    producer: int,
    offsets: list[int],
    offset: int,
    epoch: int,
) -> int:
    kind = chance.choice([ControlType.COMMIT, ControlType.ABORT])
    log.transactions.append((offsets, offset))
    log.batches.append(end_marker(offset, kind, producer_id=producer, leader_epoch=epoch))
    if kind is ControlType.ABORT:
        log.aborted.update(offsets)
    return offset + 1


def closed_segments(chance: random.Random, log: DrawnLog) -> list[Closed]:
    """Cut a log into segments, as one broker does."""
    cuts = sorted(chance.sample(range(1, len(log.batches)), chance.randint(3, 8)))
    edges = [0, *cuts, len(log.batches)]
    return [
        Closed(part[0].base_offset, part[-1].next_offset, tuple(part))
        for start, stop in pairwise(edges)
        for part in [log.batches[start:stop]]
    ]


def cleaned(log: DrawnLog, segments: list[Closed], below: int) -> list[Closed]:
    """Remove each record below an offset whose key comes again, as the log cleaner does.

    Transactions stay as they are, and so does the last batch of each segment.
    """
    plain = {
        batch.base_offset: [
            row for row in log.every if batch.base_offset <= row[0] < batch.next_offset
        ]
        for batch in log.batches
        if batch.base_offset in log.plain and batch.next_offset <= below
    }
    newest = {row[2]: row[0] for rows in plain.values() for row in rows}
    gone = set[int]()

    def left_of(batch: EncodedBatch) -> EncodedBatch | None:
        start = batch.base_offset
        rows = plain[start]
        left = [row for row in rows if newest[row[2]] == row[0]]
        gone.update(row[0] for row in rows if row not in left)
        header, codec = log.plain[start]
        header = replace(header, last_offset_delta=batch.next_offset - start - 1)
        records = [Record(row[2], row[3], row[1], offset=row[0]) for row in left]
        return record_batch(start, records, header, codec=codec) if left else None

    found = []
    for segment in segments:
        *inner, last = segment.batches
        kept = [left_of(batch) if batch.base_offset in plain else batch for batch in inner]
        found.append(segment._replace(batches=(*filter(None, kept), last)))
    log.every = [row for row in log.every if row[0] not in gone]
    return found
