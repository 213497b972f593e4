"""Opens segments on brokers' disks and in remote tiers.

Byte positions are always positions in the original segment, so callers need not know where it is
stored.
"""

from dataclasses import replace
from typing import Self

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.small_files import open_file
from seglake.log_dirs.tier_keys import TierKeys
from seglake.log_dirs.tier_segments import (
    manifest_at,
    manifest_content,
    open_chunked,
)
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.storage.storage import Reader, Storage


class BegunSegment:
    """Reader of the first bytes of a segment; another segment continues the log after them."""

    def __init__(self, reader: Reader, stop_position: int) -> None:
        """Store the reader of the whole segment; this reader will close it.

        Args:
            reader: reader of the whole segment.
            stop_position: number of bytes to read.
        """
        self._reader = reader
        self._size_bytes = min(reader.size_bytes, stop_position)

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes up to the stop position."""
        return self._size_bytes

    @property
    def wrapped(self) -> object:
        """Return the reader of the whole segment."""
        return self._reader

    def read(self, position: int, length: int) -> bytes:
        """Return bytes below the stop position; see `Reader.read`."""
        return self._reader.read(position, max(min(length, self._size_bytes - position), 0))

    def __enter__(self) -> Self:
        """Return the reader itself."""
        self._reader.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the reader of the whole segment."""
        self._reader.__exit__(*raised)


def with_manifest(storage: Storage, file: SegmentFile) -> SegmentFile:
    """Return a segment with the content of its manifest, if it has one, which is read once.

    Raises:
        StorageError: the manifest cannot be read.
        TierObjectError: it is too large to be one.
    """
    remote = file.remote
    if remote is None or remote.manifest_path is None or remote.manifest is not None:
        return file
    content = manifest_content(storage, remote.manifest_path, remote.manifest_bytes)
    return file._replace(remote=replace(remote, manifest=content))


def open_segment(storage: Storage, file: SegmentFile) -> Reader:
    """Open a segment for reads at original positions; use it in a `with` block.

    Args:
        storage: storage of the segment.
        file: the segment as it was listed.

    Raises:
        StorageError: the segment, or its manifest, cannot be read.
        TierObjectError: its manifest is damaged, or a key is missing.
    """
    remote = with_manifest(storage, file).remote
    if remote is None:
        return storage.open_reader(file.path)
    reader: Reader
    if remote.manifest_path is None or remote.manifest is None:
        reader = open_file(storage, file.path, remote.stored_bytes)
    else:
        manifest = manifest_at(remote.manifest_path, remote.manifest)
        found = manifest.chunks.size_bytes
        if remote.stop_position is None and found != file.size_bytes:
            raise TierObjectError(
                f"{remote.manifest_path} describes a segment of {found} bytes, expected "
                f"{file.size_bytes}"
            )
        keys = TierKeys(remote.key_paths)
        reader = open_chunked(storage, file.path, manifest, keys, remote.stored_bytes)
    if remote.stop_position is None:
        return reader
    return BegunSegment(reader, remote.stop_position)
