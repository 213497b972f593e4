"""Value for one Kafka record, from the plain-Python decoder."""

from typing import NamedTuple


class RecordHeader(NamedTuple):
    """Header of a record; keys may repeat or be empty, and null is not an empty value."""

    key: bytes
    value: bytes | None


class Record(NamedTuple):
    """A record with its offset in the partition; `timestamp_ms` is None for magic 0."""

    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[RecordHeader, ...]
