"""Names of files that have a log's records but cannot be read as they are.

Somebody compressed a segment or packed a folder, or a remote tier has copies under its own names::

    <20 digits>.log.<gz, zst, ...>       one segment, compressed
    <anything>.<tar, tar.gz, zip, ...>   an archive
    <20 digits>-<22 characters>.<suffix> an object of a remote tier; the characters are an id

Two tiers are known: Apache Kafka's own LocalTieredStorage, in folders
`<topic>-<partition>-<topic id>`, and Aiven's plugin, in `<topic>-<topic id>/<partition>`.

Source: apache/kafka 1eb7644, RemoteLogSegmentFileset; Aiven tiered-storage 8fb1581,
ObjectKeyFactory.
"""

import re
from functools import lru_cache

from seglake.segment_codec.formats.side_files.known_names import DIGIT, Place, is_segment_like
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FileState,
    SegmentFileName,
    TopicPartition,
    parse_file_name,
    parse_folder_name,
)

_COMPRESSED = re.compile(r"(.+)\.(?:gz|zst|zstd|bz2|xz|lz4|lzma|lzo|sz|snappy|br|Z|zip|7z)")
_ARCHIVE = re.compile(
    r"(.+?)\.(?:tar(?:\.[A-Za-z0-9]{1,5})?|tgz|tbz2?|txz|tzst|zip|7z|rar|cpio(?:\.[a-z0-9]{1,4})?)"
)
_TIER_OBJECT = re.compile(
    rf"{DIGIT}{{20}}-[A-Za-z0-9_-]{{22}}\."
    r"(?:log|index|timeindex|txnindex|snapshot|leader_epoch_checkpoint|indexes|rsm-manifest)"
)
_TOPIC_ID = re.compile(r"(.+)-[A-Za-z0-9_-]{22}")


@lru_cache(1 << 12)
def parse_compressed_name(name: str) -> SegmentFileName | None:
    """Return the name that a segment had before it was compressed; None for any other file.

    >>> str(parse_compressed_name("00000000000000000042.log.gz"))
    '00000000000000000042.log'
    """
    match = _COMPRESSED.fullmatch(name)
    file = None if match is None else parse_file_name(match[1])
    if file is None or file.kind is not FileKind.LOG or file.state is not FileState.LIVE:
        return None
    return file


@lru_cache(1 << 12)
def parse_archive_name(name: str) -> str | None:
    """Return the name of an archive without its suffix; None for any other file.

    >>> parse_archive_name("orders-0.tar.gz"), parse_archive_name("00000000000000000042.log")
    ('orders-0', None)
    """
    match = _ARCHIVE.fullmatch(name)
    return None if match is None or parse_compressed_name(name) is not None else match[1]


def is_renamed_segment(place: Place, name: str) -> bool:
    """Return whether a file may be a segment under a name that no broker gives."""
    return (
        is_segment_like(place, name)
        and parse_file_name(name) is None
        and parse_compressed_name(name) is None
        and parse_archive_name(name) is None
        and not is_tier_object(name)
    )


def is_tier_object(name: str) -> bool:
    """Return whether a remote tier names its objects so."""
    return _TIER_OBJECT.fullmatch(name) is not None


def parse_tier_folder(parent: str, name: str) -> TopicPartition | None:
    """Return the partition whose objects a folder of a remote tier has; None for any other folder.

    Args:
        parent: name of the folder above.
        name: name of the folder.
    """
    if match := _TOPIC_ID.fullmatch(name):
        folder = parse_folder_name(match[1])
        return None if folder is None else TopicPartition(folder.topic, folder.partition)
    match = _TOPIC_ID.fullmatch(parent)
    folder = None if match is None else parse_folder_name(f"{match[1]}-{name}")
    return None if folder is None else TopicPartition(folder.topic, folder.partition)
