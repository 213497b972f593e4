"""Reads the small text files of a log dir and of its partition folders.

Offset checkpoints and leader epochs, UTF-8, one item a line::

    0                           version
    2                           count of the lines that follow
    orders 0 1234               topic, partition, offset
    orders 1 987                (in leader-epoch-checkpoint: epoch, start offset)

`partition.metadata`, one `key: value` a line::

    version: 0
    topic_id: AAAAAAAAAAAAAAAAAAAAAQ

`meta.properties` has Java properties: version, cluster.id, directory.id, and broker.id (version 0)
or node.id (version 1).

These readers are stricter than Kafka's: they reject content that Kafka never writes, because a
wrong number would move the bounds of an ingest. An empty file is valid and has no entries: its
broker was stopped after creating it and before writing it.

Source: apache/kafka 1eb7644, CheckpointFile.java, OffsetCheckpointFile, LeaderEpochCheckpointFile,
PartitionMetadataFile, MetaProperties.java.
"""

import re
from collections.abc import Sized
from typing import NamedTuple

from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_codec.formats.side_files._java_properties import (
    MalformedEscapeError,
    Property,
    parse_properties,
)
from seglake.segment_codec.formats.side_files.log_dir import TopicPartition, is_legal_topic

CHECKPOINT_VERSION = 0
META_PROPERTIES_VERSIONS = (0, 1)
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

_DECIMAL = re.compile(rb"[0-9]{1,20}")
# 22 letters encode 132 bits, but an id has 128: the last four bits are 0.
_TOPIC_ID = re.compile(rb"[A-Za-z0-9_-]{21}[AQgw]")
_TOPIC_ID_NONE = b"A" * 22


class EpochStart(NamedTuple):
    """A leader epoch and its first offset."""

    epoch: int
    start_offset: int


class PartitionMetadata(NamedTuple):
    """Content of `partition.metadata`; `topic_id` is 16 bytes as 22 letters of URL-safe base64."""

    version: int
    topic_id: str


class BrokerMetadata(NamedTuple):
    """Identity of a log dir; None for values that the file lacks.

    Attributes:
        cluster_id_has_blanks: whether the cluster id has blanks around it, which Kafka treats as a
            part of the id.
    """

    version: int | None
    broker_id: int | None
    cluster_id: str | None
    directory_id: str | None
    cluster_id_has_blanks: bool = False


class CheckpointFileError(SegmentCodecError):
    """Error for a checkpoint or metadata file with content that Kafka never writes."""

    def __init__(self, *, what: str, line_number: int) -> None:
        """Store the fault and the number of its line.

        Args:
            what: the fault, as text.
            line_number: number of the line, counted from 1.
        """
        self.what = what
        self.line_number = line_number
        super().__init__(f"line {line_number}: {what}")


def parse_offset_checkpoint(text: bytes) -> dict[TopicPartition, int]:
    r"""Return the offsets in one of the four offset checkpoint files.

    >>> parse_offset_checkpoint(b"0\n1\norders 0 1234\n")
    {TopicPartition(topic='orders', partition=0): 1234}

    Raises:
        CheckpointFileError: version or count is wrong, or an entry is malformed, cut or repeated.
    """
    offsets: dict[TopicPartition, int] = {}
    for number, (raw_topic, raw_partition, raw_offset) in _entries(
        text, ("topic", "partition", "offset")
    ):
        topic = raw_topic.decode("ascii", errors="replace")
        if not is_legal_topic(topic):
            raise CheckpointFileError(
                what=f"{topic!r} is not a legal topic name", line_number=number
            )
        partition = _number(raw_partition, "partition", number, INT_MAX)
        key = TopicPartition(topic, partition)
        if key in offsets:
            raise CheckpointFileError(what=f"{topic}-{partition} appears twice", line_number=number)
        offsets[key] = _number(raw_offset, "offset", number, LONG_MAX)
    return offsets


def parse_leader_epochs(text: bytes) -> tuple[EpochStart, ...]:
    r"""Return the entries of `leader-epoch-checkpoint`; epochs rise, and start offsets never fall.

    Entries at or above the log's end may be out of date, since brokers truncate this file late.

    >>> parse_leader_epochs(b"0\n2\n0 0\n3 987\n")
    (EpochStart(epoch=0, start_offset=0), EpochStart(epoch=3, start_offset=987))

    Raises:
        CheckpointFileError: version, count or order is wrong, or an entry is malformed or cut.
    """
    epochs: list[EpochStart] = []
    for number, (raw_epoch, raw_start_offset) in _entries(text, ("epoch", "start offset")):
        epoch = _number(raw_epoch, "epoch", number, INT_MAX)
        start_offset = _number(raw_start_offset, "start offset", number, LONG_MAX)
        if epochs and (epoch <= epochs[-1].epoch or start_offset < epochs[-1].start_offset):
            what = f"epoch {epoch} from offset {start_offset} is not above {epochs[-1]}"
            raise CheckpointFileError(what=what, line_number=number)
        epochs.append(EpochStart(epoch, start_offset))
    return tuple(epochs)


