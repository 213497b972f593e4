"""Reads a file through bounds-checked views of its bytes."""

from typing import Protocol

from seglake.segment_codec.formats.errors import OutOfBoundsError, SourceChangedError
from seglake.segment_codec.walk.holes import holed_source

_BLOCK_BYTES = 64 << 10
_MOST_AHEAD_BYTES = 4 * _BLOCK_BYTES  # most bytes to read ahead when reads are consecutive
_MOST_KEPT_BYTES = 32 << 20
_MOST_TWICE_BYTES = 4 << 20


class ByteSource(Protocol):
    """Interface of a source of bytes; opening it fixes its size."""

    @property
    def size_bytes(self) -> int:
        """Return the size of the file when it was opened."""

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length); fewer only at the end of the file."""
        ...


class Views(Protocol):
    """Interface for reading the bytes of a file by position."""

    def view(self, position: int, length: int) -> memoryview:
        """Return the bytes [position, position + length)."""


class BytesSource:
    """Source of bytes in memory."""

    def __init__(self, content: bytes) -> None:
        """Store the content without copying it."""
        self._content = content

    @property
    def size_bytes(self) -> int:
        """Return the length of the content."""
        return len(self._content)

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes [position, position + length); fewer only at the end of the content."""
        return self._content[position : position + length]


class Window:
    """Reader that keeps one piece of a source in memory, and returns views of it by position.

    Views stay valid when the window moves, since they keep their piece in memory.

    Attributes:
        size_bytes: number of bytes to read; a source that has grown may be longer.
        holed: the source, if some of its bytes may be unreadable, as in a remote tier; else None.
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
        """Store the arguments; nothing is read yet.

        Args:
            source: source of the bytes, which the caller closes.
            read_bytes: size of a read; a longer view reads more.
            size_bytes: number of bytes to use of a source that may have grown; None for all.
            most_read_bytes: limit up to which reads grow while the window advances in small steps.
            most_passed_bytes: highest number of bytes that such a step may skip.
        """
        self.size_bytes = source.size_bytes if size_bytes is None else size_bytes
        self._source = source
        self.holed = holed_source(source)
        self._least_read_bytes = self._read_bytes = read_bytes
        self._most_read_bytes = max(read_bytes, most_read_bytes)
        self._most_passed_bytes = most_passed_bytes
        self._start = 0
        self._stop = 0
        self._piece = memoryview(b"")
        self._kept: KeptBlocks | None = None

    def view(self, position: int, length: int) -> memoryview:
        """Return the bytes [position, position + length).

        Raises:
            OutOfBoundsError: the file does not have all of the bytes.
            SourceChangedError: the source no longer has all of them.
        """
        stop = position + length
        if position < self._start or stop > self._stop:
            self._move(position, length)
        return self._piece[position - self._start : stop - self._start]

    def buffered(self, position: int, least: int, most: int) -> memoryview:
        """Return at least `least` bytes; up to `most` if they are already in memory."""
        self.view(position, least)
        return self.view(position, min(most, self._stop - position))

    def beside(self, position: int, length: int) -> Views:
        """Return this window if it has the bytes in memory, else a cache for reads elsewhere.

        Each of many false headers may need bytes far away. Moving the window there and back would
        read megabytes for each of them.
        """
        if self._start <= position and position + length <= self._stop:
            return self
        if self._kept is None:
            block_bytes = min(_BLOCK_BYTES, self._least_read_bytes)
            self._kept = KeptBlocks(self._source, block_bytes, self.size_bytes)
        return self._kept

    def _move(self, position: int, length: int) -> None:
        """Read the piece from `position` on; its size grows while reads are consecutive."""
        _check_bounds(position, length, self.size_bytes)
        if self._start < position <= self._stop + self._most_passed_bytes:
            self._read_bytes = min(2 * self._read_bytes, self._most_read_bytes)
        else:
            self._read_bytes = self._least_read_bytes
        # Read twice the length of a long view: many false headers nearby may state the same length.
        twice_bytes = min(2 * length, _MOST_TWICE_BYTES)
        size_bytes = min(max(length, twice_bytes, self._read_bytes), self.size_bytes - position)
        # Free the old piece first, so that the new one may reuse its memory.
        self._piece, self._start, self._stop = memoryview(b""), 0, 0
        self._piece = memoryview(_read(self._source, position, size_bytes))
        self._start, self._stop = position, position + size_bytes


class KeptBlocks:
    """Cache of a file's blocks, for reads at any position.

    The newest blocks are kept, up to 32 MiB. So no block of a file of at most 32 MiB is read twice,
    even with many false headers.
    """

    def __init__(self, source: ByteSource, block_bytes: int, size_bytes: int) -> None:
        """Start with an empty cache.

        Args:
            source: source of the bytes; the caller closes it.
            block_bytes: bytes of a block.
            size_bytes: size of the file.
        """
        self._source = source
        self._block_bytes = block_bytes
        self._size_bytes = size_bytes
        self._most_blocks = max(1, _MOST_KEPT_BYTES // block_bytes)
        self._blocks: dict[int, memoryview] = {}
        self._next = -1  # number of the block after the last one that was read
        self._ahead = 1  # number of blocks to read at once

    def view(self, position: int, length: int) -> memoryview:
        """Return the bytes [position, position + length); errors are those of `Window.view`."""
        _check_bounds(position, length, self._size_bytes)
        first, start = divmod(position, self._block_bytes)
        block = self._blocks.get(first)
        if block is not None and start + length <= len(block):
            return block[start : start + length]
        last = max(position, position + length - 1) // self._block_bytes
        content = b"".join(self._through(first, last))
        return memoryview(content)[start : start + length]

    def _through(self, first: int, last: int) -> list[memoryview]:
        """Return the blocks from `first` to `last`; read adjacent missing blocks at once."""
        blocks: list[memoryview] = []
        while first <= last:
            block = self._blocks.get(first)
            found = [block] if block is not None else self._fetched(first, last)
            blocks += found
            first += len(found)
        return blocks

    def _fetched(self, first: int, last: int) -> list[memoryview]:
        """Read the missing blocks from `first` on, and further blocks if reads are consecutive."""
        most = _MOST_AHEAD_BYTES // self._block_bytes
        self._ahead = min(2 * self._ahead, max(1, most)) if first == self._next else 1
        stop, end = first + 1, max(last + 1, first + self._ahead)
        while stop < end and stop not in self._blocks:
            stop += 1
        start = first * self._block_bytes
        length = min(stop * self._block_bytes, self._size_bytes) - start
        content = _read(self._source, start, length)
        size = self._block_bytes
        blocks = [memoryview(content[at : at + size]) for at in range(0, length, size)]
        self._next = first + len(blocks)
        for number, block in enumerate(blocks, first):
            self._blocks[number] = block
            if len(self._blocks) > self._most_blocks:
                del self._blocks[next(iter(self._blocks))]
        return blocks


def _check_bounds(position: int, length: int, size_bytes: int) -> None:
    """Raise OutOfBoundsError unless all bytes are in the file."""
    if position < 0 or length < 0 or position + length > size_bytes:
        raise OutOfBoundsError(position=position, length=length, size_bytes=size_bytes)


def _read(source: ByteSource, position: int, length: int) -> bytes:
    """Read bytes; raise SourceChangedError if the source has fewer."""
    piece = source.read(position, length)
    if len(piece) < length:
        raise SourceChangedError(position=position, expected_bytes=length, read_bytes=len(piece))
    return piece
