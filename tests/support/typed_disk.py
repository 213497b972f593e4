"""The disk with typed topics and the registry's `_schemas`, and made topics of a registry."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from support.broker_disks import TYPED, unpacked
from support.encoder import Header, Partition, Record, Segment, record_batch
from support.lakes import ingested
from support.made_logs import FIRST_MS, STEP_MS, write_over

SOURCE_ID = "e4B7EURzTuy36Ho4rjknHQ"

# Any: the types that JSON can hold.
Json = dict[str, Any]
Pair = tuple[bytes | None, bytes | None]


def typed_disk() -> Path:
    """The broker's log dir."""
    return unpacked(TYPED) / "disks" / "broker0"


def glue_schemas() -> Path:
    """The schemas of topic glue_like, as AWS Glue exports them."""
    return unpacked(TYPED) / "glue_schemas.json"


@cache
def oracle_schemas() -> Sequence[Json]:
    """Every schema that `_schemas` ever had, in its order."""
    found: list[Json] = json.loads((unpacked(TYPED) / "schemas.json").read_text("utf-8"))
    return found


@cache
def manifest() -> Json:
    """Return framing, records and outcomes of each topic."""
    found: Json = json.loads((unpacked(TYPED) / "manifest.json").read_text("utf-8"))
    return found


def oracle_records(topic: str) -> Iterator[Json]:
    """The oracle's line of each record of a topic, by partition and offset."""
    path = unpacked(TYPED) / "expected" / f"{topic}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def typed_lake(lake: Path, *topics: str) -> Path:
    """Ingest topics of the disk into a lake."""
    ingested(typed_disk(), lake, select={"topics": topics})
    return lake


def schema_pair(
    subject: str, version: int, schema_id: int | None = None, **members: object
) -> Pair:
    """A record of `_schemas` for a schema; without an id a hard delete."""
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    if schema_id is None:
        return _json(key), None
    value = {"subject": subject, "version": version, "id": schema_id, "schema": '"int"'}
    return _json(key), _json({**value, "deleted": False, **members})


def subject_deletion(subject: str, last_version: int) -> Pair:
    """A record of `_schemas` that deletes versions softly."""
    key = {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0}
    return _json(key), _json({"subject": subject, "version": last_version})


def _json(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode()


def write_registry(
    folder: Path,
    batches: Iterable[tuple[int, Sequence[Pair]]],
    *,
    topic: str = "_schemas",
    cluster_id: str = "c",
    broker_id: int = 0,
) -> Path:
    """A log dir with a registry's topic: batches of pairs, each with its leader epoch."""
    encoded, offset = [], 0
    epochs: dict[int, int] = {}
    for epoch, pairs in batches:
        epochs.setdefault(epoch, offset)
        records = [
            Record(key, value, FIRST_MS + (offset + number) * STEP_MS)
            for number, (key, value) in enumerate(pairs)
        ]
        encoded.append(record_batch(offset, records, Header(leader_epoch=epoch)))
        offset += len(pairs)
    log = Partition(topic, 0, [Segment(0, encoded)], leader_epochs=tuple(epochs.items()))
    return write_over(folder, [log], broker_id=broker_id, cluster_id=cluster_id)
