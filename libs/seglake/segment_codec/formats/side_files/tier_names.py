"""Parses the names of folders and files in remote tiers.

Aiven's plugin; parsed from the right, since `key.prefix` may be any text, without a separator::

    <prefix><topic>-<topic id>/<partition>/<20 digits: start offset>-<segment id>.<suffix>

Apache Kafka's own LocalTieredStorage, and a plugin for HDFS with one file for a segment::

    <topic>-<partition>-<topic id>/<20 digits: start offset>-<segment id>.<suffix>
    <topic>-<partition>-<topic id>/<segment id>

An id is 16 bytes in URL-safe base64 without padding, so 22 characters, which may include `-` and
`_`. A prefix without a slash cannot be separated from the topic's name: the manifest has the name.

Source: Aiven-Open/tiered-storage-for-apache-kafka 8fb1581, ObjectKeyFactory.java; apache/kafka
1eb7644, LocalTieredStorage.java and RemoteLogSegmentFileset.java.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from seglake.segment_codec.formats.side_files.known_names import DIGIT
from seglake.segment_codec.formats.side_files.log_dir import TopicPartition, parse_folder_name

_ID = "[A-Za-z0-9_-]{22}"
_UUID = re.compile(_ID)
_FOLDER = re.compile(rf"(.+)-({_ID})")
_PARTITION = re.compile(r"[0-9]{1,10}")
_FILE = re.compile(rf"([0-9]{{20}})-({_ID})\.(log|indexes|rsm-manifest)")
_LOCAL_FILE = re.compile(rf"({DIGIT}{{20}})-({_ID})(\.[a-z_]+)")
_OBJECT = re.compile(
    rf"{DIGIT}{{20}}-{_ID}\."
    r"(?:log|index|timeindex|txnindex|snapshot|leader_epoch_checkpoint|indexes|rsm-manifest)"
)
_MOST = {"partition": (1 << 31) - 1, "offset": (1 << 63) - 1}


class ObjectKind(StrEnum):
    """Kind of an object, by suffix; the manifest is uploaded last."""

    LOG = "log"
    INDEXES = "indexes"
    MANIFEST = "rsm-manifest"


class ObjectFile(NamedTuple):
    """Name of an object, without its folders."""

    start_offset: int
    segment_id: str
    kind: ObjectKind

    @property
    def stem(self) -> str:
        """Return the name without its suffix."""
        return f"{self.start_offset:020d}-{self.segment_id}"

    def sibling(self, kind: ObjectKind) -> str:
        """Return the name of the segment's object of another kind."""
        return f"{self.stem}.{kind}"


class TopicFolder(NamedTuple):
    """Name of a topic's folder, as topic (after a prefix, if `key.prefix` has one) and topic id."""

    prefixed_topic: str
    topic_id: str


class LocalFile(NamedTuple):
    """Name of a file of LocalTieredStorage, without its folder; the suffix begins with a dot."""

    start_offset: int
    segment_id: str
    suffix: str


class LocalFolder(NamedTuple):
    """Name of a partition's folder in LocalTieredStorage."""

    topic: str
    partition: int
    topic_id: str


def is_uuid(text: str) -> bool:
    """Return whether a text has the form of Kafka's ids, such as those of topics and clusters."""
    return _UUID.fullmatch(text) is not None


def local_file(name: str) -> LocalFile | None:
    """Parse the name of a file of LocalTieredStorage; return None for any other name."""
    found = _LOCAL_FILE.fullmatch(name)
    return None if found is None else LocalFile(int(found[1]), found[2], found[3])


def local_folder(name: str) -> LocalFolder | None:
    """Parse the name of a folder of LocalTieredStorage; return None for any other name.

    >>> local_folder("a-b-3-BGL1s22hRCS3TSXe7CKMuw")
    LocalFolder(topic='a-b', partition=3, topic_id='BGL1s22hRCS3TSXe7CKMuw')
    """
    found = _FOLDER.fullmatch(name)
    folder = None if found is None else parse_folder_name(found[1])
    if found is None or folder is None:
        return None
    return LocalFolder(folder.topic, folder.partition, found[2])


def is_tier_object(name: str) -> bool:
    """Return whether a name is that of an object in a remote tier."""
    return _OBJECT.fullmatch(name) is not None


def is_hdfs_segment(folder: str, name: str) -> bool:
    """Return whether a file is a segment with its indexes, as a plugin for HDFS writes them.

    Args:
        folder: name of the file's folder.
        name: name of the file.
    """
    return local_folder(folder) is not None and is_uuid(name)


def parse_tier_folder(parent: str, name: str) -> TopicPartition | None:
    """Return the partition of a folder in a remote tier; None for any other folder.

    Args:
        parent: name of the folder above.
        name: name of the folder.
    """
    if (own := local_folder(name)) is not None:
        return TopicPartition(own.topic, own.partition)
    topic = topic_folder(parent)
    folder = None if topic is None else parse_folder_name(f"{topic.prefixed_topic}-{name}")
    return None if folder is None else TopicPartition(folder.topic, folder.partition)


def object_file(name: str) -> ObjectFile | None:
    """Parse the name of an object; return None for any other name.

    >>> object_file("00000000000000000300-MXJR_vY4Rn-A0m6NdrghMQ.log")
    ObjectFile(start_offset=300, segment_id='MXJR_vY4Rn-A0m6NdrghMQ', kind=<ObjectKind.LOG: 'log'>)
    """
    found = _FILE.fullmatch(name)
    if found is None or int(found[1]) > _MOST["offset"]:
        return None
    return ObjectFile(int(found[1]), found[2], ObjectKind(found[3]))


def partition_folder(name: str) -> int | None:
    """Return the partition in a folder's name; None for any other name."""
    if not _PARTITION.fullmatch(name) or int(name) > _MOST["partition"]:
        return None
    return int(name) if name == str(int(name)) else None


def topic_folder(name: str) -> TopicFolder | None:
    """Parse the name of a topic's folder; return None for any other name.

    >>> topic_folder("kp-plain-BGL1s22hRCS3TSXe7CKMuw")
    TopicFolder(prefixed_topic='kp-plain', topic_id='BGL1s22hRCS3TSXe7CKMuw')
    """
    found = _FOLDER.fullmatch(name)
    return None if found is None else TopicFolder(found[1], found[2])
