"""What cannot be saved: checksums, codecs and Parquet of the same columns, as calls of libraries.

    python -m bench.kafka.limit FOLDER SEGMENT...

FOLDER has the records as plain Java wrote them, a file for each segment. Nothing is decoded here,
so this shares no code with seglake: it is the least CPU time of one process that runs already.
Prints it in seconds, the median of three.
"""

import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import crc32c
import lz4.frame
import pyarrow as pa
import pyarrow.parquet as pq
import snappy
import zstandard

_HEADER = struct.Struct(">qiibIh")  # base offset, length, leader epoch, magic, checksum, attributes
_CHECKED = 21  # from here to the end of the batch
_PAYLOAD = 61
_RUNS = 3
_XERIAL_HEADER = 16


def main(folder: str, *segments: str) -> int:
    """Measure and print."""
    pa.set_cpu_count(1)
    total_s = sum(_least_seconds(Path(segment), Path(folder)) for segment in segments)
    sys.stdout.write(f"{total_s}\n")
    return 0


def _least_seconds(segment: Path, folder: Path) -> float:
    data = memoryview(segment.read_bytes())
    table = pq.read_table(folder / f"{segment.parent.name}-{segment.name}.parquet")
    parts = (
        lambda: _checksums(data),
        lambda: _payloads(data),
        lambda: _parquet(table, folder / "limit.parquet"),
    )
    return sum(_median_seconds(part) for part in parts)


def _median_seconds(part: Callable[[], None]) -> float:
    found = []
    for _ in range(_RUNS):
        start = time.process_time()
        part()
        found.append(time.process_time() - start)
    return median(found)


def _batches(data: memoryview) -> Iterator[tuple[memoryview, int]]:
    """Each batch, and its codec."""
    position = 0
    while position < len(data):
        _, length, _, _, _, attributes = _HEADER.unpack_from(data, position)
        end = position + 12 + length
        yield data[position:end], attributes & 7
        position = end


def _checksums(data: memoryview) -> None:
    for batch, _ in _batches(data):
        crc32c.crc32c(batch[_CHECKED:])


def _payloads(data: memoryview) -> None:
    for batch, codec in _batches(data):
        if codec:
            _DECOMPRESS[codec](batch[_PAYLOAD:])


def _parquet(table: pa.Table, path: Path) -> None:
    numbers = ("offset", "timestamp")
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=1,
        use_dictionary=["partition"],  # type: ignore[arg-type]  # the stubs know only bool
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_statistics=["partition", *numbers],
        store_schema=False,
    )


def _xerial(payload: memoryview) -> None:
    """Snappy as Kafka's clients frame it: blocks, each with its length before it."""
    position = _XERIAL_HEADER
    while position < len(payload):
        (length,) = struct.unpack_from(">i", payload, position)
        position += 4 + length
        snappy.decompress(bytes(payload[position - length : position]))


_DECOMPRESS: dict[int, Callable[[memoryview], object]] = {
    1: lambda payload: zlib.decompress(payload, 31),
    2: _xerial,
    3: lz4.frame.decompress,
    4: lambda payload: zstandard.ZstdDecompressor().decompressobj().decompress(payload),
}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
