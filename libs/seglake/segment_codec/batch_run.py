"""Many sound batches of magic 2 as one unit: their headers are an array, not objects.

A run is what the exact walk would take for a row of sound data batches, and nothing else: no
marker, no empty batch, none that was damaged, none that reaches across an offset where runs break.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec._checksum import crc32c
from seglake.segment_codec._compression import decompress
from seglake.segment_codec.codec import CODECS
from seglake.segment_codec.errors import DefectError
from seglake.segment_codec.record_batch import (
    CHECKSUM_START,
    CODEC_MASK,
    HEADER,
    HEADER_BYTES,
    LENGTH_STOP,
    SMALLEST_RECORD_BYTES,
    BatchHeader,
    RecordBatch,
)
from seglake.segment_codec.segment_items import SegmentBounds
from seglake.segment_codec.window import Window

FEWEST = 4  # below, an array costs more than it saves
_MOST_BATCHES = 16_384
_MOST_BYTES = 1 << 20
_MOST_SKIPPED = 64


@dataclass(frozen=True, slots=True)
class BatchRun:
    """Batches that lie one behind the other, with offsets that rise.

    Attributes:
        headers: (n, 13), in the order of `BatchHeader`.
        starts: (n,) where each batch begins, from `position` on.
        data: the bytes of all, a view; empty in a walk by headers only.
    """

    position: int
    headers: NDArray[np.int64]
    starts: NDArray[np.int64]
    data: memoryview

    def __len__(self) -> int:
        return len(self.headers)

    @property
    def magic(self) -> int:
        return 2

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
        return self.headers[:, BatchHeader._fields.index(name)]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The batches' bytes, headers included."""
        return self.column("batch_length") + LENGTH_STOP

    @property
    def is_compressed(self) -> bool:
        """Whether any batch is."""
        return bool((self.column("attributes") & CODEC_MASK).any())

    @property
    def next_offsets(self) -> NDArray[np.int64]:
        """Where each batch's offsets end."""
        return self.column("base_offset") + self.column("last_offset_delta") + 1

    def stretches(self) -> Iterator[tuple[int, int]]:
        """The offsets [start, stop) of batches without a hole between them."""
        first, after = self.column("base_offset"), self.next_offsets
        breaks = np.flatnonzero(first[1:] != after[:-1]) + 1
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
            self.starts[start:stop] - begin,
            self.data[begin:end],
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
    for codec_id, record_count, start, stop in fields:
        try:
            data = decompress(CODECS[codec_id], run.data[start:stop], magic=2, max_bytes=max_bytes)
        except DefectError:
            return
        if record_count > len(data) // SMALLEST_RECORD_BYTES:
            return
        yield data


class RunFinder:
    """Finds the runs of one walk; after a short one it waits longer until it looks again.

    Args:
        stop: where the walk stops.
        headers_only, compares_neighbours: see `SegmentWalk`.
    """

    def __init__(
        self,
        window: Window,
        bounds: SegmentBounds,
        stop: int,
        *,
        headers_only: bool = False,
        compares_neighbours: bool = False,
    ) -> None:
        self._window = window
        self._bounds = bounds
        self._stop = stop
        self._headers_only = headers_only
        self._compares_neighbours = compares_neighbours
        self._headers = np.zeros((_MOST_BATCHES, len(BatchHeader._fields)), np.int64)
        self._checked = np.zeros(_MOST_BATCHES, np.bool_)
        self._skipped = 0
        self._patience = 0

    def run_at(self, position: int, low_offset: int) -> BatchRun | None:
        """The run that begins at a position, if one does.

        Args:
            low_offset: the end of what was read before.
        """
        if self._skipped < self._patience:
            self._skipped += 1
            return None
        self._skipped = 0
        data = self._buffered(position)
        count = 0 if data is None else self._scanned(data, low_offset)
        if data is None or count < FEWEST:
            self._patience = min(2 * self._patience + 1, _MOST_SKIPPED)
            return None
        self._patience = 0
        headers = self._headers[:count].copy()
        sizes = headers[:, 1] + LENGTH_STOP
        starts = np.cumsum(sizes) - sizes
        # A view, even of nothing, would keep its piece of the file in memory.
        kept = memoryview(b"") if self._headers_only else data[: int(sizes.sum())]
        return BatchRun(position, headers, starts, kept)

    def _buffered(self, position: int) -> memoryview | None:
        """The batch there, and what is in memory behind it; None for another format."""
        left = self._stop - position
        if left < HEADER_BYTES:
            return None
        head = HEADER.unpack_from(self._window.view(position, HEADER_BYTES))
        size_bytes = head[1] + LENGTH_STOP
        if head[3] != 2 or not HEADER_BYTES <= size_bytes <= min(left, _MOST_BYTES):
            return None  # a length that damage made large is not worth reading
        least = HEADER_BYTES if self._headers_only else size_bytes
        return self._window.buffered(position, least, min(_MOST_BYTES, left))

    def _scanned(self, data: memoryview, low_offset: int) -> int:
        from seglake.segment_codec._header_kernel import RunLimits, scan_batches  # numba: 0.2 s

        bounds = self._bounds
        first = int.from_bytes(data[:8], "big", signed=True)
        if first < max(low_offset, bounds.base_offset):
            return 0
        breaks = [stop for stop in bounds.run_breaks if stop > first]
        limits = RunLimits(
            low_offset,
            min([*breaks, bounds.limit_offset]),
            bounds.may_have_holes,
            not self._headers_only,
        )
        count: int = scan_batches(
            np.frombuffer(data, np.uint8), limits, self._headers, self._checked
        )
        sizes = self._headers[:count, 1] + LENGTH_STOP
        stops = np.cumsum(sizes)
        for index in np.flatnonzero(~self._checked[:count]).tolist():
            stop = int(stops[index])
            start = stop - int(sizes[index]) + CHECKSUM_START
            if crc32c(data[start:stop]) != self._headers[index, 4]:
                count = index
                break
        return count - self._is_last_unproved(count)

    def _is_last_unproved(self, count: int) -> bool:
        """Whether a hole lies before the last one: only what follows a batch proves its offset."""
        if not self._compares_neighbours or count < 2:
            return False
        before, last = self._headers[count - 2], self._headers[count - 1]
        return bool(last[0] != before[0] + before[6] + 1)
