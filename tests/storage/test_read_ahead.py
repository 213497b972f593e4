import os

import pytest

from seglake.storage.read_ahead import ReadAhead

_KIB, _MIB = 1 << 10, 1 << 20
_CONTENT = os.urandom(24 * _MIB)


class CountingReader:
    """A file in memory that notes what is asked of it."""

    def __init__(self, content: bytes = _CONTENT) -> None:
        self.size_bytes = len(content)
        self.asked: list[tuple[int, int]] = []
        self._content = content

    def read(self, position: int, length: int) -> bytes:
        self.asked.append((position, length))
        return self._content[position : position + length]

    def __enter__(self) -> "CountingReader":
        return self

    def __exit__(self, *details: object) -> None:
        """Nothing to close."""


@pytest.mark.parametrize("step_bytes", [16 * _KIB, 300 * _KIB, _MIB])
def test_small_steps_through_a_file_become_few_reads(step_bytes: int) -> None:
    reader = CountingReader()
    ahead = ReadAhead(reader)
    for position in range(0, len(_CONTENT), step_bytes):
        assert ahead.read(position, 4 * _KIB) == _CONTENT[position : position + 4 * _KIB]
    assert len(reader.asked) <= 13


def test_pieces_that_lie_across_what_was_fetched_are_whole_and_stay_few() -> None:
    reader = CountingReader()
    ahead = ReadAhead(reader)
    for position in range(0, len(_CONTENT), 5_003):
        assert ahead.read(position, 7_001) == _CONTENT[position : position + 7_001]
    assert len(reader.asked) <= 13


def test_windows_that_overlap_fetch_no_byte_twice() -> None:
    reader = CountingReader()
    ahead = ReadAhead(reader)
    overlap = 16 * _KIB
    for position in range(0, len(_CONTENT), 2 * _MIB - overlap):
        assert ahead.read(position, 2 * _MIB) == _CONTENT[position : position + 2 * _MIB]
    assert sum(length for _, length in reader.asked) <= len(_CONTENT) + overlap  # of the first two


def test_large_windows_are_read_as_they_are_asked_for() -> None:
    reader = CountingReader()
    ahead = ReadAhead(reader)
    wanted = [(position, 4 * _MIB) for position in range(0, len(_CONTENT), 4 * _MIB)]
    for position, length in wanted:
        assert ahead.read(position, length) == _CONTENT[position : position + length]
    assert reader.asked == wanted


def test_a_single_read_and_reads_here_and_there_fetch_nothing_more() -> None:
    reader = CountingReader()
    ahead = ReadAhead(reader)
    wanted = [(20 * _MIB, 100), (10 * _MIB, 100), (5 * _MIB, 100), (15 * _MIB, 100)]
    for position, length in wanted:
        assert ahead.read(position, length) == _CONTENT[position : position + length]
    assert reader.asked == wanted


def test_reads_end_with_the_file() -> None:
    ahead = ReadAhead(CountingReader(bytes(range(10))))
    assert ahead.size_bytes == 10
    assert ahead.read(8, 100) == bytes([8, 9])
    assert ahead.read(10, 1) == b""
    assert ahead.read(50, 1) == b""
    assert ahead.read(0, 0) == b""
