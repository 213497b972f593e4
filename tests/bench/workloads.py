"""The log dirs that are measured: made once, by the tests' own encoder, and kept.

Two records never have the same value, so that a dictionary of values gains nothing. The large
segments repeat a few payloads under new offsets: there the size counts, not what is in them.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

from support.encoder import (
    Codec,
    EncodedBatch,
    Header,
    Partition,
    Record,
    Segment,
    meta_properties,
    payload_batch,
    record_batch,
    write_checkpoint,
    write_partition,
    write_segment,
)

_MIB = 1024 * 1024
_VERSION = 1  # of what is written here; another one makes the data anew
_FIRST_MS = 1_700_000_000_000
_HEADER_BYTES = 61
_TEXT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@dataclass(frozen=True, slots=True)
class Workload:
    """One log dir with one topic.

    Attributes:
        shape: which values it has, a key of VALUES.
        payload_count: how many different payloads there are, None for all different.
    """

    topic: str
    shape: str
    codec: Codec
    record_count: int
    records_per_batch: int
    partition_count: int = 4
    segment_bytes: int = 128 * _MIB
    payload_count: int | None = None

    def scaled(self, factor: float) -> "Workload":
        """As many times the records, one batch a partition at least."""
        least = self.records_per_batch * self.partition_count
        return replace(self, record_count=max(least, round(self.record_count * factor)))


W1 = Workload("w1", "small", Codec.LZ4, 8_000_000, 138)
W2 = Workload("w2", "large", Codec.ZSTD, 1_000_000, 15)
W5 = Workload("w5", "small", Codec.NONE, 500_000, 1)  # of producers that do not linger
TINY = Workload("tiny", "small", Codec.LZ4, 24_000, 138)  # about 1 MB
GIB = Workload("gib", "small", Codec.LZ4, 24_000_000, 138, 1, 1024 * _MIB, 512)
FLAT_LZ4 = Workload("flat-lz4", "flat", Codec.LZ4, 6_000_000, 8_000, 1, 1024 * _MIB, 4)
FLAT_ZSTD = Workload("flat-zstd", "flat", Codec.ZSTD, 6_000_000, 8_000, 1, 1024 * _MIB, 4)


def written(workload: Workload, folder: Path) -> Path:
    """The workload's log dir below `folder`, written first where it is not there yet."""
    key = sha256(f"{_VERSION} {workload!r}".encode()).hexdigest()[:12]
    target = folder / f"{workload.topic}-{key}"
    if target.exists():
        return target
    unfinished = target.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    count = workload.partition_count
    with ProcessPoolExecutor(min(2, count), mp_context=get_context("fork")) as pool:
        ends = pool.map(_write_partition, [unfinished] * count, [workload] * count, range(count))
        offsets = {(workload.topic, index): end for index, end in enumerate(ends)}
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        write_checkpoint(unfinished / name, offsets)
    write_checkpoint(unfinished / "log-start-offset-checkpoint", {})
    (unfinished / "meta.properties").write_text(meta_properties(0, "seglake-bench"))
    unfinished.rename(target)
    return target


def log_bytes(log_dir: Path) -> int:
    """The size of all segments."""
    return sum(path.stat().st_size for path in log_dir.glob("*/*.log"))


def _write_partition(log_dir: Path, workload: Workload, index: int) -> int:
    """Write one partition, a segment in memory at a time; its log end offset."""
    folder = write_partition(log_dir, Partition(workload.topic, index, ())).folder
    batches: list[EncodedBatch] = []
    size_bytes = 0
    for batch in _batches(workload, index):
        if batches and size_bytes + len(batch.data) > workload.segment_bytes:
            write_segment(folder, Segment(batches[0].base_offset, batches))
            batches, size_bytes = [], 0
        batches.append(batch)
        size_bytes += len(batch.data)
    return write_segment(folder, Segment(batches[0].base_offset, batches)).next_offset


def _batches(workload: Workload, index: int) -> Iterator[EncodedBatch]:
    """The batches of one partition, which has every n-th record."""
    step = workload.partition_count
    total = len(range(index, workload.record_count, step))
    made: list[EncodedBatch] = []
    for base in range(0, total, workload.records_per_batch):
        count = min(workload.records_per_batch, total - base)
        if made and len(made) == workload.payload_count and count == workload.records_per_batch:
            yield _at(made[base // workload.records_per_batch % len(made)], base, workload)
            continue
        numbers = range(index + base * step, index + (base + count) * step, step)
        made.append(record_batch(base, _records(workload.shape, numbers), codec=workload.codec))
        yield made[-1]
        if workload.payload_count is None:
            made.clear()


def _at(made: EncodedBatch, base_offset: int, workload: Workload) -> EncodedBatch:
    """The same records at other offsets and times."""
    base_ms = _FIRST_MS + base_offset // 10
    header = Header(
        last_offset_delta=made.last_offset - made.base_offset,
        base_timestamp_ms=base_ms,
        max_timestamp_ms=base_ms + workload.records_per_batch,
        record_count=workload.records_per_batch,
    )
    return payload_batch(base_offset, made.data[_HEADER_BYTES:], header, codec=workload.codec)


def _records(shape: str, numbers: range) -> list[Record]:
    pool = tails(shape)
    count = len(pool)
    return [
        Record(
            b"%08d" % (number * 7919 % 100_000_000),
            b'{"n":%08d,' % number + pool[number % count],
            _FIRST_MS + number // 10,
        )
        for number in numbers
    ]


@cache
def tails(shape: str) -> list[bytes]:
    """What follows the record's number in its value; so many that no window sees one again."""
    source = random.Random(20_260_101)
    make, count = VALUES[shape]
    return [make(source).encode() for _ in range(count)]


def _small(source: random.Random) -> str:
    text = (
        f'"user":{source.randrange(10**7)},"did":"{source.choice(("view", "buy", "find", "back"))}"'
        f',"page":"/item/{source.randrange(10**4)}","took_ms":{source.randrange(5000)}'
    )
    return f'{text},"rest":"'.ljust(84, "x") + '"}'


def _large(source: random.Random) -> str:
    noise = "".join(source.choices(_TEXT, k=440))
    text = f'"trace":"{source.getrandbits(128):032x}","noise":"{noise}","lines":['
    while len(text) < 1008:
        text += (
            f'{{"article":"A-{source.randrange(10**5):05d}","count":{source.randrange(9)},'
            f'"price":{source.randrange(20_000) / 100},"currency":"EUR"}},'
        )
    return f"{text[:1008]}]}}"


def _flat(source: random.Random) -> str:
    return f'"same":"{"-" * 980}","id":{source.randrange(10**6)}}}'


def _mebibyte(source: random.Random) -> str:
    """Many events in one: it compresses as they do."""
    events = ",".join("{" + _large(source) for _ in range(1040))
    return f'"events":[{events}'[: _MIB - 16] + "]}"


VALUES: dict[str, tuple[Callable[[random.Random], str], int]] = {
    "small": (_small, 1 << 16),  # 100 bytes with the number
    "large": (_large, 1 << 13),  # 1 KiB, nearly half of it random
    "flat": (_flat, 1 << 13),  # 1 KiB, nearly all of it the same
    "mebibyte": (_mebibyte, 1 << 5),  # 1 MiB with the number
}
