"""Drawn clusters: a registry and topics with typed values, whose disk grows part by part."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from support.drawn_typed.avro_schemas import AvroDrawer
from support.drawn_typed.json_outcomes import json_schema_text
from support.drawn_typed.outcomes import Outcome
from support.drawn_typed.protobuf_outcomes import evolved_text, protobuf_text
from support.drawn_typed.registries import DrawnRegistry
from support.drawn_typed.topics import NULL, DrawnPart, DrawnTexts, Part
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
    record_batch,
)
from support.made_logs import FIRST_MS, STEP_MS, write_over

Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class DrawnRecord:
    """A record: its key, its value, the part of the log that has it, and if it was committed."""

    key: Part
    value: Part
    part: int
    is_committed: bool


class DrawnCluster:
    """A cluster of a seed; `records` has what its topics hold, by topic, partition and offset."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.parts = random.randrange(2, 4)
        self.registry = DrawnRegistry(random, self.parts)
        self.records: dict[Place, DrawnRecord] = {}
        self._segments: dict[tuple[str, int], list[Segment]] = {}
        for number in range(random.randrange(1, 3)):
            self._add_topic(f"topic{number}")
        self.registry.disturb()

    def write(self, folder: Path, parts: int, registry_parts: int) -> Path:
        """Write the disk as it is after some parts of the topics and of the registry."""
        logs = [Partition(*key, found[:parts]) for key, found in self._segments.items()]
        segments, offset = [], 0
        for pairs in self.registry.log[:registry_parts]:
            records = [Record(*pair, FIRST_MS) for pair in pairs]
            segments.append(Segment(offset, [record_batch(offset, records)]))
            offset += len(pairs)
        logs += [Partition("_schemas", 0, segments)] if segments else []
        return write_over(folder, logs, cluster_id="c")

    def _add_topic(self, name: str) -> None:
        random = self._random
        context = random.choice(("", "", ":.lab:"))
        value = self._values(f"{context}{name}")
        key = None
        if random.random() < 0.5:
            key = self._avro_part("key", f"{context}{name}", 1)
        for partition in range(random.randrange(1, 3)):
            segments, offset = [], 0
            for part in range(self.parts):
                batches: list[EncodedBatch] = []
                start = offset
                for _ in range(random.randrange(1, 4)):
                    batches += self._batches((name, partition, offset), part, key, value)
                    offset = batches[-1].next_offset
                segments.append(Segment(start, batches))
            self._segments[name, partition] = segments

    def _values(self, subject: str) -> DrawnPart | DrawnTexts:
        random = self._random
        match kind := random.choice(("AVRO", "AVRO", "PROTOBUF", "JSON", "json", "connect")):
            case "AVRO":
                return self._avro_part("value", subject, random.choice((1, 1, 2)))
            case "json" | "connect":
                return DrawnTexts(random, self.parts, kind == "connect")
        frame = random.choice(("id", "id", "guid", "header"))
        found = DrawnPart(random, self.registry, "value", frame)
        text = protobuf_text(random) if kind == "PROTOBUF" else json_schema_text(random)
        for number in range(self.parts):
            if number and random.random() < 0.5:
                is_protobuf = kind == "PROTOBUF"
                text = evolved_text(random, text) if is_protobuf else json_schema_text(random)
            schema = kind, None, text
            found.schemas.append([self.registry.add(f"{subject}-value", schema, number)])
        return found

    def _avro_part(self, part: str, subject: str, types: int) -> DrawnPart:
        random = self._random
        drawer = AvroDrawer(random, f"{part}.{subject.replace(':', '')}")
        if random.random() < 0.5:
            drawer.shared.append(drawer.record(0))
            self.registry.share(f"{subject}-{part}-shared", drawer.shared[0])
        kinds = [drawer.record() for _ in range(types)]
        if types == 1 and random.random() < 0.2:
            kinds = [drawer.type(1)]
        by_record = random.random() < 0.3 and types > 1 and subject[0] != ":"
        frame = random.choice(("id", "id", "guid", "header"))
        found = DrawnPart(random, self.registry, part, frame)
        for number in range(self.parts):
            places = []
            for index, kind in enumerate(kinds):
                if number and random.random() < 0.5:
                    kind = kinds[index] = drawer.evolved(kind)
                of = f"{subject}-{kind['name']}" if by_record else f"{subject}-{part}"
                places.append(self.registry.register(of, kind, number))
            found.schemas.append(places)
        return found

    def _batches(
        self, place: Place, part: int, key: DrawnPart | None, value: DrawnPart | DrawnTexts
    ) -> Iterator[EncodedBatch]:
        """Yield a batch, and the end of its transaction if it has one."""
        random, (topic, partition, offset) = self._random, place
        ending = random.choice((None, None, ControlType.COMMIT, ControlType.ABORT))
        records = []
        for number in range(random.randrange(1, 12)):
            drawn_key = Part(b"k", Outcome()) if key is None else key.drawn(part)
            drawn = NULL if random.random() < 0.05 else value.drawn(part)
            drawn_key = NULL if random.random() < 0.05 else drawn_key
            headers = (("other", b"x"), *drawn_key.headers, *drawn.headers)
            at_ms = FIRST_MS + (offset + number) * STEP_MS
            records.append(Record(drawn_key.content, drawn.content, at_ms, headers))
            is_committed = ending is not ControlType.ABORT
            own = DrawnRecord(drawn_key, drawn, part, is_committed)
            self.records[topic, partition, offset + number] = own
        producer = Producer() if ending is None else Producer(7, 0, 0)
        header = Header(producer=producer, is_transactional=ending is not None)
        yield record_batch(offset, records, header, codec=random.choice([*Codec]))
        if ending is not None:
            yield end_marker(offset + len(records), ending, producer_id=7, timestamp_ms=FIRST_MS)