def parse_partition_metadata(text: bytes) -> PartitionMetadata:
    """Return the content of `partition.metadata`; versions above 0 and unknown keys are accepted.

    Kafka accepts them, too: a later version must stay readable after a downgrade. The file ends
    without a line break.

    Raises:
        CheckpointFileError: a key is missing, or its value is not one that Kafka writes.
    """
    values: dict[bytes, tuple[bytes, int]] = {}
    for line_number, line in enumerate(text.splitlines(), start=1):
        key, _, value = line.partition(b":")
        values[key.strip()] = (value.strip(), line_number)
    version, version_line = values.get(b"version", (b"", 1))
    topic_id, topic_id_line = values.get(b"topic_id", (b"", 2))
    if _TOPIC_ID.fullmatch(topic_id) is None or topic_id == _TOPIC_ID_NONE:
        raise CheckpointFileError(
            what=f"expected a topic id of 22 letters, found {_shown(topic_id)}",
            line_number=topic_id_line,
        )
    return PartitionMetadata(
        _number(version, "version", version_line, INT_MAX), topic_id.decode("ascii")
    )


def parse_meta_properties(text: bytes) -> BrokerMetadata:
    """Return the content of `meta.properties`; unknown keys are ignored.

    Raises:
        CheckpointFileError: an escape is malformed, the version is unknown, an id is no number, or
            the last line is cut.
    """
    try:
        values = parse_properties(text)
    except MalformedEscapeError as error:
        raise CheckpointFileError(what=str(error), line_number=error.line_number) from error
    version = _number_property(values, "version")
    if version is not None and version not in META_PROPERTIES_VERSIONS:
        raise CheckpointFileError(
            what=f"version {version}, expected 0 or 1", line_number=values["version"].line_number
        )
    broker_id = _number_property(values, "node.id" if version == 1 else "broker.id")
    _require_line_end(text, text.splitlines())
    return BrokerMetadata(
        version=version,
        broker_id=broker_id,
        cluster_id=_text_property(values, "cluster.id"),
        directory_id=_text_property(values, "directory.id"),
        cluster_id_has_blanks=_has_blanks(values, "cluster.id"),
    )


def _entries(text: bytes, fields: tuple[str, ...]) -> list[tuple[int, list[bytes]]]:
    """Return the entries of a checkpoint file: the line number, and one word per field."""
    if not text:
        return []
    lines = text.splitlines()
    version = _number(lines[0], "version", 1, INT_MAX)
    if version != CHECKPOINT_VERSION:
        raise CheckpointFileError(
            what=f"version {version}, expected {CHECKPOINT_VERSION}", line_number=1
        )
    count = _number(lines[1] if len(lines) > 1 else b"", "count of entries", 2, INT_MAX)
    if count != len(lines) - 2:
        raise CheckpointFileError(
            what=f"the count says {count} entries, found {len(lines) - 2}", line_number=2
        )
    entries = [(number, line.split()) for number, line in enumerate(lines[2:], start=3)]
    for number, words in entries:
        if len(words) != len(fields):
            raise CheckpointFileError(
                what=f"expected {', '.join(fields)}; found {_shown(b' '.join(words))}",
                line_number=number,
            )
    _require_line_end(text, lines)
    return entries


def _require_line_end(text: bytes, lines: Sized) -> None:
    """Refuse a file whose last line was cut: what is left of a number or an id looks whole."""
    if text and not text.endswith((b"\n", b"\r")):
        raise CheckpointFileError(what="the file ends inside a line", line_number=len(lines))


def _number(raw: bytes, what: str, line_number: int, largest: int) -> int:
    """Parse a decimal number from 0 to `largest`; neither a sign nor blanks are accepted."""
    if _DECIMAL.fullmatch(raw) is None or int(raw) > largest:
        raise CheckpointFileError(
            what=f"expected {what} from 0 to {largest}, found {_shown(raw)}",
            line_number=line_number,
        )
    return int(raw)


def _number_property(properties: dict[str, Property], key: str) -> int | None:
    """Return the number of a key; None if the file lacks the key."""
    if key not in properties:
        return None
    value, line_number = properties[key]
    raw = value.strip().encode("utf-8", errors="replace")
    return _number(raw, key, line_number, INT_MAX)


def _text_property(properties: dict[str, Property], key: str) -> str | None:
    """Return the value without surrounding blanks; None if it is missing or blank."""
    return properties[key].value.strip() or None if key in properties else None


def _has_blanks(properties: dict[str, Property], key: str) -> bool:
    """Return whether a property has blanks around its value; False if it is only blanks."""
    value = properties[key].value if key in properties else ""
    return value != value.strip() and bool(value.strip())


def _shown(raw: bytes) -> str:
    """Return at most 60 characters of some bytes as text for a message."""
    if raw and not any(raw):
        return f"{len(raw)} zero byte{'s' * (len(raw) > 1)}"
    text = raw.decode("utf-8", errors="replace")
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
