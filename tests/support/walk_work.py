"""Counts what walks of segments do: how often they look at bytes, and at how many."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from seglake.segment_codec.formats.checksum import Checksum, crc32, crc32c
from seglake.segment_codec.kernels import message_kernels
from seglake.segment_codec.walk import batch_checksums, run_finder

_FindHeader = Callable[[NDArray[np.uint8], int, int, int, int], int]


@dataclass(slots=True)
class WalkWork:
    """Work of walks so far.

    Attributes:
        looks: checksums computed, and searches for a header.
        looked_bytes: bytes under these checksums, and bytes that were searched.
    """

    looks: int = 0
    looked_bytes: int = 0

    def add(self, size_bytes: int) -> None:
        self.looks += 1
        self.looked_bytes += size_bytes


@contextmanager
def counted_work() -> Iterator[WalkWork]:
    """Count the work of all walks in the block."""
    work = WalkWork()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_checksums, "crc32", _counting(work, crc32))
        for module in (batch_checksums, run_finder):
            patch.setattr(module, "crc32c", _counting(work, crc32c))
        searching = _searching(work, message_kernels.find_header)
        patch.setattr(message_kernels, "find_header", searching)
        yield work


def _counting(work: WalkWork, checksum: Checksum) -> Checksum:
    def counted(data: memoryview | bytes, before: int = 0) -> int:
        work.add(len(data))
        return checksum(data, before)

    return counted


def _searching(work: WalkWork, find_header: _FindHeader) -> _FindHeader:
    def counted(data: NDArray[np.uint8], start: int, left: int, low: int, high: int) -> int:
        found = find_header(data, start, left, low, high)
        work.add((len(data) if found < 0 else found) - start)
        return found

    return counted
