"""Made logs with damaged batches, and what a lake has of them and of their repairs."""

import struct
from collections.abc import Sequence
from pathlib import Path

from seglake.pipelines.lake_replay.replay import replay
from seglake.settings.settings import Settings
from seglake.task_engine.engine import LocalEngine
from support.accounts import StandingGap, standing_gaps
from support.encoder import Codec, Header, Partition, Record, Segment, record_batch
from support.lakes import ingested, local_scan, read_table
from support.made_logs import FIRST_MS, TOPIC_IDS, Made, write_over


class LogBatch:
    """Place of a batch in a log dir, read from the bytes alone."""

    def __init__(self, log: Path, position: int, size_bytes: int, first: int, last: int) -> None:
        self.log, self.position, self.size_bytes = log, position, size_bytes
        self.first_offset, self.next_offset = first, last + 1

    def damage(self) -> None:
        """Change its last byte, which its checksum covers."""
        content = bytearray(self.log.read_bytes())
        content[self.position + self.size_bytes - 1] ^= 0xFF
        self.log.write_bytes(content)


def batches_in(folder: Path) -> list[LogBatch]:
    found = []
    for log in sorted(folder.glob("*.log")):
        content, position = log.read_bytes(), 0
        while position < len(content):
            base, length = struct.unpack_from(">qi", content, position)
            (last_delta,) = struct.unpack_from(">i", content, position + 23)
            found.append(LogBatch(log, position, 12 + length, base, base + last_delta))
            position += 12 + length
    return found


def made_rows(lake: Path) -> list[Made]:
    rows = read_table(lake, "records")
    return sorted(Made(row["topic"], row["partition"], row["offset"], row["value"]) for row in rows)


def resolutions_in(lake: Path) -> list[str]:
    return sorted(str(row["resolution"]) for row in read_table(lake, "quarantine"))


def marked_log(
    folder: Path,
    broker_id: int,
    text: str,
    *,
    topic: str | None = None,
    damaged: Sequence[int] = (),
) -> Path:
    """Batches of five up to offset 40, their values marked; `topic` names the topic id."""
    batches = []
    for base in range(0, 40, 5):
        offsets = range(base, base + 5)
        records = [Record(b"k", f"{text}{offset}".encode(), FIRST_MS) for offset in offsets]
        batches.append(record_batch(base, records, Header(leader_epoch=0)))
    topic_id = None if topic is None else TOPIC_IDS[topic]
    partition = Partition("orders", 0, (Segment(0, batches),), topic_id=topic_id, high_watermark=40)
    write_over(folder, [partition], broker_id=broker_id)
    log = folder / "orders-0" / f"{0:020}.log"
    content, ends = bytearray(log.read_bytes()), 0
    for index, batch in enumerate(batches):
        ends += len(batch.data)
        content[ends - 1] ^= 0xFF * (index in damaged)
    log.write_bytes(content)
    return folder


def replay_notes(lake: Path, source: Path) -> list[str]:
    with LocalEngine(1) as engine:
        settings = Settings.from_mappings([])
        summary = replay(str(lake), [str(source)], local_scan(settings, engine))
    return summary.notes


def marks_in(lake: Path) -> set[str]:
    return {row["value"][:1].decode() for row in read_table(lake, "records")}


SMALL_LIMIT = 1 << 16
LARGE_LIMIT = 1 << 22


def log_dir_with_a_large_batch(folder: Path) -> Path:
    """Three batches, the one in the middle too large for a small limit."""
    batches = []
    for base, size in ((0, 10), (5, 100_000), (10, 10)):
        records = [Record(b"k", f"{base + index}".encode() * size, FIRST_MS) for index in range(5)]
        batches.append(record_batch(base, records, codec=Codec.LZ4))
    partition = Partition(
        "orders", 0, (Segment(0, batches),), topic_id=TOPIC_IDS["orders"], high_watermark=15
    )
    return write_over(folder, [partition])


def lake_without_a_large_batch(tmp_path: Path) -> Path:
    lake = tmp_path / "lake"
    source = log_dir_with_a_large_batch(tmp_path / "disk")
    ingested(source, lake, limits={"max_decompressed_batch_bytes": SMALL_LIMIT})
    assert standing_gaps(lake) == [StandingGap("orders", 0, 5, 10, "quarantined")]
    return lake
