"""Disks of every scenario as those of a dead cluster: each sound batch is in the tables or kept.

The oracle finds the batches by itself: it goes from frame to frame and computes each checksum.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import crc32c
import pytest

from support import broker_disks
from support.broker_disks import SCENARIOS
from support.lakes import ingested, read_table

_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)(\.[0-9a-f]{32}-(future))?")
_FRAME = struct.Struct(">qi")
_CRC_V2 = struct.Struct(">I")


class Found(NamedTuple):
    """A sound batch, or message of the formats v0 and v1, wherever it lies."""

    topic: str
    partition: int
    last_offset: int
    crc: int


class Sound(NamedTuple):
    """What the bytes of a sound batch say of it."""

    magic: int
    last_offset: int
    crc: int


def sound_batches(content: bytes) -> Iterator[Sound]:
    """Go from frame to frame; what is cut off or fails its checksum is left out."""
    position = 0
    while position + 17 <= len(content):
        offset, length = _FRAME.unpack_from(content, position)
        stop = position + 12 + length
        if length < 14 or stop > len(content):
            return
        magic, batch = content[position + 16], content[position:stop]
        if magic == 2:
            (crc,) = _CRC_V2.unpack_from(batch, 17)
            (last_delta,) = struct.unpack_from(">i", batch, 23)
            if crc32c.crc32c(batch[21:]) == crc:
                yield Sound(magic, offset + last_delta, crc)
        else:
            (crc,) = _CRC_V2.unpack_from(batch, 12)
            if zlib.crc32(batch[16:]) == crc:
                yield Sound(magic, offset, crc)
        position = stop


def log_starts(disks: Path) -> dict[tuple[str, int], int]:
    """Where brokers noted that DeleteRecords has cut a log."""
    lines = [
        line.split()
        for path in disks.rglob("log-start-offset-checkpoint")
        for line in path.read_text("utf-8").splitlines()[2:]
    ]
    return {(topic, int(partition)): int(offset) for topic, partition, offset in lines}


def on_disks(disks: Path) -> dict[Found, int]:
    """The sound batches of all logs, with their formats, but for those that somebody deleted."""
    found, starts = {}, log_starts(disks)
    for path in sorted(disks.rglob("*.log")):
        folder = _FOLDER.fullmatch(path.parent.name)
        if folder is not None:
            for magic, last_offset, crc in sound_batches(path.read_bytes()):
                place = Found(folder["topic"], int(folder["partition"]), last_offset, crc)
                if last_offset >= starts.get(place[:2], 0):
                    found[place] = magic
    return found


def in_lake(lake: Path) -> tuple[set[Found], set[tuple[str, int, int]]]:
    """The batches in the tables and in quarantine, and the offsets of all records."""
    batches = {
        Found(row["topic"], row["partition"], row["last_offset"], row["crc"])
        for row in read_table(lake, "batches")
    }
    kept = {
        Found(row["topic"], row["partition"], row["last_offset"], row["expected_crc"])
        for row in read_table(lake, "quarantine")
    }
    offsets = {
        (row["topic"], row["partition"], row["offset"]) for row in read_table(lake, "records")
    }
    return batches | kept, offsets


@pytest.mark.parametrize(
    ("scenario", "copy"),
    [(name, copy) for name in SCENARIOS for copy in broker_disks.copies(name)],
)
def test_every_sound_batch_of_every_replica_is_in_the_tables_or_in_quarantine(
    scenario: str, copy: str, lake: Path
) -> None:
    disks = broker_disks.unpacked(scenario) / "disks" / copy
    ingested(
        disks,
        lake,
        isolation="read_committed",
        select={"internal_topics": True},
        read={"upper_bound": "log_end", "undecided_transactions": "rows"},
        quarantine={"max_raw_bytes": "64MiB"},
    )
    places, offsets = in_lake(lake)
    nowhere = [
        each
        for each, magic in on_disks(disks).items()
        if each not in places and (magic == 2 or each[:3] not in offsets)
    ]
    assert nowhere == []
