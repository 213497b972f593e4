"""Reading a file in pieces."""

import pytest

from seglake.segment_codec.formats.errors import OutOfBoundsError, SourceChangedError
from seglake.segment_codec.walk import window as window_module
from seglake.segment_codec.walk.window import BytesSource, KeptBlocks, Window


class _Short(BytesSource):
    """A file that became shorter by a byte."""

    def read(self, position: int, length: int) -> bytes:
        return super().read(position, length)[:-1]


def test_source_that_gives_less_than_its_size_has_changed() -> None:
    with pytest.raises(SourceChangedError, match=r"^4 of 5 bytes could be read at position 1: "):
        Window(_Short(b"abcdef")).view(1, 2)


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
    window.view(355, 5)  # thirteen
    assert source.reads == [(300, 10), (322, 20), (355, 10)]


def test_pieces_of_one_size_are_read_where_nothing_else_is_asked_for() -> None:
    source = _Noted(bytes(100))
    window = Window(source, 10)
    for position in range(0, 40, 5):
        window.view(position, 3)
    assert source.reads == [(0, 10), (10, 10), (20, 10), (30, 10)]


def test_long_view_reads_twice_its_length_for_those_that_begin_shortly_after() -> None:
    source = _Noted(bytes(1000))
    window = Window(source, 10)
    for position in range(0, 60, 10):
        window.view(position, 50)
    assert source.reads == [(0, 100)]


def test_bytes_in_memory_are_seen_there_and_others_in_kept_blocks() -> None:
    source = _Noted(bytes(range(200)))
    window = Window(source, 10)
    window.view(20, 5)
    assert window.beside(22, 8) is window
    assert window.beside(22, 9) is not window
    assert bytes(window.beside(100, 3).view(100, 3)) == bytes([100, 101, 102])
    assert bytes(window.beside(98, 5).view(98, 5)) == bytes(range(98, 103))
    assert source.reads == [(20, 10), (100, 10), (90, 10)]


def test_block_is_read_once_while_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_module, "_MOST_KEPT_BYTES", 30)
    source = _Noted(bytes(range(95)))
    kept = KeptBlocks(source, 10, 95)
    for position in (52, 3, 93, 55, 1):
        assert bytes(kept.view(position, 2)) == bytes([position, position + 1])
    assert source.reads == [(50, 10), (0, 10), (90, 5)]
    kept.view(70, 1)  # the fourth block: the first one is forgotten
    assert bytes(kept.view(48, 15)) == bytes(range(48, 63))
    assert source.reads[3:] == [(70, 10), (40, 30)]


def test_blocks_in_a_row_are_read_ahead_up_to_those_kept() -> None:
    source = _Noted(bytes(1000))
    kept = KeptBlocks(source, 10, 1000)
    kept.view(60, 1)
    for position in range(0, 100, 10):
        kept.view(position, 1)
    assert source.reads == [(60, 10), (0, 10), (10, 20), (30, 30), (70, 10), (80, 20)]


def test_kept_blocks_end_with_the_file_as_it_was_opened() -> None:
    kept = KeptBlocks(BytesSource(bytes(100)), 64, 70)
    assert len(kept.view(60, 10)) == 10
    assert len(kept.view(70, 0)) == 0
    for position, length in ((-1, 1), (70, 1), (0, -1)):
        with pytest.raises(OutOfBoundsError):
            kept.view(position, length)
    with pytest.raises(SourceChangedError):
        KeptBlocks(_Short(bytes(100)), 64, 100).view(5, 2)
