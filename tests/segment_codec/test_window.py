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
