"""A broker's disk with many small segments, made quickly: each partition has offsets of its own."""

import os
import shutil
import struct
import uuid
from pathlib import Path

from support.encoder import Partition, meta_properties, write_checkpoint, write_partition
from support.encoder.log_dir import DEFAULT_CLUSTER_ID, topic_id_text
from support.made_logs import made_segments

SEGMENTS_A_PARTITION, PARTITIONS_A_TOPIC = 10, 5
_OFFSETS_A_SEGMENT = 20
_LENGTH_FIELD = struct.Struct(">qi")  # base offset, and how many bytes follow
_SHIFTS = 9_973


def made_disk(folder: Path, segment_count: int) -> Path:
    """Write a log dir; an older one is replaced.

    Every partition has the same batches under offsets of its own: no checksum covers those. Files
    that have no absolute offsets in them are hard links to one.
    """
    shutil.rmtree(folder, ignore_errors=True)
    template = folder / "template"
    template.mkdir(parents=True)
    edges = range(0, (SEGMENTS_A_PARTITION + 1) * _OFFSETS_A_SEGMENT, _OFFSETS_A_SEGMENT)
    write_partition(template, Partition("t", 0, made_segments("t", 0, edges)))
    files = sorted((template / "t-0").iterdir())
    ends: dict[tuple[str, int], int] = {}
    for number in range(segment_count // SEGMENTS_A_PARTITION):
        topic, partition = f"topic-{number // PARTITIONS_A_TOPIC:05}", number % PARTITIONS_A_TOPIC
        shift = 1_000 + number % _SHIFTS
        ends[topic, partition] = edges[-1] + shift
        _copy(files, folder / f"{topic}-{partition}", shift, topic)
    shutil.rmtree(template)
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        write_checkpoint(folder / name, ends)
    (folder / "meta.properties").write_text(meta_properties(0, DEFAULT_CLUSTER_ID))
    (folder / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
    return folder


def _copy(files: list[Path], folder: Path, shift: int, topic: str) -> None:
    folder.mkdir()
    for file in files:
        stem, _, suffix = file.name.partition(".")
        if suffix == "log":
            name = f"{int(stem) + shift:020d}.log"
            (folder / name).write_bytes(_shifted(file.read_bytes(), shift))
        elif stem.isdigit():
            os.link(file, folder / f"{int(stem) + shift:020d}.{suffix}")
    (folder / "leader-epoch-checkpoint").write_text(f"0\n1\n0 {shift}\n")
    topic_id = topic_id_text(uuid.uuid5(uuid.NAMESPACE_OID, topic))
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")


def _shifted(log: bytes, shift: int) -> bytes:
    """The batches of a segment, each so many offsets higher."""
    moved = bytearray(log)
    position = 0
    while position < len(moved):
        base_offset, length = _LENGTH_FIELD.unpack_from(moved, position)
        _LENGTH_FIELD.pack_into(moved, position, base_offset + shift, length)
        position += _LENGTH_FIELD.size + length
    return bytes(moved)
