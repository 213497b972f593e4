"""The topics that are measured: a real producer fills them through a real broker, once."""

import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.kafka.brokers import Broker, BrokerVersion, wait_for_cleaning, wait_for_high_watermarks
from bench.kafka.java import compiled
from bench.workloads import tails

_MIB = 1024 * 1024
_ALWAYS = {
    "max.message.bytes": str(8 * _MIB),
    "segment.ms": str(10**12),  # by size alone: markers of transactions are years younger
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A workload; the defaults are those of most.

    Attributes:
        about: what is special about it, for the table.
        shape: which values it has, a key of `bench.workloads.VALUES`.
        key_count: how many different keys there are, 0 for all different.
        transaction_records: how many records a transaction has, and a batch then, too; 0 for no
            transactions.
    """

    name: str
    about: str
    record_count: int
    records_per_batch: int = 138
    shape: str = "small"
    codec: str = "none"
    key_count: int = 0
    transaction_records: int = 0
    has_headers: bool = False
    is_idempotent: bool = True
    is_compacted: bool = False
    message_format: str = ""
    segment_bytes: int = 128 * _MIB
    partition_count: int = 4

    def scaled(self, factor: float) -> "Topic":
        """As many times the records, and one batch a partition at least."""
        least = (self.transaction_records or self.records_per_batch) * self.partition_count
        return replace(
            self,
            record_count=max(least, round(self.record_count * factor)),
            key_count=max(1, round(self.key_count * factor)) if self.key_count else 0,
            segment_bytes=max(_MIB, round(self.segment_bytes * factor)),
        )

    @property
    def version(self) -> BrokerVersion:
        return BrokerVersion.LEGACY if self.message_format else BrokerVersion.CURRENT


TOPICS = (
    Topic(name="w1", about="100-byte values, lz4", record_count=8_000_000, codec="lz4"),
    Topic(
        name="w2",
        about="1 KiB values, zstd",
        record_count=1_000_000,
        records_per_batch=15,
        shape="large",
        codec="zstd",
    ),
    Topic(
        name="w3",
        about="as w2, not compressed",
        record_count=1_000_000,
        records_per_batch=15,
        shape="large",
    ),
    Topic(name="w4", about="as w1, not compressed", record_count=8_000_000),
    Topic(
        name="w5",
        about="one record a batch",
        record_count=500_000,
        records_per_batch=1,
        is_idempotent=False,
    ),
    Topic(
        name="idempotent",
        about="as w5, from an idempotent producer",
        record_count=500_000,
        records_per_batch=1,
    ),
    Topic(
        name="transactions",
        about="transactions of 100 records, lz4",
        record_count=1_000_000,
        transaction_records=100,
        codec="lz4",
    ),
    Topic(
        name="compacted",
        about="compacted topic, each key written 4 times",
        record_count=2_000_000,
        key_count=500_000,
        is_compacted=True,
        segment_bytes=16 * _MIB,
    ),
    Topic(
        name="headers",
        about="two headers a record, lz4",
        record_count=2_000_000,
        codec="lz4",
        has_headers=True,
    ),
    Topic(name="gzip", about="as w1, gzip", record_count=2_000_000, codec="gzip"),
    Topic(name="snappy", about="as w1, snappy", record_count=2_000_000, codec="snappy"),
    Topic(
        name="mebibyte",
        about="1 MiB values, lz4",
        record_count=500,
        records_per_batch=1,
        shape="mebibyte",
        codec="lz4",
    ),
    Topic(
        name="v0",
        about="message format v0, not compressed",
        record_count=1_000_000,
        message_format="0.9.0",
    ),
    Topic(
        name="v1",
        about="message format v1, lz4",
        record_count=1_000_000,
        codec="lz4",
        message_format="0.10.2",
    ),
)


def filled(topic: Topic, broker: Broker, folder: Path) -> int:
    """Fill the topic unless it is filled already; how many records a consumer gets of it.

    Args:
        folder: of the broker; it has notes of what is filled.
    """
    note = folder / f"{topic.name}.json"
    made_as = f"{compiled('Produce', broker.jars).name} {replace(topic, about='')}"
    known = json.loads(note.read_text()) if note.exists() else {}
    if known.get("made_as") == made_as:
        return int(known["records"])
    pool = folder / f"{topic.shape}.tails"
    pool.write_bytes(b"\n".join(tails(topic.shape)))
    counted = _counted(broker, "produce", topic, *_options(topic, pool))
    wait_for_high_watermarks(broker.log_dir, counted["ends"])
    if topic.is_compacted:
        wait_for_cleaning(_partitions(topic, broker.log_dir))
        counted = _counted(broker, "count", topic)
    elif counted["records"] != topic.record_count:
        raise ValueError(f"{topic.name}: {topic.record_count} were produced, not {counted}")
    note.write_text(json.dumps({"made_as": made_as, "records": counted["records"]}))
    return int(counted["records"])


def segments(topic: Topic, log_dir: Path) -> list[Path]:
    """The segments of all partitions that are not empty."""
    found = [path for folder in _partitions(topic, log_dir) for path in folder.glob("*.log")]
    return sorted(path for path in found if path.stat().st_size)


def _partitions(topic: Topic, log_dir: Path) -> list[Path]:
    return [log_dir / f"{topic.name}-{number}" for number in range(topic.partition_count)]


def _options(topic: Topic, pool: Path) -> list[str]:
    of_topic = _ALWAYS | {"segment.bytes": str(topic.segment_bytes)}
    if topic.is_compacted:
        of_topic |= {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    if topic.message_format:
        of_topic["message.format.version"] = topic.message_format
    is_idempotent = topic.is_idempotent and not topic.message_format  # older than producers' ids
    return [
        f"records={topic.record_count}",
        f"tails={pool}",
        f"keys={topic.key_count}",
        f"headers={int(topic.has_headers)}",
        f"batch={topic.records_per_batch}",
        f"transaction={topic.transaction_records}",
        f"producer.compression.type={topic.codec}",
        f"producer.enable.idempotence={str(is_idempotent).lower()}",
        *(f"topic.{name}={value}" for name, value in of_topic.items()),
    ]


# Any: what JSON can hold.
def _counted(broker: Broker, mode: str, topic: Topic, *options: str) -> dict[str, Any]:
    """What Produce.java says of the topic in the end."""
    where = [f"bootstrap={broker.bootstrap}", f"topic={topic.name}"]
    where.append(f"partitions={topic.partition_count}")
    jars = f"{compiled('Produce', broker.jars)}:{broker.jars}"
    command = ["java", "-cp", jars, "Produce", mode, *where, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{mode} {topic.name}: {done.stderr[-2000:]}")
    counted: dict[str, Any] = json.loads(done.stdout)
    return counted
