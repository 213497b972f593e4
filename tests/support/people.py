"""Disks with the orders of three people in turn, of whom some are to be forgotten."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from support.encoder import (
    DEFAULT_CLUSTER_ID,
    Codec,
    Partition,
    Record,
    Segment,
    record_batch,
    write_log_dir,
)

PEOPLE = ("ann", "bob", "eve")
FIRST_MS, DAY_MS = 1_700_000_000_000, 86_400_000
BATCH_RECORDS = 5


def key_of(person: str) -> str:
    """The key of a person's orders."""
    return f"{person}'s key"


def value_of(offset: int, *, as_json: bool = False) -> bytes:
    """The value of the order at an offset, as text or as a JSON object with this text."""
    text = f"a secret of {PEOPLE[offset % len(PEOPLE)]} {offset}"
    return (json.dumps({"note": text}) if as_json else text).encode()


def people_disk(
    folder: Path,
    stop: int,
    *,
    topics: Sequence[str] = ("orders", "payments"),
    broker_id: int = 0,
    codec: Codec = Codec.NONE,
    batch_records: int = BATCH_RECORDS,
    as_json: bool = False,
    cluster_id: str | None = DEFAULT_CLUSTER_ID,
) -> Path:
    """A log dir whose topics have an order at each offset, one a day; it replaces an older one."""
    shutil.rmtree(folder, ignore_errors=True)
    records = [
        Record(
            key_of(PEOPLE[offset % len(PEOPLE)]).encode(),
            value_of(offset, as_json=as_json),
            FIRST_MS + offset * DAY_MS,
        )
        for offset in range(stop)
    ]
    batches = [
        record_batch(first, records[first : first + batch_records], codec=codec)
        for first in range(0, stop, batch_records)
    ]
    logs = [Partition(topic, 0, [Segment(0, batches)]) for topic in topics]
    write_log_dir(folder, logs, broker_id=broker_id, cluster_id=cluster_id)
    return folder
