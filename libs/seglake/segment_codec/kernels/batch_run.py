"""Many sound batches of magic 2 as one unit: their headers are an array, not objects.

A run is what the exact walk would take for a row of sound batches, and nothing else: none that was
damaged, no control batch but a marker in its usual form, none that reaches across an offset where
runs break.
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
    BatchHeader,
    RecordBatch,
)

FIELD_PLACES = {name: place for place, name in enumerate(BatchHeader._fields)}  # in `headers`
FEWEST = 4  # below, an array costs more than it saves


class BatchKind(IntEnum):
    """What a batch of a run is.

    >>> [kind.name for kind in BatchKind if kind in MARKER_KINDS]
    ['ABORT', 'COMMIT']
    """

    DATA = 0
    EMPTY = 1  # without records: the cleaner keeps the last batch of a producer
    ABORT = 2  # a marker
    COMMIT = 3


MARKER_KINDS = (BatchKind.ABORT, BatchKind.COMMIT)
CONTROL_TYPES = (None, None, ControlType.ABORT, ControlType.COMMIT)  # by kind


@dataclass(frozen=True, slots=True)
class BatchRun:
    """Batches that lie one behind the other, with offsets that rise.

    Attributes:
        headers: (n, 13), in the order of `BatchHeader`.
        kinds: (n,) by `BatchKind`.
        starts: (n,) where each batch begins, from `position` on.
        data: the bytes of all, a view; empty in a walk by headers only, and once the records were
            taken. Of such a run `batch` gives headers without payloads.
    """

    position: int
    headers: NDArray[np.int64]
    kinds: NDArray[np.int8]
    starts: NDArray[np.int64]
    data: memoryview

    def __len__(self) -> int:
        return len(self.headers)

    @property
    def size_bytes(self) -> int:
        return int(self.starts[-1] + self.headers[-1, 1]) + LENGTH_STOP

    @property
    def first_offset(self) -> int:
        return int(self.headers[0, 0])

    @property
    def last_offset(self) -> int:
        return int(self.headers[-1, 0] + self.headers[-1, 6])

    @property
    def crc(self) -> int:
        """The first batch's."""
        return int(self.headers[0, 4])

    def column(self, name: str) -> NDArray[np.int64]:
        """One field of all headers."""
        return self.headers[:, FIELD_PLACES[name]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The batches' bytes, headers included."""
        return self.column("batch_length") + LENGTH_STOP

    @property
    def is_compressed(self) -> bool:
        """Whether any batch is."""
        return bool((self.column("attributes") & CODEC_MASK).any())

    @property
    def is_marker(self) -> NDArray[np.bool_]:
        """Of each batch."""
        return self.kinds >= BatchKind.ABORT

    @property
    def is_sparse(self) -> NDArray[np.bool_]:
        """Of each batch: as `RecordBatch.is_sparse`."""
        return self.column("record_count") <= self.column("last_offset_delta")

    @property
    def next_offsets(self) -> NDArray[np.int64]:
        """Where each batch's offsets end."""
        return self.column("base_offset") + self.column("last_offset_delta") + 1

    def stretches(self) -> Iterator[tuple[int, int]]:
        """The offsets [start, stop) of batches without a hole between them."""
        first, after = self.column("base_offset"), self.next_offsets
        is_break = first[1:] != after[:-1]
        if not is_break.any():  # nearly always
            return iter([(self.first_offset, self.last_offset + 1)])
        breaks = np.flatnonzero(is_break) + 1
        starts = first[np.concatenate(([0], breaks))].tolist()
        return zip(starts, after[np.append(breaks - 1, len(self) - 1)].tolist(), strict=True)

    def batch(self, index: int) -> RecordBatch:
        """One of them, as the exact walk has it."""
        start = int(self.starts[index])
        header = BatchHeader._make(self.headers[index].tolist())
        size_bytes = header.batch_length + LENGTH_STOP
        payload = self.data[start + HEADER_BYTES : start + size_bytes]
        return RecordBatch(self.position + start, size_bytes, header, payload)

    def part(self, start: int, stop: int) -> Self:
        """The batches [start, stop); at least one."""
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
        """The same, which does not keep a piece of the file in memory."""
        return type(self)(self.position, self.headers, self.kinds, self.starts, memoryview(b""))

    def chosen(self, places: NDArray[np.int64]) -> Self:
        """Some of the batches, by their places; the bytes of the others lie between them."""
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
    """Batches that are not compressed: the records of batch i are data[starts[i] : stops[i]]."""

    data: memoryview
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def plain_run_of(run: BatchRun) -> PlainRun:
    """The batches of an uncompressed run, up to one that cannot hold the records it claims."""
    starts, stops = run.starts + HEADER_BYTES, run.starts + run.sizes
    is_right = run.column("record_count") <= (stops - starts) // SMALLEST_RECORD_BYTES
    count = len(run) if is_right.all() else int(is_right.argmin())
    end = int(stops[count - 1]) if count else 0
    return PlainRun(run.data[:end], starts[:count], stops[:count])


def plain_records_of(run: BatchRun, max_bytes: int) -> Iterator[bytes | memoryview]:
    """The records of batch after batch; it ends in front of one that `plain_records` refuses."""
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
