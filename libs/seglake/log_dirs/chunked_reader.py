"""Reads a segment that is stored in chunks in a remote tier.

Callers use byte positions of the original segment. Adjacent chunks are fetched with one request.
The last decoded chunk is kept, since the next read usually begins in the same chunk.
"""

from typing import Self

from seglake.segment_codec.formats.aiven_tier.chunk_index import Chunk
from seglake.segment_codec.formats.aiven_tier.chunks import Decrypt, decoded_chunk
from seglake.segment_codec.formats.aiven_tier.errors import ChunkError
from seglake.segment_codec.formats.aiven_tier.manifest import Manifest
from seglake.segment_codec.walk.holes import HOLE_BYTE, Hole, HoledSource
from seglake.storage.storage import Reader


class ChunkedReader(HoledSource):
    """Reader of the original segment; chunks that cannot be decoded are holes.

    Attributes:
        size_bytes: size of the original segment.
    """

    def __init__(self, stored: Reader, manifest: Manifest, decrypt: Decrypt | None) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            stored: reader of the object; this reader closes it.
            manifest: the manifest of the segment.
            decrypt: the function that decrypts a chunk; None if chunks are not encrypted.
        """
        self.size_bytes = manifest.chunks.size_bytes
        self._stored = stored
        self._manifest = manifest
        self._chunks = manifest.chunks
        self._decrypt = decrypt
        self._kept: tuple[int, bytes | memoryview] = (-1, b"")
        self._bad: dict[int, str] = {}  # why a chunk is unreadable, by its number

    def read(self, position: int, length: int) -> bytes:
        """Return the bytes of a range; see `Reader.read`."""
        stop = min(position + length, self.size_bytes)
        if position < 0 or stop <= position:
            return b""
        if self._manifest.is_plain:
            return self._plain(position, stop)
        first, last = self._chunks.at(position), self._chunks.at(stop - 1)
        number, content = self._kept
        parts = [content] if number == first else []
        if first + len(parts) <= last:
            parts += self._decoded(first + len(parts), last)
        self._kept = (last, parts[-1])
        start = position - self._chunks.chunk(first).position
        end = stop - self._chunks.chunk(last).position
        if first == last:
            return bytes(parts[0][start:end])
        return b"".join([memoryview(parts[0])[start:], *parts[1:-1], memoryview(parts[-1])[:end]])

    def holes_in(self, start: int, stop: int) -> list[Hole]:
        """Return the holes in a range of bytes that was read before."""
        if self._manifest.is_plain:
            end = self._stored.size_bytes
            is_touched = end < stop and end < self.size_bytes
            return [Hole(end, self.size_bytes - end, self._end_of_object())] if is_touched else []
        found = [Hole(*self._chunks.chunk(number)[:2], self._bad[number]) for number in self._bad]
        return sorted(
            hole
            for hole in found
            if hole.position < stop and start < hole.position + hole.size_bytes
        )

    def stored_bytes(self, start: int, stop: int, most_bytes: int) -> tuple[bytes, bool]:
        """Read a range of bytes, and return the stored bytes of the holes in it."""
        if self._manifest.is_plain or stop <= start:
            return b"", True
        parts, left = [], most_bytes
        for number in range(self._chunks.at(start), self._chunks.at(stop - 1) + 1):
            chunk = self._chunks.chunk(number)
            self.read(chunk.position, chunk.size_bytes)
            if number in self._bad:
                parts.append(self._stored_chunk(chunk, left))
                left -= len(parts[-1])
                if len(parts[-1]) < self._there(chunk):
                    return b"".join(parts), False
        return b"".join(parts), True

    def _there(self, chunk: Chunk) -> int:
        """Return how many bytes of a chunk are in the object, which may be truncated."""
        return max(0, min(chunk.stored_bytes, self._stored.size_bytes - chunk.stored_position))

    def _stored_chunk(self, chunk: Chunk, most_bytes: int) -> bytes:
        """Return the bytes of a chunk as they are stored in the object."""
        length = min(self._there(chunk), most_bytes)
        return self._stored.read(chunk.stored_position, length) if length else b""

    def _plain(self, position: int, stop: int) -> bytes:
        """Return bytes of a segment stored unencoded; bytes missing at its end are a hole."""
        end = max(position, min(stop, self._stored.size_bytes))
        content = self._stored.read(position, end - position) if end > position else b""
        return content + HOLE_BYTE * (stop - position - len(content))

    def _decoded(self, first: int, last: int) -> list[bytes | memoryview]:
        """Fetch consecutive chunks with one request, and return their original bytes."""
        start, end = self._chunks.chunk(first).stored_position, self._chunks.chunk(last)
        stop = min(end.stored_position + end.stored_bytes, self._stored.size_bytes)
        fetched = memoryview(self._stored.read(start, stop - start) if stop > start else b"")
        parts: list[bytes | memoryview] = []
        for number in range(first, last + 1):
            chunk = self._chunks.chunk(number)
            place = chunk.stored_position - start
            stored = fetched[place : place + chunk.stored_bytes]
            try:
                if len(stored) < chunk.stored_bytes:
                    raise ChunkError(self._end_of_object())
                content = decoded_chunk(stored, chunk.size_bytes, self._manifest, self._decrypt)
            except ChunkError as error:
                self._bad[number] = error.reason
                content = HOLE_BYTE * chunk.size_bytes
            parts.append(content)
        return parts

    def _end_of_object(self) -> str:
        """Return the reason why a chunk after the object's end is unreadable."""
        return (
            f"the object ends at {self._stored.size_bytes}, its manifest says"
            f" {self._chunks.stored_bytes}"
        )

    def __enter__(self) -> Self:
        """Return the reader itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the object."""
        self._stored.__exit__(*raised)
