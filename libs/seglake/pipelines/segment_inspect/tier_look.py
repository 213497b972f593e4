"""Inspects folders of a remote tier: one line for each upload, from names and manifests.

No segment is decoded: inspect a single manifest or segment to see its batches.
"""

from collections.abc import Iterator, Sequence

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.read_policy import PLAIN_TIERS
from seglake.kafka_log.remote_segments import Upload
from seglake.log_dirs.tier_keys import TierKeys
from seglake.log_dirs.tier_layouts import KnownUploads, TierFolder
from seglake.log_dirs.tier_segments import read_manifest
from seglake.pipelines.segment_inspect.contents import (
    Content,
    EntryFound,
    FileFound,
    SideFileSummary,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.segment_codec.formats.aiven_tier.errors import TierKeyError
from seglake.segment_codec.formats.aiven_tier.manifest import Manifest
from seglake.storage.storage import Storage


def inspect_tier(
    storage: Storage, folders: Sequence[TierFolder], keys: TierKeys
) -> Iterator[Content]:
    """Yield the uploads in folders of a remote tier, and findings on unreadable uploads.

    Args:
        storage: the storage of the tier and of the keys.
        folders: the folders.
        keys: the private keys.
    """
    for folder in sorted(folders, key=lambda folder: folder.path):
        yield from _folder(storage, folder, keys)


def _folder(storage: Storage, folder: TierFolder, keys: TierKeys) -> Iterator[Content]:
    key = folder.layout.key_of(storage, folder, ())
    uploads = []
    if key is not None:
        uploads = folder.layout.uploads(storage, folder, KnownUploads(key, {}), PLAIN_TIERS)
    size_bytes = sum(entry.size_bytes for entry in folder.entries)
    found = FileFound(folder.path, PathKind.FOLDER, size_bytes, entry_count=len(uploads))
    yield found
    lacking: set[str] = set()
    for upload in sorted(uploads, key=lambda each: (each.start_offset, each.segment_id)):
        manifest = None if upload.unreadable else _manifest(storage, upload)
        fields = {"topic": None, "partition": None} if key is None else key._asdict()
        yield EntryFound({**fields, **_upload(upload), **_chunks(manifest)})
        if upload.unreadable or upload.file is None:
            why = upload.unreadable or f"the tier has no object of segment {upload.segment_id}"
            yield Finding(FindingKind.LEFT_OUT, why, folder.path)
        elif manifest is not None and manifest.encryption is not None:
            yield from _key(storage, folder, manifest, keys, lacking)
    yield SideFileSummary(found)


def _manifest(storage: Storage, upload: Upload) -> Manifest | None:
    """Return the manifest of an upload; None in a layout without manifests."""
    remote = None if upload.file is None else upload.file.remote
    if remote is None or remote.manifest_path is None:
        return None
    return read_manifest(storage, remote.manifest_path, remote.manifest_bytes)


def _upload(upload: Upload) -> dict[str, object]:
    remote = None if upload.file is None else upload.file.remote
    return {
        "segment_id": upload.segment_id,
        "start_offset": upload.start_offset,
        "next_offset": upload.next_offset,
        "leader_epochs": " ".join(f"{e.epoch}:{e.start_offset}" for e in upload.epochs),
        "stored_bytes": None if remote is None else remote.stored_bytes,
    }


def _chunks(manifest: Manifest | None) -> dict[str, object]:
    """Return how a segment is stored in chunks; for its encryption, only the key's id."""
    if manifest is None:
        return {}
    return {
        "size_bytes": manifest.chunks.size_bytes,
        "chunks": len(manifest.chunks),
        "chunk_bytes": manifest.chunks.chunk_bytes,
        "compressed": manifest.is_compressed,
        "key_id": None if manifest.encryption is None else manifest.encryption.key_id,
    }


def _key(
    storage: Storage, folder: TierFolder, manifest: Manifest, keys: TierKeys, lacking: set[str]
) -> Iterator[Finding]:
    """Yield a finding for each missing key without which a folder's segments are unreadable."""
    encryption = manifest.encryption
    if encryption is None or encryption.key_id in lacking:
        return
    try:
        keys.decryption(storage, encryption)
    except TierKeyError as error:
        lacking.add(encryption.key_id)
        yield Finding(FindingKind.NO_KEY, f"{folder.path} is not read: {error}", folder.path)
