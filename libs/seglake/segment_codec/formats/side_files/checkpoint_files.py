"""Small text files of a log dir and of its partition folders.

Offset checkpoints and leader epochs, UTF-8, one item a line::

    0                           version
    2                           count of the lines that follow
    orders 0 1234               topic, partition, offset
    orders 1 987                (in leader-epoch-checkpoint: epoch, start offset)

`partition.metadata`, one `key: value` a line::

    version: 0
    topic_id: AAAAAAAAAAAAAAAAAAAAAQ

`meta.properties` holds Java properties: version, cluster.id, directory.id, and broker.id (version
0) or node.id (version 1).

The readers here are stricter than Kafka's: they refuse content that Kafka never writes instead of
guessing, because a misread number moves the bounds of an ingest. An empty file is valid and has no
entries: a broker leaves one if it is stopped between creating the file and writing it.

Source: apache/kafka 1eb7644, CheckpointFile.java, OffsetCheckpointFile, LeaderEpochCheckpointFile,
PartitionMetadataFile, MetaProperties.java.
"""

import re
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
_TOPIC_ID = re.compile(rb"[A-Za-z0-9_-]{21}[AQgw]")  # the last four bits of 22 letters are unused
_TOPIC_ID_NONE = b"A" * 22


class EpochStart(NamedTuple):
    """A leader epoch and the first record offset written in it."""

    epoch: int
    start_offset: int


class PartitionMetadata(NamedTuple):
    """Content of `partition.metadata`; `topic_id` is 16 bytes as 22 letters of URL-safe base64."""

    version: int
    topic_id: str


class BrokerMetadata(NamedTuple):
    """Identity of a log dir; None for values that the file lacks.

    Attributes:
        cluster_id_has_blanks: blanks surround the cluster id; Kafka counts them as part of it.
    """

    version: int | None
    broker_id: int | None
    cluster_id: str | None
    directory_id: str | None
    cluster_id_has_blanks: bool = False


class CheckpointFileError(SegmentCodecError):
    """A text file of the log dir has content that Kafka never writes."""

    def __init__(self, *, what: str, line_number: int) -> None:
        """Keep the facts as attributes.

        Args:
            what: the fault, in words.
            line_number: number of the line, from 1.
        """
        self.what = what
        self.line_number = line_number
        super().__init__(f"line {line_number}: {what}")


def parse_offset_checkpoint(text: bytes) -> dict[TopicPartition, int]:
    r"""Return the offsets in any of the four offset checkpoint files.

    >>> parse_offset_checkpoint(b"0\n1\norders 0 1234\n")
    {TopicPartition(topic='orders', partition=0): 1234}

    Raises:
        CheckpointFileError: another version, another count, a malformed or repeated entry.
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
            raise CheckpointFileError(
                what=f"{topic}-{partition} comes a second time", line_number=number
            )
        offsets[key] = _number(raw_offset, "offset", number, LONG_MAX)
    return offsets


def parse_leader_epochs(text: bytes) -> tuple[EpochStart, ...]:
    r"""Return the entries of `leader-epoch-checkpoint`: epochs rise, start offsets never fall.

    Entries at and above the log's end may be stale: truncation reaches this file late.

    >>> parse_leader_epochs(b"0\n2\n0 0\n3 987\n")
    (EpochStart(epoch=0, start_offset=0), EpochStart(epoch=3, start_offset=987))

    Raises:
        CheckpointFileError: another version, another count, a malformed entry, another order.
    """
    epochs: list[EpochStart] = []
    for number, (raw_epoch, raw_start_offset) in _entries(text, ("epoch", "start offset")):
        epoch = _number(raw_epoch, "epoch", number, INT_MAX)
        start_offset = _number(raw_start_offset, "start offset", number, LONG_MAX)
        if epochs and (epoch <= epochs[-1].epoch or start_offset < epochs[-1].start_offset):
            what = f"epoch {epoch} from offset {start_offset} does not follow {epochs[-1]}"
            raise CheckpointFileError(what=what, line_number=number)
        epochs.append(EpochStart(epoch, start_offset))
    return tuple(epochs)


def parse_partition_metadata(text: bytes) -> PartitionMetadata:
    """Return the content of `partition.metadata`; accept versions above 0 and further keys.

    Raises:
        CheckpointFileError: a key is missing, or Kafka never writes its value.
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
    """Return the content of `meta.properties`; ignore keys that Kafka does not write.

    Raises:
        CheckpointFileError: a malformed escape, an unknown version, an id that is no number.
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
    return BrokerMetadata(
        version=version,
        broker_id=_number_property(values, "node.id" if version == 1 else "broker.id"),
        cluster_id=_text_property(values, "cluster.id"),
        directory_id=_text_property(values, "directory.id"),
        cluster_id_has_blanks=_has_blanks(values, "cluster.id"),
    )


def _entries(text: bytes, fields: tuple[str, ...]) -> list[tuple[int, list[bytes]]]:
    """Return the lines after version and count: number and words, one word per field."""
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
            what=f"{count} entries promised, {len(lines) - 2} found", line_number=2
        )
    entries = [(number, line.split()) for number, line in enumerate(lines[2:], start=3)]
    for number, words in entries:
        if len(words) != len(fields):
            raise CheckpointFileError(
                what=f"expected {', '.join(fields)}; found {_shown(b' '.join(words))}",
                line_number=number,
            )
    return entries


def _number(raw: bytes, what: str, line_number: int, largest: int) -> int:
    """Return a decimal number from 0 to `largest`, without sign or blanks."""
    if _DECIMAL.fullmatch(raw) is None or int(raw) > largest:
        raise CheckpointFileError(
            what=f"expected {what} from 0 to {largest}, found {_shown(raw)}",
            line_number=line_number,
        )
    return int(raw)


def _number_property(properties: dict[str, Property], key: str) -> int | None:
    """Return the number of a key, None if the file lacks it."""
    if key not in properties:
        return None
    value, line_number = properties[key]
    raw = value.strip().encode("utf-8", errors="replace")
    return _number(raw, key, line_number, INT_MAX)


def _text_property(properties: dict[str, Property], key: str) -> str | None:
    """Return the value without surrounding blanks; None if nothing is left."""
    return properties[key].value.strip() or None if key in properties else None


def _has_blanks(properties: dict[str, Property], key: str) -> bool:
    """Return whether blanks surround a value that is not blank."""
    value = properties[key].value if key in properties else ""
    return value != value.strip() and bool(value.strip())


def _shown(raw: bytes) -> str:
    """Return bytes as printable text for a message, cut short."""
    if raw and not any(raw):
        return f"{len(raw)} zero byte{'s' * (len(raw) > 1)}"
    text = raw.decode("utf-8", errors="replace")
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
