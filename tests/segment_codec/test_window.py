"""Reading a file in pieces."""

import pytest

from seglake.segment_codec.errors import SourceChangedError
from seglake.segment_codec.window import BytesSource, Window


class _Short(BytesSource):
    """A file that became shorter by a byte."""

    def read(self, position: int, length: int) -> bytes:
        return super().read(position, length)[:-1]


def test_source_that_gives_less_than_its_size_has_changed() -> None:
    with pytest.raises(SourceChangedError) as caught:
        Window(_Short(b"abcdef")).view(1, 2)
    found = caught.value
    assert (found.position, found.expected_bytes, found.read_bytes) == (1, 5, 4)


class _Noted(BytesSource):
    """Notes what is read of it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.reads: list[tuple[int, int]] = []

    def read(self, position: int, length: int) -> bytes:
        self.reads.append((position, length))
        return super().read(position, length)


def test_reads_grow_while_everything_is_read_and_only_then() -> None:
    source = _Noted(bytes(1000))
    window = Window(source, 10, most_read_bytes=40, most_passed_bytes=12)
    for position in range(0, 200, 5):
        window.view(position, 3)
    assert source.reads == [(0, 10), (10, 20), (30, 40), (70, 40), (110, 40), (150, 40), (190, 40)]
    source.reads.clear()
    window.view(300, 3)  # 70 bytes were passed over
    window.view(322, 3)  # twelve
    window.view(355, 30)  # thirteen
    assert source.reads == [(300, 10), (322, 20), (355, 30)]


def test_pieces_of_one_size_are_read_where_nothing_else_is_asked_for() -> None:
    source = _Noted(bytes(100))
    window = Window(source, 10)
    for position in range(0, 40, 5):
        window.view(position, 3)
    assert source.reads == [(0, 10), (10, 10), (20, 10), (30, 10)]
