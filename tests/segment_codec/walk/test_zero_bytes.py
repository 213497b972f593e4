"""Zero bytes at the end of a file, or in front of a place in it."""

import pytest

from seglake.segment_codec.walk.window import BytesSource, Window
from seglake.segment_codec.walk.zero_bytes import ZeroEnd, is_zero

_PIECE_BYTES = 1 << 20


@pytest.mark.parametrize("written", [0, 1, 7, _PIECE_BYTES - 1, _PIECE_BYTES, _PIECE_BYTES + 1])
@pytest.mark.parametrize("zeros", [0, 1, 5, _PIECE_BYTES, 2 * _PIECE_BYTES + 3])
def test_they_begin_behind_the_last_byte_that_is_none(written: int, zeros: int) -> None:
    content = bytes(written // 2) + b"x" * (written - written // 2) + bytes(zeros) + b"behind"
    stop = written + zeros
    window = Window(BytesSource(content), 4096)
    end = ZeroEnd(window, stop)
    for position in {0, written - 1, written, written + 1, stop} & set(range(stop + 1)):
        assert end.has(position) == is_zero(window, position, stop - position), position


class _Counted(BytesSource):
    read_bytes = 0

    def read(self, position: int, length: int) -> bytes:
        self.read_bytes += length
        return super().read(position, length)


def test_their_start_is_searched_for_once() -> None:
    source = _Counted(b"x" + bytes(40 << 20))  # more than a window keeps of what lies ahead
    end = ZeroEnd(Window(source, 4096), source.size_bytes)
    assert [end.has(1) for _ in range(3)] == [True] * 3
    assert source.read_bytes < 1.1 * source.size_bytes
