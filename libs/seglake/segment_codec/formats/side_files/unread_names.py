"""Recognises names of files with records that cannot be read in their present form.

A user has compressed a segment or archived a folder, or another system uses its own names (for
names in remote tiers with Kafka's segments, see `tier_names`)::

    <20 digits>.log.<gz, zst, ...>       one segment, compressed
    <anything>.<tar, tar.gz, zip, ...>   an archive
    <anything>.tierstate                 state of a partition in Confluent's tiered storage
    <offset>-<term>-v<version>.log       a segment of Redpanda; on S3 also sizes and another term
"""

import re
from functools import lru_cache

from seglake.segment_codec.formats.side_files.known_names import Place, is_segment_like
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FileState,
    SegmentFileName,
    parse_file_name,
)
from seglake.segment_codec.formats.side_files.tier_names import is_tier_object

_COMPRESSED = re.compile(r"(.+)\.(?:gz|zst|zstd|bz2|xz|lz4|lzma|lzo|sz|snappy|br|Z|zip|7z)")
_ARCHIVE = re.compile(
    r"(.+?)\.(?:tar(?:\.[A-Za-z0-9]{1,5})?|tgz|tbz2?|txz|tzst|zip|7z|rar|cpio(?:\.[a-z0-9]{1,4})?)"
)
_CONFLUENT_STATE = re.compile(r".+\.tierstate")
_REDPANDA_SEGMENT = re.compile(r"\d+-\d+-(?:\d+-\d+-)?v\d+\.log(?:\.\d+)?")


@lru_cache(1 << 12)
def parse_compressed_name(name: str) -> SegmentFileName | None:
    """Return the original name of a compressed segment; None for any other name.

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
    """Return the name of an archive without its suffix; None for any other name.

    >>> parse_archive_name("orders-0.tar.gz"), parse_archive_name("00000000000000000042.log")
    ('orders-0', None)
    """
    match = _ARCHIVE.fullmatch(name)
    return None if match is None or parse_compressed_name(name) is not None else match[1]


def is_renamed_segment(place: Place, name: str) -> bool:
    """Return whether a file may be a segment whose name was changed."""
    return (
        is_segment_like(place, name)
        and parse_file_name(name) is None
        and parse_compressed_name(name) is None
        and parse_archive_name(name) is None
        and not is_tier_object(name)
    )


def is_confluent_state(name: str) -> bool:
    """Return whether a file is a partition's state file of Confluent's tiered storage."""
    return _CONFLUENT_STATE.fullmatch(name) is not None


def is_redpanda_segment(name: str) -> bool:
    """Return whether a name is that of a Redpanda segment, on a disk or on S3."""
    return _REDPANDA_SEGMENT.fullmatch(name) is not None
