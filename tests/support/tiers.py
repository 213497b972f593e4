"""Copies of a real disk and its tier, what a consumer got of them, and further events."""

import base64
import gzip
import json
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from support import aiven_objects
from support.broker_disks import unpacked
from support.encoder import Record, record_batch
from support.encoder.internal import compact, compact_array, int8, int32, int64, tagged, uvarint
from support.lakes import read_table
from support.walks import records_of

Rows = list[tuple[int, int, bytes | None, bytes | None]]

PLAIN, ZSTD, ENC = AIVEN = ("30_tier_aiven_plain", "31_tier_aiven_zstd", "32_tier_aiven_enc")
LOCAL = "33_tier_local"
TIERS = (*AIVEN, LOCAL)
KEYS = {"keys": {"key1": str(aiven_objects.key_file())}}
CLUSTER = {"source_id": "tiered"}  # of a tier alone, which names none

COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED = range(4)


class Place(NamedTuple):
    """A partition, and the folder of its objects."""

    topic: str
    partition: int
    folder: Path

    @property
    def topic_id(self) -> str:
        """The topic id in the folder's name."""
        return self.folder.name[-22:]

    def objects(self, suffix: str = ".log") -> list[Path]:
        """The objects with a suffix, by offset."""
        return sorted(self.folder.glob(f"*{suffix}"))


class TieredDisk(NamedTuple):
    """A broker's log dir and its tier."""

    data: Path
    remote: Path

    @property
    def folder(self) -> Path:
        """The folder of both."""
        return self.data.parent

    @property
    def sources(self) -> tuple[Path, Path]:
        """Both, as sources."""
        return self.data, self.remote

    def place(self, topic: str, partition: int = 0) -> Place:
        """A partition in the tier."""
        (folder,) = self.remote.rglob(f"{topic}-{partition}-" + "?" * 22)
        return Place(topic, partition, folder)


def later_uploads(whole: Path, into: Path, first: int, stop: int) -> set[str]:
    """Copy the uploads [first, stop) of each partition of a tier; return their files' stems."""
    of_folder: dict[Path, list[str]] = {}
    for log in sorted(whole.rglob("*.log")):
        of_folder.setdefault(log.parent, []).append(log.stem)
    into.mkdir(parents=True, exist_ok=True)
    found = set[str]()
    for folder, names in of_folder.items():
        for path in (path for name in names[first:stop] for path in folder.glob(f"{name}*")):
            place = into / path.relative_to(whole)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)
            found.add(place.stem)
    return found


def copied(scenario: str, into: Path) -> TieredDisk:
    """A copy of a real disk and its tier."""
    shutil.copytree(unpacked(scenario), into)
    return TieredDisk(into / "data", into / "remote")


def consumed(scenario: str, isolation: str) -> dict[str, Rows]:
    """Return the rows that a consumer got, by partition."""
    with gzip.open(unpacked(scenario) / "consumed.json.gz", "rt", encoding="utf-8") as file:
        every = json.load(file)
    return {
        name.partition(" ")[2]: [
            (offset, timestamp_ms, _bytes(key), _bytes(value))
            for offset, timestamp_ms, key, value in facts["rows"]
        ]
        for name, facts in every.items()
        if name.partition(" ")[0] == isolation
    }


def in_lake(lake: Path) -> dict[str, Rows]:
    """All records of a lake, by partition."""
    found: dict[str, Rows] = {}
    for row in sorted(read_table(lake, "records"), key=lambda row: row["offset"]):
        name = f"{row['topic']}-{row['partition']}"
        record = (row["offset"], row["timestamp_ms"], row["key"], row["value"])
        found.setdefault(name, []).append(record)
    return found


def gaps_of(lake: Path, topic: str) -> set[tuple[int, int, str, str | None]]:
    """The rows of `gaps` of a topic."""
    return {
        (row["start_offset"], row["next_offset"], row["cause"], row["detail"])
        for row in read_table(lake, "gaps")
        if row["topic"] == topic
    }


def add_events(disk: TieredDisk, like: str, *values: bytes) -> None:
    """Append events to the partition of the topic that has those of an upload."""
    logs = sorted(disk.data.glob("__remote_log_metadata-*/*.log"))
    (log,) = (path for path in logs if _id(like) in path.read_bytes())
    content = log.read_bytes()
    offset = records_of(content)[-1].offset + 1
    batch = record_batch(offset, [Record(value=value) for value in values])
    log.write_bytes(content + batch.data)


def started(
    place: Place,
    segment_id: str,
    offsets: tuple[int, int],
    epochs: Sequence[tuple[int, int]],
    size_bytes: int = 1,
) -> bytes:
    """The event of an upload that begins; `offsets` is half-open."""
    start, following = offsets
    pairs = [int32(epoch) + int64(offset) + tagged() for epoch, offset in epochs]
    return b"".join(
        [
            *(uvarint(1), uvarint(0), uvarint(0), _segment(place, segment_id)),
            *(int64(start), int64(following - 1), int32(1), int64(0), int64(0)),
            *(compact_array(pairs), int32(size_bytes), uvarint(0), int8(COPY_STARTED), tagged()),
        ]
    )


def updated(place: Place, segment_id: str, state: int, custom: bytes | None = None) -> bytes:
    """The event of an upload's next state, with the plugin's custom metadata."""
    return b"".join(
        [
            *(uvarint(1), uvarint(1), uvarint(0), _segment(place, segment_id)),
            *(int32(1), int64(0), compact(custom), int8(state), tagged()),
        ]
    )


def new_id() -> str:
    """An id that no segment has."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def id_of(path: Path) -> str:
    """The segment id in an object's name."""
    return path.name[21:43]


def raw_id(path: Path) -> bytes:
    """The segment id in an object's name, as events have it."""
    return _id(id_of(path))


def _segment(place: Place, segment_id: str) -> bytes:
    partition = compact(place.topic) + _id(place.topic_id) + int32(place.partition) + tagged()
    return partition + _id(segment_id) + tagged()


def _id(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
