"""Clusters with a remote tier, drawn at random, and what a consumer would get of them.

The expected records are known before any byte is written, so nothing of the product is needed.
"""

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from support import aiven_objects
from support.encoder import (
    Codec,
    ControlType,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    topic_id_text,
    write_log_dir,
)
from support.encoder.internal import compact, uvarint
from support.encoder.record import EncodedBatch
from support.tiers import (
    COPY_FINISHED,
    DELETE_FINISHED,
    DELETE_STARTED,
    Place,
    Rows,
    started,
    updated,
)

_CODECS = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD)
_PREFIXES = ("", "a/", "a/b-", "x-1-", "some/deep/prefix/")
_CHUNKS = (1, 7, 64, 200, 4096, 1 << 20)


class _Closed(NamedTuple):
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
    """A partition's log: its batches, its epochs, and its records by isolation."""

    topic: str
    batches: list[EncodedBatch] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    every: Rows = field(default_factory=list)
    aborted: set[int] = field(default_factory=set)
    transactions: list[tuple[int, int]] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The log end offset."""
        return self.batches[-1].next_offset

    def rows(self, isolation: str, start: int, stop: int) -> Rows:
        """Return the rows in [start, stop) that a consumer gets of a log that ends at `stop`."""
        leaves = set[int]()
        if isolation == "read_committed":
            leaves = self.aborted
            opened = [first for first, end in self.transactions if first < stop <= end]
            stop = min([stop, *opened])
        return [row for row in self.every if start <= row[0] < stop and row[0] not in leaves]

    def epochs_in(self, start: int, following: int) -> list[tuple[int, int]]:
        """The leader epochs of a range, as an upload's event has them."""
        below = [epoch for epoch, first in self.epochs if first <= start][-1:]
        inside = [(epoch, first) for epoch, first in self.epochs if start < first < following]
        return [(epoch, start) for epoch in below] + inside


@dataclass(frozen=True)
class DrawnCluster:
    """A broker's disk and its tier, and what of it is told to the product.

    Attributes:
        facts: what was drawn, for the message of a failing test.
        log_starts: log start by topic.
        tiered: the range that the tier has, by topic.
    """

    sources: list[Path]
    settings: dict[str, Any]  # Any: settings
    logs: list[DrawnLog]
    log_starts: dict[str, int]
    tiered: dict[str, tuple[int, int]]
    facts: dict[str, object]

    def rows(self, isolation: str, *, of_tier: bool = False) -> dict[str, Rows]:
        """Return a consumer's rows by partition; with `of_tier`, as if only the tier existed."""
        found = {
            f"{log.topic}-0": log.rows(isolation, *offsets)
            for log in self.logs
            for offsets in [
                self.tiered[log.topic] if of_tier else (self.log_starts[log.topic], log.end)
            ]
        }
        return {name: rows for name, rows in found.items() if rows}


def drawn_log(chance: random.Random, topic: str) -> DrawnLog:
    """A log of some 40 batches with transactions, several codecs and leader epochs."""
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
        records = [
            Record(
                f"k{offset + at}".encode(), chance.randbytes(chance.randint(0, 60)), 1000 + number
            )
            for at in range(count)
        ]
        header = Header(leader_epoch=epoch)
        if producer > 0:
            header = Header(
                leader_epoch=epoch, producer=Producer(producer, 0, 0), is_transactional=True
            )
            open_ones.setdefault(producer, []).extend(range(offset, offset + count))
        log.batches.append(record_batch(offset, records, header, codec=chance.choice(_CODECS)))
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


def _end(
    chance: random.Random,
    log: DrawnLog,
    producer: int,
    offsets: list[int],
    offset: int,
    epoch: int,
) -> int:
    kind = chance.choice([ControlType.COMMIT, ControlType.ABORT])
    log.transactions.append((offsets[0], offset))
    log.batches.append(end_marker(offset, kind, producer_id=producer, leader_epoch=epoch))
    if kind is ControlType.ABORT:
        log.aborted.update(offsets)
    return offset + 1


def _segments(chance: random.Random, log: DrawnLog) -> list[_Closed]:
    """Cut a log into segments, as one broker does."""
    cuts = sorted(chance.sample(range(1, len(log.batches)), chance.randint(3, 8)))
    edges = [0, *cuts, len(log.batches)]
    return [
        _Closed(part[0].base_offset, part[-1].next_offset, tuple(part))
        for start, stop in pairwise(edges)
        for part in [log.batches[start:stop]]
    ]


