"""Clusters with a remote tier, drawn at random, and what a consumer would get of them.

The expected records are known before any byte is written, so nothing of the product is needed.
"""

import json
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from support import aiven_objects
from support.drawn_logs import Closed, DrawnLog, cleaned, closed_segments, drawn_log
from support.encoder import (
    Header,
    Partition,
    Record,
    Segment,
    record_batch,
    topic_id_text,
    write_checkpoint,
    write_log_dir,
)
from support.encoder.internal import compact, uvarint
from support.tiers import (
    COPY_FINISHED,
    DELETE_FINISHED,
    DELETE_STARTED,
    Place,
    Rows,
    started,
    updated,
)

_TOPICS = (
    *("t", "a-b", "orders.x", "with_1-2", "a-0", "x--y-", "7", "-UPPER.lower_"),
    *("plain-BGL1s22hRCS3TSXe7CKMuw-", "n" * 200),
)
_PREFIXES = ("", "a/", "a/b-", "x-1-", "some/deep/prefix/")
_CHUNKS = (1, 7, 64, 200, 4096, 1 << 20)


@dataclass(frozen=True)
class DrawnCluster:
    """Brokers' disks and their tier, and what of it is told to the product.

    Attributes:
        disks: log dirs.
        tier: its root; empty if it has no object.
        read: settings to read the disks and the tier with.
        facts: what was drawn, for the message of a failing test.
        log_starts: log start by topic.
        tiered: the range that the tier has, by topic.
    """

    disks: list[Path]
    tier: list[Path]
    settings: dict[str, Any]  # Any: settings
    read: dict[str, Any]
    logs: list[DrawnLog]
    log_starts: dict[str, int]
    tiered: dict[str, tuple[int, int]]
    facts: dict[str, object]

    @property
    def sources(self) -> list[Path]:
        """All of it."""
        return [*self.disks, *self.tier]

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


@dataclass(frozen=True)
class _Settings:
    """Settings of the plugin while it uploads some of the segments."""

    prefix: str
    chunk: int
    compressed: bool
    sizes_in_frames: bool
    key_id: str | None

    @classmethod
    def drawn(cls, chance: random.Random) -> "_Settings":
        return cls(
            prefix=chance.choice(_PREFIXES),
            chunk=chance.choice(_CHUNKS),
            compressed=chance.random() < 0.5,
            sizes_in_frames=chance.random() < 0.7,
            key_id=chance.choice([None, None, None, *aiven_objects.KEY_IDS]),
        )


