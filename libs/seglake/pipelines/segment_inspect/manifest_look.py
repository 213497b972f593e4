"""Inspects a segment in Aiven's tiered storage by its manifest.

Chunks are decoded as they are read. A chunk that cannot be decoded is shown as damage of the
original segment, at the chunk's position.
"""

from collections.abc import Iterator

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.replica import NO_CHECKPOINTS, RemoteObject, SegmentFile
from seglake.log_dirs.tier_keys import TierKeys
from seglake.log_dirs.tier_segments import read_manifest
from seglake.pipelines.segment_inspect.batch_facts import Origin
from seglake.pipelines.segment_inspect.contents import (
    Content,
    EntryFound,
    FileFound,
    LogSummary,
    SideFileSummary,
)
from seglake.pipelines.segment_inspect.log_scan import LogScan
from seglake.pipelines.segment_inspect.partition_log import (
    UNKNOWN_PARTITION,
    Partition,
    SegmentPlace,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.shown_part import ShownPart
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.segment_codec.formats.aiven_tier.errors import TierKeyError, TierObjectError
from seglake.segment_codec.formats.aiven_tier.manifest import Manifest
from seglake.segment_codec.formats.side_files.tier_names import (
    ObjectFile,
    ObjectKind,
    object_file,
)
from seglake.segment_codec.walk.segment_bounds import limit_after
from seglake.storage.storage import FileInfo, Storage


def inspect_manifest(
    storage: Storage, info: FileInfo, keys: TierKeys, shown: ShownPart
) -> Iterator[Content]:
    """Yield a manifest, then the contents of its segment.

    Args:
        storage: the storage of the tier and of the keys.
        info: the manifest.
        keys: the private keys.
        shown: the part to show.
    """
    name = object_file(info.name)
    base_offset = None if name is None else name.start_offset
    found = FileFound(info.path, PathKind.RSM_MANIFEST, info.size_bytes, base_offset)
    try:
        manifest = read_manifest(storage, info.path, info.size_bytes)
    except TierObjectError as error:
        damaged = FileFound(info.path, found.kind, found.size_bytes, base_offset, damage=str(error))
        yield from (damaged, SideFileSummary(damaged))
        return
    yield from (found, EntryFound(_fields(manifest)))
    stored = _stored(storage, info, name, manifest, keys)
    if isinstance(stored, Finding):
        yield from (stored, LogSummary(info.path, PathKind.RSM_MANIFEST, Totals()))
    else:
        yield from _segment(storage, info, *stored, manifest, keys, shown)


def _stored(
    storage: Storage, info: FileInfo, name: ObjectFile | None, manifest: Manifest, keys: TierKeys
) -> tuple[ObjectFile, FileInfo] | Finding:
    """Return the object of the manifest's segment, or why it cannot be read."""
    if name is None:
        text = f"{info.name} is not the name of an object, so its segment is unknown"
        return Finding(FindingKind.LEFT_OUT, text, info.path)
    path = storage.join(info.path.rpartition("/")[0] or "/", name.sibling(ObjectKind.LOG))
    stored = storage.info(path)
    if stored is None:
        return Finding(FindingKind.LEFT_OUT, f"the object {path} does not exist", path)
    try:
        if manifest.encryption is not None:
            keys.decryption(storage, manifest.encryption)
    except TierKeyError as error:
        return Finding(FindingKind.NO_KEY, f"{path} is not read: {error}", path)
    return name, stored


def _segment(
    storage: Storage,
    info: FileInfo,
    name: ObjectFile,
    stored: FileInfo,
    manifest: Manifest,
    keys: TierKeys,
    shown: ShownPart,
) -> Iterator[Content]:
    """Yield the contents of the segment in a tier's object."""
    base_offset, size_bytes = name.start_offset, manifest.chunks.size_bytes
    remote = RemoteObject(
        name.segment_id,
        manifest_path=info.path,
        key_paths=keys.paths,
        stored_bytes=stored.size_bytes,
        manifest_bytes=info.size_bytes,
    )
    file = SegmentFile(base_offset, stored.path, stored.name, size_bytes, None, remote=remote)
    owner = manifest.owner
    partition, limit_offset = UNKNOWN_PARTITION, limit_after(base_offset, 0)
    if owner is not None:
        origin = Origin(None, owner.topic_id, owner.topic, owner.partition, owner.broker_id)
        partition, limit_offset = Partition(origin, NO_CHECKPOINTS), owner.end_offset + 1
    scan = LogScan(storage, partition, first_offset=base_offset, log_start_offset=0, shown=shown)
    yield from scan.segment(SegmentPlace(file, limit_offset, is_last=False))
    expected = manifest.chunks.stored_bytes
    if stored.size_bytes != expected:
        text = f"{stored.name} has {stored.size_bytes} bytes, its manifest says {expected}"
        yield Finding(FindingKind.DAMAGED_FILE, text, stored.path)
    yield from scan.finish(info.path, PathKind.RSM_MANIFEST, None)


def _fields(manifest: Manifest) -> dict[str, object]:
    """Return the contents of a manifest by name; for the encryption only the key id."""
    owner, chunks = manifest.owner, manifest.chunks
    fields: dict[str, object] = {}
    if owner is not None:
        fields = {
            "topic": owner.topic,
            "partition": owner.partition,
            "topic_id": owner.topic_id,
            "segment_id": owner.segment_id,
            "start_offset": owner.start_offset,
            "end_offset": owner.end_offset,
            "broker_id": owner.broker_id,
            "leader_epochs": " ".join(f"{e.epoch}:{e.start_offset}" for e in owner.epochs),
        }
    return {
        **fields,
        "size_bytes": chunks.size_bytes,
        "chunks": len(chunks),
        "chunk_bytes": chunks.chunk_bytes,
        "stored_bytes": chunks.stored_bytes,
        "compressed": manifest.is_compressed,
        "key_id": None if manifest.encryption is None else manifest.encryption.key_id,
    }
