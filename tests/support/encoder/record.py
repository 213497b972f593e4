"""Values that the encoders take and return."""

from collections.abc import Sequence
from typing import NamedTuple


class Record(NamedTuple):
    """One record to write.

    `offset` None means the one after the record before it. Header names are text, or bytes for
    names that are no UTF-8. Formats v0 and v1 have no headers, v0 has no timestamp.
    """

    key: bytes | None = None
    value: bytes | None = None
    timestamp_ms: int = 0
    headers: tuple[tuple[str | bytes, bytes | None], ...] = ()
    offset: int | None = None


class EncodedBatch(NamedTuple):
    """A record batch, a wrapper, or a plain legacy message, ready to be laid into a segment.

    Use `_replace(data=...)` to damage it and keep what the index files are made from.
    `max_timestamp_ms` is -1 when there is none.
    """

    data: bytes
    base_offset: int
    last_offset: int
    max_timestamp_ms: int

    @property
    def next_offset(self) -> int:
        """The base offset of what comes after."""
        return self.last_offset + 1


def offsets_of(records: Sequence[Record], base_offset: int) -> list[int]:
    """The offset of every record: its own, or the one after the record before it."""
    offsets = []
    following = base_offset
    for record in records:
        offset = following if record.offset is None else record.offset
        offsets.append(offset)
        following = offset + 1
    return offsets
