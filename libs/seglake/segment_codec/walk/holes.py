"""Holes: byte ranges of a segment that its source cannot read.

A segment in a remote tier may be stored in chunks. If a chunk cannot be decoded, the bytes before
and after it are still readable. In place of a hole, the source returns bytes that cannot begin a
header, so the walk continues after it as after damage. Each item that overlaps a hole is a defect.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol, runtime_checkable

HOLE_BYTE = b"\xff"
"""Byte returned for each byte of a hole: as a header, such bytes have a negative length."""


class Hole(NamedTuple):
    """A byte range of a segment that cannot be read, with the reason."""

    position: int
    size_bytes: int
    reason: str


class HoledSource(ABC):
    """Interface of a source that may have holes; it knows the holes in the bytes read so far."""

    @abstractmethod
    def holes_in(self, start: int, stop: int) -> list[Hole]:
        """Return the known holes that overlap the bytes [start, stop), in order."""

    @abstractmethod
    def stored_bytes(self, start: int, stop: int, most_bytes: int) -> tuple[bytes, bool]:
        """Return the encoded bytes of the holes in [start, stop), and whether none are omitted."""


@runtime_checkable
class WrappingSource(Protocol):
    """Source that gets its bytes from another source, at the same positions."""

    @property
    def wrapped(self) -> object:
        """Return the source from which this one gets its bytes."""


def holed_source(source: object) -> HoledSource | None:
    """Return the source, or the source that it wraps, if it may have holes; else None."""
    while isinstance(source, WrappingSource):
        source = source.wrapped
    return source if isinstance(source, HoledSource) else None


def text_of(holes: list[Hole]) -> str:
    """Return a text with the position and the reason of each hole."""
    first, *others = holes
    text = f"bytes {first.position} to {first.position + first.size_bytes}: {first.reason}"
    return f"{text}; {len(others)} more" if others else text
