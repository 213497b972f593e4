"""Finds runs of plain batches of magic 2 in a walk."""

import numpy as np

from seglake.segment_codec.formats.checksum import crc32c
from seglake.segment_codec.formats.record_batch import (
    CHECKSUM_START,
    HEADER,
    HEADER_BYTES,
    LENGTH_STOP,
    BatchHeader,
)
from seglake.segment_codec.kernels.batch_run import FEWEST, BatchRun
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import Window

_MOST_BATCHES = 16_384
_MOST_BYTES = 2 << 20
_MOST_SKIPPED = 64


class RunFinder:
    """Finder of runs; after a short run it skips some batches before it tries again."""

    def __init__(
        self,
        window: Window,
        bounds: SegmentBounds,
        stop: int,
        *,
        headers_only: bool = False,
        compares_neighbours: bool = False,
    ) -> None:
        """Start before the first batch; the arguments are those of `SegmentWalk`.

        Args:
            window: bytes of the file.
            bounds: bounds of the segment.
            stop: position at which the walk ends.
            headers_only: whether to verify only checksums of batches that may be markers; then runs
                have no bytes.
            compares_neighbours: whether to exclude a run's last batch if its offsets need the next
                batch as a proof.
        """
        self._window = window
        self._bounds = bounds
        self._stop = stop
        self._headers_only = headers_only
        self._compares_neighbours = compares_neighbours
        self._headers = np.zeros((_MOST_BATCHES, len(BatchHeader._fields)), np.int64)
        self._kinds = np.zeros(_MOST_BATCHES, np.int8)
        self._checked = np.zeros(_MOST_BATCHES, np.bool_)
        self._skipped = 0
        self._patience = 0

    def run_at(self, position: int, low_offset: int) -> BatchRun | None:
        """Return the run that begins at a position; None if there is none.

        Args:
            position: start of a batch.
            low_offset: exclusive end of the offsets read so far.
        """
        if self._skipped < self._patience:
            self._skipped += 1
            return None
        self._skipped = 0
        data = self._buffered(position)
        count = 0 if data is None else self._scanned(data, low_offset, self._stop - position)
        if data is None or count < FEWEST:
            self._patience = min(2 * self._patience + 1, _MOST_SKIPPED)
            return None
        self._patience = 0
        headers, kinds = self._headers[:count].copy(), self._kinds[:count].copy()
        sizes = headers[:, 1] + LENGTH_STOP
        starts = np.cumsum(sizes) - sizes
        # An empty view of `data` would keep all of `data` in memory.
        kept = memoryview(b"") if self._headers_only else data[: int(sizes.sum())]
        return BatchRun(position, headers, kinds, starts, kept)

    def _buffered(self, position: int) -> memoryview | None:
        """Return a whole batch and the bytes in memory after it; None for another format."""
        left = self._stop - position
        if left < HEADER_BYTES:
            return None
        head = HEADER.unpack_from(self._window.view(position, HEADER_BYTES))
        size_bytes = head[1] + LENGTH_STOP
        if head[3] != 2 or not HEADER_BYTES <= size_bytes <= min(left, _MOST_BYTES):
            return None  # such a large length may be damage
        if self._headers_only:
            least = HEADER_BYTES
        else:  # read the unit again, so that the window has the next batches too
            few_bytes = FEWEST * size_bytes
            least = few_bytes if few_bytes <= min(_MOST_BYTES, left) else size_bytes
        return self._window.buffered(position, least, min(_MOST_BYTES, left))

    def _scanned(self, data: memoryview, low_offset: int, size_bytes: int) -> int:
        """Return the number of plain batches at the start of `data`, within `size_bytes`."""
        # imported only when needed, since numba takes 0.2 s
        from seglake.segment_codec.kernels.header_kernel import (
            RunLimits,
            scan_batches,
        )

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
            size_bytes,
        )
        count: int = scan_batches(
            np.frombuffer(data, np.uint8), limits, self._headers, self._kinds, self._checked
        )
        count = self._verified(data, count)
        return count - self._is_last_unproved(count)

    def _verified(self, data: memoryview, count: int) -> int:
        """Return the number of batches before the first one with an invalid checksum."""
        places = np.flatnonzero(~self._checked[:count])
        sizes = self._headers[:count, 1] + LENGTH_STOP
        stops = np.cumsum(sizes)[places]
        starts = stops - sizes[places] + CHECKSUM_START
        claims = self._headers[places, 4]
        columns = (places, starts, stops, claims)
        for place, start, stop, claimed in zip(*(c.tolist() for c in columns), strict=True):
            if crc32c(data[start:stop]) != claimed:
                return int(place)
        return count

    def _is_last_unproved(self, count: int) -> bool:
        """Return whether only the next batch proves the last: it is sparse or after a hole."""
        if not self._compares_neighbours or count < 2:
            return False
        before, last = self._headers[count - 2], self._headers[count - 1]
        is_sparse = last[12] <= last[6] and not self._bounds.may_have_holes
        return bool(is_sparse or last[0] != before[0] + before[6] + 1)
