"""Consecutive valid batches of magic 2, handled together: their headers are one array.

A run has only batches that `SegmentWalk.items` would yield as valid. Its only control batches are
markers in their usual form. No batch of a run crosses an offset in `run_breaks`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats.codec import CODECS
from seglake.segment_codec.formats.compression import DECOMPRESSORS
from seglake.segment_codec.formats.control_record import ControlType
from seglake.segment_codec.formats.errors import DefectError
from seglake.segment_codec.formats.record_batch import (
    CODEC_MASK,
    HEADER_BYTES,
    LENGTH_STOP,
    SMALLEST_RECORD_BYTES,
    TRANSACTIONAL,
    BatchHeader,
    RecordBatch,
)

# Columns of `headers`.
FIELD_PLACES = {name: place for place, name in enumerate(BatchHeader._fields)}
FEWEST = 4  # a shorter run would be slower than single batches


class BatchKind(IntEnum):
    """Kind of a batch in a run.

    >>> [kind.name for kind in BatchKind if kind in MARKER_KINDS]
    ['ABORT', 'COMMIT']
    """

    DATA = 0
    EMPTY = 1  # the cleaner keeps a producer's last batch without records
    ABORT = 2  # transaction marker
    COMMIT = 3


MARKER_KINDS = (BatchKind.ABORT, BatchKind.COMMIT)
CONTROL_TYPES = (None, None, ControlType.ABORT, ControlType.COMMIT)  # by `BatchKind`


@dataclass(frozen=True, slots=True)
class BatchRun:
    """Consecutive batches with rising offsets.

    Attributes:
        position: position of the first batch in the segment.
        headers: array (n, 13), in the order of `BatchHeader`.
        kinds: array (n,) of `BatchKind`.
        starts: array (n,) of the batches' positions, relative to `position`.
        data: a view of all bytes. It is empty if only headers were read, or after the records were
            decoded; then `batch` returns batches without payloads.
    """

    position: int
    headers: NDArray[np.int64]
    kinds: NDArray[np.int8]
    starts: NDArray[np.int64]
    data: memoryview

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self.headers)

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes from the first batch to the end of the last one."""
        return int(self.starts[-1] + self.headers[-1, 1]) + LENGTH_STOP

    @property
    def first_offset(self) -> int:
        """Return the base offset of the first batch."""
        return int(self.headers[0, 0])

    @property
    def last_offset(self) -> int:
        """Return the last offset of the last batch."""
        return int(self.headers[-1, 0] + self.headers[-1, 6])

    @property
    def crc(self) -> int:
        """Return the checksum of the first batch."""
        return int(self.headers[0, 4])

    def column(self, name: str) -> NDArray[np.int64]:
        """Return one header field of all batches, as a view."""
        return self.headers[:, FIELD_PLACES[name]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return the size of each batch in bytes, with its header."""
        return self.column("batch_length") + LENGTH_STOP

    @property
    def is_compressed(self) -> bool:
        """Return whether any batch is compressed."""
        return bool((self.column("attributes") & CODEC_MASK).any())

    @property
    def is_in_transaction(self) -> NDArray[np.bool_]:
        """Return for each batch whether it is in a transaction, or the marker that ends one."""
        is_transactional = self.column("attributes") & TRANSACTIONAL != 0
        found: NDArray[np.bool_] = is_transactional & (self.column("producer_id") >= 0)
        return found

    @property
    def is_marker(self) -> NDArray[np.bool_]:
        """Return for each batch whether it is a transaction marker."""
        return self.kinds >= BatchKind.ABORT

    @property
    def is_sparse(self) -> NDArray[np.bool_]:
        """Return for each batch whether it has fewer records than offsets."""
        return self.column("record_count") <= self.column("last_offset_delta")

    @property
    def next_offsets(self) -> NDArray[np.int64]:
        """Return the exclusive end of each batch's offsets."""
        return self.column("base_offset") + self.column("last_offset_delta") + 1

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield the offset ranges [start, stop) without a hole that make up the run."""
        first, after = self.column("base_offset"), self.next_offsets
        is_break = first[1:] != after[:-1]
        if not is_break.any():  # most runs have no hole
            return iter([(self.first_offset, self.last_offset + 1)])
        breaks = np.flatnonzero(is_break) + 1
        starts = first[np.concatenate(([0], breaks))].tolist()
        return zip(starts, after[np.append(breaks - 1, len(self) - 1)].tolist(), strict=True)

    def batch(self, index: int) -> RecordBatch:
        """Return the batch with this index as an object."""
        start = int(self.starts[index])
        header = BatchHeader._make(self.headers[index].tolist())
        size_bytes = header.batch_length + LENGTH_STOP
        payload = self.data[start + HEADER_BYTES : start + size_bytes]
        return RecordBatch(self.position + start, size_bytes, header, payload)

    def part(self, start: int, stop: int) -> Self:
        """Return the batches with indexes [start, stop), which must not be empty."""
        begin = int(self.starts[start])
        end = self.size_bytes if stop == len(self) else int(self.starts[stop])
        return type(self)(
            self.position + begin,
            self.headers[start:stop],
            self.kinds[start:stop],
            self.starts[start:stop] - begin,
            self.data[begin:end],
        )

    def without_data(self) -> Self:
        """Return the run without its bytes, so that they can be freed."""
        return type(self)(self.position, self.headers, self.kinds, self.starts, memoryview(b""))

    def chosen(self, places: NDArray[np.int64]) -> Self:
        """Return the batches with the given indexes; `data` keeps the bytes of all batches."""
        if len(places) == len(self):
            return self
        return type(self)(
            self.position,
            self.headers[places],
            self.kinds[places],
            self.starts[places],
            self.data,
        )


class PlainRun(NamedTuple):
    """Uncompressed records of a run; the records of batch i are data[starts[i] : stops[i]]."""

    data: memoryview
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def plain_run_of(run: BatchRun) -> PlainRun:
    """Return an uncompressed run's records, up to a batch too small for its record count."""
    starts, stops = run.starts + HEADER_BYTES, run.starts + run.sizes
    is_right = run.column("record_count") <= (stops - starts) // SMALLEST_RECORD_BYTES
    count = len(run) if is_right.all() else int(is_right.argmin())
    end = int(stops[count - 1]) if count else 0
    return PlainRun(run.data[:end], starts[:count], stops[:count])


def plain_records_of(run: BatchRun, max_bytes: int) -> Iterator[bytes | memoryview]:
    """Yield the decompressed records of each batch, up to one that `plain_records` rejects.

    Args:
        run: the run, with its bytes.
        max_bytes: highest accepted size of a batch's records.
    """
    fields = zip(
        (run.column("attributes") & CODEC_MASK).tolist(),
        run.column("record_count").tolist(),
        (run.starts + HEADER_BYTES).tolist(),
        (run.starts + run.sizes).tolist(),
        strict=True,
    )
    decompressors, payloads = [DECOMPRESSORS[codec] for codec in CODECS], run.data
    for codec_id, record_count, start, stop in fields:
        try:
            data = decompressors[codec_id](payloads[start:stop], max_bytes)
        except DefectError:
            return
        if record_count > len(data) // SMALLEST_RECORD_BYTES:
            return
        yield data
