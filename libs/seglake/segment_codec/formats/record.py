"""One Kafka record, as the plain-Python decoder returns it."""

from typing import NamedTuple


class RecordHeader(NamedTuple):
    """A record's header; keys may repeat and may be empty; a null value is not an empty one."""

    key: bytes
    value: bytes | None


class Record(NamedTuple):
    """A record with its offset in the partition; `timestamp_ms` is None for magic 0."""

    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[RecordHeader, ...]
