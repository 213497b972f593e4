"""Output of Kafka's own consumer and dump tool for the disks.

Records were read by a consumer that was assigned the partition and sought its beginning. A key or
value above 1024 bytes is known by length and SHA-256 only: build the records found on disk with
`OracleRecord.of`, which folds such values the same way, and compare lists.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Self

from support.broker_disks import copies, log_dirs, unpacked
from support.dumps import Dump, parse_dump

LARGEST_VALUE_BYTES = 1024
_LONGEST_PARTITION_NAME = 200
_TOPIC_CHARACTERS_KEPT = 40
_STATES = {"delete", "future", "stray"}  # of a partition's folder, behind a unique id


class Isolation(StrEnum):
    """Isolation of a consumer; no consumer gets control records."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class LargeValue(NamedTuple):
    """A value above LARGEST_VALUE_BYTES."""

    sha256: str
    size_bytes: int


class OracleRecord(NamedTuple):
    """One record as a consumer got it.

    The timestamp type is Kafka's name: CreateTime, LogAppendTime, or NoTimestampType with -1 ms
    (format v0). Headers are in order, duplicates kept.
    """

    offset: int
    timestamp_ms: int
    timestamp_type: str
    key: bytes | None
    value: bytes | LargeValue | None
    headers: tuple[tuple[str, bytes | None], ...]

    @classmethod
    def of(
        cls,
        offset: int,
        timestamp_ms: int,
        timestamp_type: str,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> Self:
        """The record with its value folded as the oracle's are."""
        folded = folded_value(value)
        return cls(offset, timestamp_ms, timestamp_type, key, folded, tuple(headers))


def folded_value(value: bytes | None) -> bytes | LargeValue | None:
    """The value itself, or what is known of it when it is large."""
    if value is None or len(value) <= LARGEST_VALUE_BYTES:
        return value
    return LargeValue(hashlib.sha256(value).hexdigest(), len(value))


def expected_records(
    scenario: str,
    copy: str,
    topic: str,
    partition: int,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> list[OracleRecord]:
    """Return the records of one partition that a consumer got, by rising offsets."""
    folder = unpacked(scenario) / "expected" / copy
    name = oracle_name(topic, partition)
    plain = folder / f"{name}.jsonl.gz"
    committed = folder / f"{name}.read_committed.jsonl.gz"
    if isolation is Isolation.READ_COMMITTED and committed.is_file():
        return read_records(committed)
    return read_records(plain)


def oracle_name(topic: str, partition: int) -> str:
    """The start of the oracle's file names: `topic-partition`, shortened when it is very long."""
    name = f"{topic}-{partition}"
    if len(name) <= _LONGEST_PARTITION_NAME:
        return name
    return f"{topic[:_TOPIC_CHARACTERS_KEPT]}~{len(name)}~{partition}"


def partition_dump(scenario: str, copy: str, topic: str, partition: int, place: str = "") -> Dump:
    """Return the dump tool's output for all files in one partition's folder."""
    name = oracle_name(topic, partition)
    return folder_dump(scenario, copy, f"{place}.{name}" if place else name)


def folder_dump(scenario: str, copy: str, name: str) -> Dump:
    """Return a dump by the oracle's file name, for -delete and -future folders and the tier."""
    path = unpacked(scenario) / "expected" / copy / f"{name}.dump.txt.gz"
    return read_dump(path)


def dumped_folders(scenario: str, *chosen: str) -> Iterator[tuple[Path, Dump]]:
    """The folders of all partitions on a scenario's disks, each with its dump.

    Args:
        chosen: which copies of the disks, all if none is named.
    """
    for copy in chosen or copies(scenario):
        places = log_dirs(scenario, copy)
        for place in places:
            prefix = f"{place.broker}." if len({place.broker for place in places}) > 1 else ""
            prefix = f"{place.name}." if len({place.name for place in places}) > 1 else prefix
            for folder in sorted(place.path.iterdir()):
                topic, _, rest = folder.name.rpartition("-")
                if rest.isdecimal() or rest in _STATES:
                    name = oracle_name(topic, int(rest)) if rest.isdecimal() else folder.name
                    yield folder, folder_dump(scenario, copy, prefix + name)


def read_dump(path: Path) -> Dump:
    """Parse one compressed dump file."""
    return parse_dump(gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace"))


def read_records(path: Path) -> list[OracleRecord]:
    """Parse one compressed file of records, one JSON object per line."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    return [_record(line) for line in text.split("\n") if line]


def _record(line: str) -> OracleRecord:
    facts = json.loads(line)
    value: bytes | LargeValue | None
    if "value_sha256" in facts:
        value = LargeValue(facts["value_sha256"], facts["value_length"])
    else:
        value = _bytes(facts["value"])
    headers = tuple((name, _bytes(content)) for name, content in facts["headers"])
    return OracleRecord(
        offset=facts["offset"],
        timestamp_ms=facts["timestamp"],
        timestamp_type=facts["timestamp_type"],
        key=_bytes(facts["key"]),
        value=value,
        headers=headers,
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
