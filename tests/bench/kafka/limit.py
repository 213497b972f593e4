"""What cannot be saved: checksums, codecs and Parquet of the same columns, as calls of libraries.

    python -m bench.kafka.limit TABLE SEGMENT...

TABLE is the folder of `records` as seglake wrote them. Nothing is decoded here, and this shares no
code with seglake: it is the least CPU time of one process that runs already. Prints it in seconds,
the median of three.
"""

import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
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
_SMALL_STEPS = ("offset", "timestamp", "timestamp_ms")
_PAGE_BYTES = 64 << 10  # quicker to pack than pages of 1 MiB
_MOST_PAGE_ROWS = 1 << 20
_FEW_VALUES = ("partition", "timestampType", "batch_base_offset", "generation")
_TEXTS = ("source_id", "topic_id", "transaction_state", "run_id")


def main(table: str, *segments: str) -> int:
    """Measure and print."""
    pa.set_cpu_count(1)
    total_s = sum(_bytes_seconds(Path(segment)) for segment in segments)
    total_s += sum(_parquet_seconds(path) for path in Path(table).rglob("*.parquet"))
    sys.stdout.write(f"{total_s}\n")
    return 0


def _bytes_seconds(segment: Path) -> float:
    data = memoryview(segment.read_bytes())
    return _median_seconds(lambda: _checksums(data)) + _median_seconds(lambda: _payloads(data))


def _parquet_seconds(path: Path) -> float:
    """As long as the file is, in row groups as it has them."""
    file = pq.ParquetFile(path, read_dictionary=[*_TEXTS])
    groups = [file.read_row_group(index) for index in range(file.num_row_groups)]
    return _median_seconds(lambda: _parquet(groups))


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


def _parquet(groups: Sequence[pa.Table]) -> None:
    """Into memory, as quickly as the table's columns pack at level 1."""
    with pq.ParquetWriter(
        pa.BufferOutputStream(),
        groups[0].schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=[*_FEW_VALUES, *_TEXTS],  # type: ignore[arg-type]  # the stubs know only bool
        column_encoding=dict.fromkeys(_SMALL_STEPS, "DELTA_BINARY_PACKED"),
        data_page_size=_PAGE_BYTES,
        max_rows_per_page=_MOST_PAGE_ROWS,
        write_statistics=[*_FEW_VALUES, *_SMALL_STEPS],
        store_schema=False,
    ) as writer:
        for rows in groups:
            writer.write_table(rows, row_group_size=rows.num_rows)


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
