"""Opens segments in a remote tier by their manifests."""

from seglake.log_dirs.chunked_reader import ChunkedReader
from seglake.log_dirs.small_files import open_file
from seglake.log_dirs.tier_keys import TierKeys
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.aiven_tier.manifest import (
    MOST_BYTES,
    Manifest,
    SegmentOwner,
    parse_manifest,
)
from seglake.segment_codec.formats.side_files.tier_names import (
    object_file,
    partition_folder,
    topic_folder,
)
from seglake.storage.storage import Storage

MOST_CHUNK_BYTES = 64 << 20
"""Highest accepted size of an encoded chunk, in bytes of the original segment.

It is not a setting: the plugin's default is 4 MiB, and a task has several chunks in memory at once,
so larger chunks would exceed the memory planned for a task.
"""


MOST_KEPT_BYTES = 16 << 10
"""Highest size of a manifest that one step of a run hands on to the next ones.

Manifests have some 2 KB. Larger ones, with very many chunks, are read again by each step.
"""


def read_manifest(storage: Storage, path: str, listed_bytes: int | None = None) -> Manifest:
    """Read a manifest, and check that it belongs to the segment in the file's name.

    Args:
        storage: the storage of the manifest.
        path: path of the manifest.
        listed_bytes: size of the manifest in the listing; None if unknown.

    Raises:
        TierObjectError: the file is no manifest of a known version, contradicts itself, or belongs
            to another segment.
        StorageError: the file cannot be read.
    """
    return manifest_at(path, manifest_content(storage, path, listed_bytes))


def manifest_content(storage: Storage, path: str, listed_bytes: int | None) -> bytes:
    """Read a manifest without parsing it; see `read_manifest`."""
    with open_file(storage, path, listed_bytes) as reader:
        if reader.size_bytes > MOST_BYTES:
            raise TierObjectError(f"{reader.size_bytes} bytes, more than a manifest can have")
        return reader.read(0, reader.size_bytes)


def manifest_at(path: str, content: bytes) -> Manifest:
    """Parse the manifest with this path, and check its owner; see `read_manifest`."""
    manifest = parse_manifest(content)
    if manifest.owner is not None:
        _check_owner(path, manifest.owner)
    return manifest


def kept(content: bytes | None) -> bytes | None:
    """Return a manifest's content for the next steps of the run; None if it is too large."""
    return content if content is not None and len(content) <= MOST_KEPT_BYTES else None


def _check_owner(path: str, owner: SegmentOwner) -> None:
    """Raise TierObjectError if a manifest belongs to another segment than its path."""
    *_, above, folder, name = ["", "", *path.split("/")]
    topic, file = topic_folder(above), object_file(name)
    claimed: tuple[object, ...] = (owner.segment_id, owner.start_offset)
    found: tuple[object, ...] = claimed if file is None else (file.segment_id, file.start_offset)
    if topic is not None and partition_folder(folder) is not None:
        claimed += (owner.topic_id, owner.partition)
        found += (topic.topic_id, partition_folder(folder))
    if claimed != found:
        raise TierObjectError(
            f"it belongs to segment {owner.segment_id} of {owner.topic}-{owner.partition} at offset"
            f" {owner.start_offset}"
        )


def open_chunked(
    storage: Storage,
    path: str,
    manifest: Manifest,
    keys: TierKeys,
    listed_bytes: int | None = None,
) -> ChunkedReader:
    """Open a segment that is stored in chunks, to read it at positions of the original segment.

    Args:
        storage: the storage of the object and of the keys.
        path: path of the object with the segment's bytes.
        manifest: manifest of the segment.
        keys: the private keys.
        listed_bytes: size of the object in the listing; None if unknown.

    Raises:
        TierKeyError: the key is missing, or does not decrypt the segment.
        TierObjectError: a chunk is too large to be decoded.
        StorageError: the object cannot be opened.
    """
    chunks = manifest.chunks
    chunk_bytes = min(chunks.chunk_bytes, chunks.size_bytes)
    if chunk_bytes > MOST_CHUNK_BYTES and not manifest.is_plain:
        raise TierObjectError(
            f"the chunks have {chunk_bytes} bytes, at most {MOST_CHUNK_BYTES} are supported"
        )
    encryption = manifest.encryption
    decrypt = None if encryption is None else keys.decryption(storage, encryption)
    return ChunkedReader(open_file(storage, path, listed_bytes), manifest, decrypt)
