"""The one bounds-checked door to the bytes of a file."""

from typing import Protocol, Self

from seglake.segment_codec.errors import OutOfBoundsError, SourceChangedError

_LOOK_BYTES = 64 << 10
_MOST_LOOK_BYTES = 4 * _LOOK_BYTES  # while each look begins where the one before it ended


class ByteSource(Protocol):
    """Where a window gets its bytes from; the size is fixed when the source is opened."""

    @property
    def size_bytes(self) -> int: ...

    def read(self, position: int, length: int) -> bytes:
        """Bytes [position, position + length), short only where the file ends."""
        ...


class BytesSource:
    """A file that already lies in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    @property
    def size_bytes(self) -> int:
        return len(self._content)

    def read(self, position: int, length: int) -> bytes:
        return self._content[position : position + length]


class Window:
    """Reads a source in pieces and hands out views of them by file position.

    Views stay valid when the window moves on: a view keeps its piece alive.

    Args:
        source: borrowed; the caller closes it.
        read_bytes: how much to read from the source at once; a longer view reads more.
        most_read_bytes: up to so much, as long as few bytes are passed over each time.
        most_passed_bytes: how many are few.
        size_bytes: how much of the source there is to see, when it may have grown meanwhile.
    """

    def __init__(
        self,
        source: ByteSource,
        read_bytes: int = 4 << 20,
        size_bytes: int | None = None,
        *,
        most_read_bytes: int = 0,
        most_passed_bytes: int = 0,
    ) -> None:
        self.size_bytes = source.size_bytes if size_bytes is None else size_bytes
        self._source = source
        self._least_read_bytes = self._read_bytes = read_bytes
        self._most_read_bytes = max(read_bytes, most_read_bytes)
        self._most_passed_bytes = most_passed_bytes
        self._start = 0
        self._stop = 0
        self._piece = memoryview(b"")
        self._second: Self | None = None

    def view(self, position: int, length: int) -> memoryview:
        """The bytes [position, position + length).

        Raises:
            OutOfBoundsError: they do not all lie in the file.
            SourceChangedError: the source no longer has them.
        """
        stop = position + length
        if position < self._start or stop > self._stop:
            self._move(position, length)
        return self._piece[position - self._start : stop - self._start]

    def buffered(self, position: int, least: int, most: int) -> memoryview:
        """As `view` for `least` bytes, and as many more, up to `most`, as need no reading."""
        self.view(position, least)
        return self.view(position, min(most, self._stop - position))

    def beside(self, position: int, length: int) -> Self:
        """A window for a look elsewhere: this one if it has these bytes in memory, or a second one.

        Where many claims are false, each is refuted by a look at bytes far away. A walk that moved
        its own window there and back would read megabytes for each.
        """
        if self._start <= position and position + length <= self._stop:
            return self
        if self._second is None:
            look_bytes = min(_LOOK_BYTES, self._least_read_bytes)
            self._second = type(self)(
                self._source, look_bytes, self.size_bytes, most_read_bytes=_MOST_LOOK_BYTES
            )
        return self._second

    def _move(self, position: int, length: int) -> None:
        if position < 0 or length < 0 or position + length > self.size_bytes:
            raise OutOfBoundsError(position=position, length=length, size_bytes=self.size_bytes)
        if self._start < position <= self._stop + self._most_passed_bytes:
            self._read_bytes = min(2 * self._read_bytes, self._most_read_bytes)
        else:
            self._read_bytes = self._least_read_bytes
        wanted = min(max(length, self._read_bytes), self.size_bytes - position)
        # The old piece first: the new one may then take its place, in memory that is warm.
        self._piece, self._start, self._stop = memoryview(b""), 0, 0
        piece = self._source.read(position, wanted)
        if len(piece) < wanted:
            raise SourceChangedError(
                position=position, expected_bytes=wanted, read_bytes=len(piece)
            )
        self._piece = memoryview(piece)
        self._start, self._stop = position, position + wanted