class _Store:
    """Writes the objects of a tier in one layout; its settings may change between segments."""

    def __init__(self, chance: random.Random, root: Path, *, moves: bool) -> None:
        self._chance = chance
        self._root = root
        self._moved: dict[str, str] = {}
        self.layout = chance.choice(["local", "aiven", "aiven", "aiven", "pinterest"])
        self._settings = [_Settings.drawn(chance) for _ in range(chance.choice([1, 1, 2, 3]))]
        self.moves = moves and chance.random() < 0.4 and self.layout == "aiven"
        self.facts = {
            "layout": self.layout,
            "settings": [asdict(each) for each in self._settings],
            "moves": self.moves,
        }

    @property
    def tiered(self) -> dict[str, Any]:
        return {"keys": {key: str(aiven_objects.key_file(key)) for key in aiven_objects.KEY_IDS}}

    def put(self, key: tuple[str, str], log: DrawnLog, of: Closed, name: str) -> None:
        """Write the objects of a segment of a topic and its id."""
        topic, topic_id = key
        lost_from = min(of.next_offset, of.lost_from)
        if self.layout == "pinterest":
            folder = self._root / "bucket" / "0110" / "cluster-1" / f"{topic}-0"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{of.start_offset:020d}.log").write_bytes(of.data)
            (folder / "offset.wm").write_text(str(of.next_offset - 1))
            partition = {"topic": topic, "partition": 0}
            content = {"topicPartition": partition, "metadata": {}, "loadHash": 7}
            (folder / "_metadata").write_text(json.dumps(content))
            return
        if self.layout == "local":
            folder = self._root / "kafka-tiered-storage" / f"{topic}-0-{topic_id}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{of.start_offset:020d}-{name}.log").write_bytes(of.data)
            epochs = [(epoch, start) for epoch, start in log.epochs if start < lost_from]
            lines = "".join(f"{epoch} {start}\n" for epoch, start in epochs)
            path = folder / f"{of.start_offset:020d}-{name}.leader_epoch_checkpoint"
            path.write_text(f"0\n{len(epochs)}\n{lines}")
            return
        settings = self._settings[len(self._settings) * of.start_offset // log.end]
        stored = aiven_objects.stored(
            of.data,
            settings.chunk,
            compressed=settings.compressed,
            sizes_in_frames=settings.sizes_in_frames,
            encrypted=settings.key_id is not None,
            key_id=settings.key_id or aiven_objects.KEY_ID,
            start_offset=of.start_offset,
            end_offset=of.next_offset - 1,
            topic=topic,
            topic_id=topic_id,
            segment_id=name,
        )
        metadata = stored.manifest["remoteLogSegmentMetadata"]
        pairs = log.epochs_in(of.start_offset, lost_from)
        metadata["segmentLeaderEpochs"] = {str(epoch): start for epoch, start in pairs}
        folder = self._root / f"{settings.prefix}{topic}-{topic_id}" / "0"
        manifest = stored.write(folder, of.start_offset)
        if self.moves and self._chance.random() < 0.5:
            self._move(manifest, key)

    def remove(self, name: str) -> None:
        """Delete the objects of a segment."""
        for path in self._root.rglob(f"*{name}*"):
            path.unlink()

    def _move(self, manifest: Path, key: tuple[str, str]) -> None:
        """Put the objects of an upload under an older prefix, which its event names."""
        path = f"{key[0]}-{key[1]}/0/{manifest.stem}"
        for suffix in (".log", ".indexes"):
            target = self._root / f"older/{path}{suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            manifest.with_suffix(suffix).rename(target)
        self._moved[manifest.stem[21:]] = path

    def custom(self, name: str) -> bytes | None:
        """The custom metadata of an upload."""
        if name in self._moved:
            fields = [(1, compact("older/")), (2, compact(self._moved[name]))]
            fields = [(0, b"\x08"), *fields] if self._chance.random() < 0.5 else fields
        elif self.moves:
            fields = [(0, b"\x08")]
        else:
            return None
        parts = [uvarint(tag) + uvarint(len(data)) + data for tag, data in fields]
        return uvarint(len(parts)) + b"".join(parts)


@dataclass(frozen=True)
class _DrawnTopic:
    """A topic's log, cut into segments: where the tier ends, where the disk begins.

    Attributes:
        uploaded: number of segments in the tier.
        local: number of segments that are no longer on the disk.
        deleted: number of segments that are in neither.
        cleaned_below: offset up to which the log cleaner has been, before the topic got a tier.
    """

    log: DrawnLog
    topic_id: uuid.UUID
    segments: list[Closed]
    is_tiered: bool
    uploaded: int
    local: int
    deleted: int
    start: int
    cleaned_below: int

    @classmethod
    def drawn(cls, chance: random.Random, number: int, layout: str) -> "_DrawnTopic":
        # Nothing in a folder of Pinterest's uploader proves that a cleaner has been there.
        is_cleaned = chance.random() < 0.3 and layout != "pinterest"
        keys, cleaned_below = chance.randint(1, 9) if is_cleaned else 1 << 30, 0
        log = drawn_log(chance, chance.choice(_TOPICS) + str(number), keys=keys)
        topic_id = uuid.UUID(int=chance.getrandbits(128))
        segments = closed_segments(chance, log)
        if is_cleaned:
            cleaned_below = chance.choice(segments).start_offset
            segments = cleaned(log, segments, cleaned_below)
        is_tiered = number == 0 or chance.random() < 0.8
        uploaded = chance.randint(1, len(segments) - 1) if is_tiered else 0
        local = chance.randint(0, uploaded)
        deleted = chance.randint(0, local) if chance.random() < 0.5 else 0
        start = segments[deleted].start_offset
        if deleted < uploaded and chance.random() < 0.2 and layout != "pinterest":
            start = chance.randint(start, segments[deleted].next_offset - 1)
        counts = uploaded, local, deleted
        return cls(log, topic_id, segments, is_tiered, *counts, start, cleaned_below)

    @property
    def facts(self) -> dict[str, object]:
        return {
            "segments": [each.start_offset for each in self.segments],
            "uploaded": self.uploaded,
            "local": self.local,
            "deleted": self.deleted,
            "start": self.start,
            "epochs": self.log.epochs,
            "cleaned_below": self.cleaned_below,
        }

    def events(self, chance: random.Random, store: _Store) -> tuple[list[bytes], tuple[int, int]]:
        """Upload the segments; return the events, and the range that the tier has."""
        if store.layout == "pinterest":
            uploads = self.segments[self.deleted : self.uploaded]
            for of in uploads:
                store.put((self.log.topic, ""), self.log, of, "")
            return [], (self.start, self.segments[self.uploaded].start_offset if uploads else 0)
        uploads = [*_uploads(chance, self.segments[: self.uploaded])]
        live = [of.start_offset for of in uploads if of.next_offset > self.start]
        has = min(live, default=0), self.segments[self.uploaded].start_offset if live else 0
        uploads += _deposed(chance, self.log, self.segments[: self.uploaded])
        events = [event for of in uploads for event in self._upload(chance, store, of)]
        return events, has

    def _upload(self, chance: random.Random, store: _Store, of: Closed) -> Iterator[bytes]:
        """Upload a segment, delete it if it is below the log start; yield the events."""
        topic_id = topic_id_text(self.topic_id)
        place = Place(self.log.topic, 0, Path(f"{self.log.topic}-{topic_id}"))
        stop = min(of.next_offset, of.lost_from)
        epochs, offsets = (
            self.log.epochs_in(of.start_offset, stop),
            (of.start_offset, of.next_offset),
        )
        while chance.random() < 0.15:  # an attempt that failed
            name = _new_id(chance)
            yield started(place, name, offsets, epochs, len(of.data))
            if chance.random() < 0.5:
                yield updated(place, name, DELETE_STARTED)
            if chance.random() < 0.5:
                yield updated(place, name, DELETE_FINISHED)
        name = _new_id(chance)
        store.put((self.log.topic, topic_id), self.log, of, name)
        yield started(place, name, offsets, epochs, len(of.data))
        yield updated(place, name, COPY_FINISHED, store.custom(name))
        if stop <= self.start:
            yield updated(place, name, DELETE_STARTED)
            store.remove(name)
            yield updated(place, name, DELETE_FINISHED)

    def replica(self, first: int, stop: int, layout: str) -> Partition:
        """A copy with the segments [first, stop); brokers know nothing of Pinterest's uploader."""
        parts = self.segments[first:stop]
        end = parts[-1].next_offset
        return Partition(
            self.log.topic,
            0,
            [Segment(each.start_offset, each.batches) for each in parts],
            topic_id=self.topic_id,
            log_start_offset=None
            if layout == "pinterest" or not (self.is_tiered or self.start)
            else self.start,
            leader_epochs=[(epoch, start) for epoch, start in self.log.epochs if start < end],
        )


def drawn_cluster(chance: random.Random, folder: Path, *, is_plain: bool = False) -> DrawnCluster:
    """Write the disks of one or two brokers and a tier, with one to three topics.

    Args:
        chance: draws everything.
        folder: where to write.
        is_plain: whether the tier can be read without events: all objects lie together.
    """
    store = _Store(chance, folder / "tier", moves=not is_plain)
    has_events = chance.random() < 0.7 or store.moves
    numbers = range(chance.randint(1, 3))
    topics = [_DrawnTopic.drawn(chance, number, store.layout) for number in numbers]
    tiered, events = dict[str, tuple[int, int]](), list[bytes]()
    for topic in topics:
        own, tiered[topic.log.topic] = topic.events(chance, store)
        events += own
    disks = _disks(chance, topics, events if has_events else [], store.layout)
    below = {(topic.log.topic, 0): topic.cleaned_below for topic in topics if topic.cleaned_below}
    for name, (broker_id, partitions) in disks.items():
        write_log_dir(folder / name, partitions, broker_id=broker_id)
        write_checkpoint(folder / name / "cleaner-offset-checkpoint", below)
    (folder / "tier").mkdir(exist_ok=True)
    if chance.random() < 0.7:
        (folder / "disk" / "remote-log-index-cache").mkdir()
    has_objects = any(path.is_file() for path in (folder / "tier").rglob("*"))
    facts: dict[str, object] = {**store.facts, "events": has_events, "disks": [*disks]}
    return DrawnCluster(
        disks=[folder / name for name in disks],
        tier=[folder / "tier"] if has_objects else [],
        settings=store.tiered,
        read={"older_copies": True} if store.layout == "pinterest" else {},
        logs=[topic.log for topic in topics],
        log_starts={topic.log.topic: topic.start for topic in topics},
        tiered=tiered,
        facts={**facts, **{topic.log.topic: topic.facts for topic in topics}},
    )


def _disks(
    chance: random.Random, topics: Sequence[_DrawnTopic], events: Sequence[bytes], layout: str
) -> dict[str, tuple[int, list[Partition]]]:
    """Draw the log dirs, with their broker's id: the leader has one or two, a follower lags."""
    disks: dict[str, tuple[int, list[Partition]]] = {"disk": (0, [])}
    if len(topics) > 1 and chance.random() < 0.4:
        disks["disk-2"] = 0, []
    for topic in topics:
        _, partitions = chance.choice([*disks.values()])
        partitions.append(topic.replica(topic.local, len(topic.segments), layout))
    if events:
        batches = [record_batch(at, [Record(value=value)]) for at, value in enumerate(events)]
        disks["disk"][1].append(Partition("__remote_log_metadata", 0, [Segment(0, batches)]))
    if chance.random() < 0.4:
        copies = []
        for topic in topics:
            first = chance.randint(topic.deleted, len(topic.segments) - 1)
            stop = chance.randint(first + 1, len(topic.segments))
            copies.append(topic.replica(first, stop, layout))
        disks["follower"] = 1, copies
    return disks


def _uploads(chance: random.Random, segments: Sequence[Closed]) -> Iterator[Closed]:
    """Yield each segment, some twice, and some joined as another leader had them in one."""
    for at, each in enumerate(segments):
        yield each
        if chance.random() < 0.15:
            yield each
        if at and chance.random() < 0.15:
            before = segments[at - 1]
            both = (*before.batches, *each.batches)
            yield Closed(before.start_offset, each.next_offset, both)


def _deposed(chance: random.Random, log: DrawnLog, segments: Sequence[Closed]) -> Iterator[Closed]:
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
        yield Closed(of.start_offset, lost.next_offset, (*kept, lost), lost_from)


def _new_id(chance: random.Random) -> str:
    return topic_id_text(uuid.UUID(int=chance.getrandbits(128)))