class _Store:
    """Writes the objects of a tier in one layout, with drawn settings."""

    def __init__(self, chance: random.Random, root: Path, *, moves: bool) -> None:
        self._chance = chance
        self._root = root
        self._moved: dict[str, str] = {}
        self.layout = chance.choice(["local", "aiven", "aiven", "aiven"])
        self._prefix = chance.choice(_PREFIXES)
        self._chunk = chance.choice(_CHUNKS)
        self._compressed = chance.random() < 0.5
        self._encrypted = chance.random() < 0.4
        self.moves = moves and chance.random() < 0.4 and self.layout == "aiven"
        self.facts = {
            "layout": self.layout,
            "prefix": self._prefix,
            "chunk": self._chunk,
            "compressed": self._compressed,
            "encrypted": self._encrypted,
            "moves": self.moves,
        }

    @property
    def tiered(self) -> dict[str, Any]:
        return {"keys": {"key1": str(aiven_objects.key_file())}}

    def place(self, topic: str, topic_id: str) -> Place:
        """The folder of partition 0; events read only the topic id in its name."""
        if self.layout == "local":
            return Place(topic, 0, self._root / "kafka-tiered-storage" / f"{topic}-0-{topic_id}")
        return Place(topic, 0, self._root / f"{self._prefix}{topic}-{topic_id}" / "0")

    def put(self, place: Place, topic_id: str, log: DrawnLog, of: _Closed, name: str) -> None:
        """Write the objects of a segment."""
        place.folder.mkdir(parents=True, exist_ok=True)
        if self.layout == "local":
            (place.folder / f"{of.start_offset:020d}-{name}.log").write_bytes(of.data)
            epochs = [(e, s) for e, s in log.epochs if s < min(of.next_offset, of.lost_from)]
            lines = "".join(f"{epoch} {start}\n" for epoch, start in epochs)
            path = place.folder / f"{of.start_offset:020d}-{name}.leader_epoch_checkpoint"
            path.write_text(f"0\n{len(epochs)}\n{lines}")
            return
        stored = aiven_objects.stored(
            of.data,
            self._chunk,
            compressed=self._compressed,
            encrypted=self._encrypted,
            start_offset=of.start_offset,
            end_offset=of.next_offset - 1,
            topic=place.topic,
            topic_id=topic_id,
            segment_id=name,
        )
        metadata = stored.manifest["remoteLogSegmentMetadata"]
        epochs = log.epochs_in(of.start_offset, min(of.next_offset, of.lost_from))
        metadata["segmentLeaderEpochs"] = {str(epoch): start for epoch, start in epochs}
        manifest = stored.write(place.folder, of.start_offset)
        if self.moves and self._chance.random() < 0.5:
            self._move(manifest, place, topic_id)

    def _move(self, manifest: Path, place: Place, topic_id: str) -> None:
        """Put the objects of an upload under an older prefix, which its event names."""
        key = f"{place.topic}-{topic_id}/0/{manifest.stem}"
        for suffix in (".log", ".indexes"):
            target = self._root / f"older/{key}{suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            manifest.with_suffix(suffix).rename(target)
        self._moved[manifest.stem[21:]] = key

    def custom(self, name: str) -> bytes | None:
        """The custom metadata of an upload."""
        if name in self._moved:
            fields = [(1, compact("older/")), (2, compact(self._moved[name]))]
        elif self.moves:
            fields = [(0, b"\x08")]
        else:
            return None
        parts = [uvarint(tag) + uvarint(len(data)) + data for tag, data in fields]
        return uvarint(len(parts)) + b"".join(parts)


