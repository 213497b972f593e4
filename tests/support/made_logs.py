"""Small log dirs made for a test: what they hold is known, and they grow by whole batches."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

from support.encoder import (
    DEFAULT_CLUSTER_ID,
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    messages,
    record_batch,
    wrapper,
    write_log_dir,
)

FIRST_MS = 1_700_000_000_000
STEP_MS = 1000


def topic_id_of(topic: str) -> uuid.UUID:
    """The id of a topic, the same each time."""
    return uuid.uuid5(uuid.NAMESPACE_OID, topic)


TOPIC_IDS = {name: topic_id_of(name) for name in ("orders", "payments", "orders again")}


class Made(NamedTuple):
    """A record that must come out, as the tests compare it."""

    topic: str
    partition: int
    offset: int
    value: bytes


def value_of(topic: str, partition: int, offset: int, size_bytes: int = 0) -> bytes:
    """The value of a made record; the filling makes bytes that no codec makes small."""
    start = f"{topic}-{partition}@{offset}".encode()
    return start + Random(start).randbytes(size_bytes)


def made_batches(
    topic: str,
    partition: int,
    offsets: range,
    *,
    batch_records: int = 5,
    value_bytes: int = 0,
    leader_epoch: int = 0,
) -> list[EncodedBatch]:
    """Batches that hold a record for each offset; the time goes up a second with each."""
    return [
        record_batch(
            start,
            [
                Record(
                    f"k{offset}".encode(),
                    value_of(topic, partition, offset, value_bytes),
                    FIRST_MS + offset * STEP_MS,
                    (("h", str(offset).encode()),),
                )
                for offset in range(start, min(start + batch_records, offsets.stop))
            ],
            Header(leader_epoch=leader_epoch),
        )
        for start in range(offsets.start, offsets.stop, batch_records)
    ]


def in_form(
    base_offset: int, records: Sequence[Record], form: str, *, leader_epoch: int = 0
) -> list[EncodedBatch]:
    """Records in a form of the log: a batch (`v2`), a wrapper (`v1_gzip`), or messages (`v0`)."""
    if form == "v2":
        return [record_batch(base_offset, records, Header(leader_epoch=leader_epoch))]
    magic = int(form[1])
    if form.endswith("gzip"):
        return [wrapper(base_offset, records, magic, Codec.GZIP)]
    return messages(base_offset, records, magic)


def made_segments(
    topic: str,
    partition: int,
    edges: Sequence[int],
    *,
    batch_records: int = 5,
    value_bytes: int = 0,
) -> list[Segment]:
    """Segments between the edges, the first of which is where the log begins."""
    return [
        Segment(
            start,
            made_batches(
                topic,
                partition,
                range(start, stop),
                batch_records=batch_records,
                value_bytes=value_bytes,
            ),
        )
        for start, stop in pairwise(edges)
    ]


def make_log_dir(
    folder: Path,
    edges: Mapping[tuple[str, int], Sequence[int]],
    *,
    value_bytes: int = 0,
    broker_id: int = 0,
    cluster_id: str | None = DEFAULT_CLUSTER_ID,
    high_watermarks: Mapping[tuple[str, int], int] | None = None,
) -> Path:
    """A log dir with the partitions given by the edges of their segments; it replaces an old one.

    Returns:
        The folder.
    """
    marks = high_watermarks or {}
    partitions = [
        Partition(
            topic,
            partition,
            made_segments(topic, partition, stops, value_bytes=value_bytes),
            topic_id=TOPIC_IDS.get(topic),
            high_watermark=marks.get((topic, partition)),
        )
        for (topic, partition), stops in edges.items()
    ]
    return write_over(folder, partitions, broker_id=broker_id, cluster_id=cluster_id)


def write_over(
    folder: Path,
    partitions: Sequence[Partition],
    *,
    broker_id: int = 0,
    cluster_id: str | None = DEFAULT_CLUSTER_ID,
) -> Path:
    """Write a log dir as `write_log_dir` does, over what is there: a disk, some time later."""
    for old in sorted(folder.rglob("*"), reverse=True) if folder.exists() else []:
        if old.is_dir():
            old.rmdir()
        else:
            old.unlink()
    write_log_dir(folder, partitions, broker_id=broker_id, cluster_id=cluster_id)
    return folder


def made_records(
    ranges: Mapping[tuple[str, int], Iterable[int]], *, value_bytes: int = 0
) -> list[Made]:
    """The records of made logs, sorted."""
    return sorted(
        Made(topic, partition, offset, value_of(topic, partition, offset, value_bytes))
        for (topic, partition), offsets in ranges.items()
        for offset in offsets
    )