def drawn_cluster(chance: random.Random, folder: Path, *, is_plain: bool = False) -> DrawnCluster:
    """Write a disk and a tier with one to three topics.

    Args:
        chance: draws everything.
        folder: where to write.
        is_plain: whether the tier can be read without events: all objects lie together.
    """
    store = _Store(chance, folder / "tier", moves=not is_plain)
    has_events = chance.random() < 0.7 or store.moves
    facts: dict[str, object] = {**store.facts, "events": has_events}
    logs, partitions, events = [], [], list[bytes]()
    starts, tiered = dict[str, int](), dict[str, tuple[int, int]]()
    for number in range(chance.randint(1, 3)):
        log = drawn_log(chance, chance.choice(["t", "a-b", "orders.x", "with_1-2"]) + str(number))
        logs.append(log)
        topic_id = uuid.UUID(int=chance.getrandbits(128))
        segments = _segments(chance, log)
        is_tiered = number == 0 or chance.random() < 0.8
        uploaded = chance.randint(1, len(segments) - 1) if is_tiered else 0
        local = chance.randint(0, uploaded)
        deleted = chance.randint(0, min(local, uploaded)) if chance.random() < 0.5 else 0
        start = segments[deleted].start_offset
        if deleted < uploaded and chance.random() < 0.2:
            start = chance.randint(start, segments[deleted].next_offset - 1)
        starts[log.topic] = start
        facts[log.topic] = {
            "segments": [each.start_offset for each in segments],
            "uploaded": uploaded,
            "local": local,
            "deleted": deleted,
            "start": start,
            "epochs": log.epochs,
        }
        text = topic_id_text(topic_id)
        place = store.place(log.topic, text)
        of_topic = Place(log.topic, 0, Path(f"{log.topic}-{text}"))
        uploads = [*_uploads(chance, segments[:uploaded])]
        live = [of.start_offset for of in uploads if of.next_offset > start]
        tiered[log.topic] = (min(live, default=0), segments[uploaded].start_offset if live else 0)
        uploads += _deposed(chance, log, segments[:uploaded])
        for of in uploads:
            events += _upload(chance, store, log, of, (place, of_topic, text), start)
        partitions.append(
            Partition(
                log.topic,
                0,
                [Segment(each.start_offset, each.batches) for each in segments[local:]],
                topic_id=topic_id,
                log_start_offset=start if is_tiered or start else None,
                leader_epochs=log.epochs,
            )
        )
    if has_events:
        batches = [record_batch(at, [Record(value=value)]) for at, value in enumerate(events)]
        partitions.append(Partition("__remote_log_metadata", 0, [Segment(0, batches)]))
    write_log_dir(folder / "disk", partitions)
    (folder / "tier").mkdir(exist_ok=True)
    if chance.random() < 0.7:
        (folder / "disk" / "remote-log-index-cache").mkdir()
    sources = [folder / "disk"]
    if any(path.is_file() for path in (folder / "tier").rglob("*")):
        sources.append(folder / "tier")
    return DrawnCluster(sources, store.tiered, logs, starts, tiered, facts)


def _uploads(chance: random.Random, segments: Sequence[_Closed]) -> Iterator[_Closed]:
    """Yield each segment, some twice, and some joined as another leader had them in one."""
    for at, each in enumerate(segments):
        yield each
        if chance.random() < 0.15:
            yield each
        if at and chance.random() < 0.15:
            before = segments[at - 1]
            both = (*before.batches, *each.batches)
            yield _Closed(before.start_offset, each.next_offset, both)


def _deposed(
    chance: random.Random, log: DrawnLog, segments: Sequence[_Closed]
) -> Iterator[_Closed]:
    """Yield what a leader uploaded that went on after an election that it lost."""
    for _, lost_from in log.epochs[1:]:
        of = next(
            (each for each in segments if each.start_offset < lost_from < each.next_offset), None
        )
        if of is None or chance.random() < 0.5:
            continue
        epoch = [epoch for epoch, start in log.epochs if start < lost_from][-1]
        kept = [batch for batch in of.batches if batch.next_offset <= lost_from]
        records = [Record(b"lost", chance.randbytes(9), 5) for _ in range(chance.randint(1, 40))]
        lost = record_batch(lost_from, records, Header(leader_epoch=epoch))
        yield _Closed(of.start_offset, lost.next_offset, (*kept, lost), lost_from)


def _upload(
    chance: random.Random,
    store: _Store,
    log: DrawnLog,
    of: _Closed,
    names: tuple[Place, Place, str],
    log_start: int,
) -> Iterator[bytes]:
    """Upload a segment, delete it if it is below the log start; yield the events."""
    place, of_topic, topic_id = names
    stop = min(of.next_offset, of.lost_from)
    epochs, offsets = log.epochs_in(of.start_offset, stop), (of.start_offset, of.next_offset)
    while chance.random() < 0.15:  # an attempt that failed
        name = _new_id(chance)
        yield started(of_topic, name, offsets, epochs, len(of.data))
        if chance.random() < 0.5:
            yield updated(of_topic, name, DELETE_STARTED)
        if chance.random() < 0.5:
            yield updated(of_topic, name, DELETE_FINISHED)
    name = _new_id(chance)
    store.put(place, topic_id, log, of, name)
    yield started(of_topic, name, offsets, epochs, len(of.data))
    yield updated(of_topic, name, COPY_FINISHED, store.custom(name))
    if of.next_offset <= log_start:
        yield updated(of_topic, name, DELETE_STARTED)
        for path in place.folder.parent.parent.rglob(f"*{name}*"):
            path.unlink()
        yield updated(of_topic, name, DELETE_FINISHED)


def _new_id(chance: random.Random) -> str:
    return topic_id_text(uuid.UUID(int=chance.getrandbits(128)))
