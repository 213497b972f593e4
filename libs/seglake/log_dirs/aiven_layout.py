"""Layout of Aiven's tiered storage; reads manifests of uploads without events."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, pairwise
from typing import NamedTuple, Self

from seglake.kafka_log.read_policy import TierPolicy
from seglake.kafka_log.remote_events import RemoteCopy
from seglake.kafka_log.remote_segments import Upload
from seglake.kafka_log.replica import PartitionKey, RemoteObject, SegmentFile
from seglake.log_dirs.tier_layouts import KnownUploads, TierFolder, described
from seglake.log_dirs.tier_segments import kept, manifest_at, manifest_content, read_manifest
from seglake.segment_codec.formats.aiven_tier.custom_metadata import custom_metadata
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.aiven_tier.manifest import Manifest
from seglake.segment_codec.formats.errors import MessageError
from seglake.segment_codec.formats.side_files.tier_names import (
    ObjectFile,
    ObjectKind,
    TopicFolder,
    object_file,
    partition_folder,
    topic_folder,
)
from seglake.storage.many_requests import each
from seglake.storage.storage import FileInfo, Storage


class _Objects(NamedTuple):
    """Objects of one upload.

    Attributes:
        following: start offset of the folder's next upload.
    """

    name: ObjectFile
    files: dict[ObjectKind, FileInfo]
    following: int

    def with_log(self, log: FileInfo | None) -> Self:
        """Return the upload with a `.log` that lies elsewhere; unchanged for None."""
        return self if log is None else self._replace(files={**self.files, ObjectKind.LOG: log})


class AivenLayout:
    """Layout of Aiven's plugin: a segment is stored in chunks; a manifest has their positions."""

    def holds(self, path: str, entries: Sequence[FileInfo]) -> bool:
        """Return whether the names of a folder and its files are like those of the plugin."""
        return _names(path) is not None and any(
            object_file(entry.name) is not None for entry in entries if not entry.is_folder
        )

    def tier_of(self, path: str) -> str:
        """Return the path of the tier: the parent of the topic's folder."""
        return path.rstrip("/").rsplit("/", 2)[0]

    def has_name(self, folder: TierFolder) -> bool:
        """Return whether the topic's name can be found: the folder has a manifest."""
        return any(ObjectKind.MANIFEST in found.files for found in _objects(folder.entries))

    def key_of(
        self, storage: Storage, folder: TierFolder, known: Iterable[PartitionKey]
    ) -> PartitionKey:
        """Return the known partition with the folder's ids, or the partition in its manifest.

        If neither exists, return the partition in the folder's name. The name may begin with the
        plugin's `key.prefix`.
        """
        named = _named_key(folder.path)
        for key in known:
            if (key.topic_id, key.partition) == (named.topic_id, named.partition):
                return key
        for found in _objects(folder.entries):
            entry = found.files.get(ObjectKind.MANIFEST)
            try:
                owner = None if entry is None else _manifest(storage, entry).owner
            except TierObjectError:
                continue
            if owner is not None:
                return PartitionKey(owner.topic, owner.partition, owner.topic_id)
        return named

    def uploads(
        self, storage: Storage, folder: TierFolder, known: KnownUploads, policy: TierPolicy
    ) -> list[Upload]:
        """Return one upload for each segment that has a manifest or a `.log`."""
        objects = [*_objects(folder.entries)]
        files = [_segment(storage, folder, found, policy) for found in objects]
        has_manifest = (ObjectKind.MANIFEST in found.files for found in objects)
        starts = (found.name.start_offset for found in objects)
        settled = known.settled_uploads(filter(None, compress(files, has_manifest)), starts)
        own_folders = _folders(known.key)

        def upload(objects_file: tuple[_Objects, SegmentFile | None]) -> Upload:
            found, file = objects_file
            copy = known.copies.get(found.name.segment_id)
            if file is None and copy is not None:
                log = _elsewhere(storage, folder, f"{own_folders}/{found.name.stem}", copy)
                file = _segment(storage, folder, found.with_log(log), policy)
            problem = "" if ObjectKind.MANIFEST in found.files else _no_manifest(folder, found)
            if copy is not None:
                file = None if file is None else file._replace(size_bytes=copy.size_bytes)
                return described(copy, file, problem)
            if file is not None and file.path in settled:
                return settled[file.path]
            return _undescribed(storage, found, file, problem)

        return each(upload, [*zip(objects, files, strict=True)], storage=storage, path=folder.path)


def _names(path: str) -> tuple[TopicFolder, int] | None:
    """Return topic and partition in the path of a folder; None if the path has none."""
    above, _, name = path.rstrip("/").rpartition("/")
    topic, partition = topic_folder(above.rpartition("/")[2]), partition_folder(name)
    return None if topic is None or partition is None else (topic, partition)


def _named_key(path: str) -> PartitionKey:
    """Return the partition by the names of a folder and its parent."""
    names = _names(path)
    if names is None:
        raise ValueError(path)
    topic, partition = names
    return PartitionKey(topic.prefixed_topic, partition, topic.topic_id)


def _objects(entries: Sequence[FileInfo]) -> Iterator[_Objects]:
    """Yield the uploads of a folder with their objects, by start offset."""
    found: dict[tuple[int, str], dict[ObjectKind, FileInfo]] = {}
    for entry in entries:
        name = object_file(entry.name)
        if name is not None and not entry.is_folder and not entry.problem:
            found.setdefault((name.start_offset, name.segment_id), {})[name.kind] = entry
    starts = sorted({start for start, _ in found})
    next_starts = dict(pairwise(starts))
    for (start, segment_id), files in sorted(found.items()):
        if files.keys() - {ObjectKind.INDEXES}:
            name = ObjectFile(start, segment_id, ObjectKind.LOG)
            yield _Objects(name, files, next_starts.get(start, start + 1))


def _segment(
    storage: Storage, folder: TierFolder, found: _Objects, policy: TierPolicy
) -> SegmentFile | None:
    """Return the segment of an upload, with the size of its `.log` object; None without one."""
    log = found.files.get(ObjectKind.LOG)
    if log is None:
        return None
    manifest = storage.join(folder.path, found.name.sibling(ObjectKind.MANIFEST))
    described_by = found.files.get(ObjectKind.MANIFEST)
    names = folder.path.rstrip("/").split("/")[-2:]
    return SegmentFile(
        base_offset=found.name.start_offset,
        path=log.path,
        name="/".join([*names, log.name]),
        size_bytes=log.size_bytes,
        index_path=None,
        modified_at_ms=log.modified_at_ms,
        remote=RemoteObject(
            found.name.segment_id,
            manifest_path=manifest,
            key_paths=policy.key_paths,
            stored_bytes=log.size_bytes,
            manifest_bytes=None if described_by is None else described_by.size_bytes,
        ),
    )


def _folders(key: PartitionKey) -> str:
    """Return the folder part of a partition's object keys, without `key.prefix`."""
    return f"{key.topic}-{key.topic_id}/{key.partition}"


def _elsewhere(
    storage: Storage, folder: TierFolder, own_key: str, copy: RemoteCopy
) -> FileInfo | None:
    """Return an upload's `.log` at the place in its custom metadata; None if there is none.

    The metadata has a prefix, a key or both. Without a key the plugin uses its own key. The path is
    relative to the tier's root, which is one of the folders above the manifest.
    """
    try:
        prefix, key = custom_metadata(copy.custom_metadata or b"\0")
    except MessageError:
        return None
    if prefix is None and key is None:
        return None
    root = folder.path
    while "/" in root:
        root = root.rpartition("/")[0]
        found = storage.info(f"{root}/{prefix or ''}{key or own_key}.{ObjectKind.LOG}")
        if found is not None:
            return found
    return None


def _manifest(storage: Storage, entry: FileInfo) -> Manifest:
    return read_manifest(storage, entry.path, entry.size_bytes)


def _no_manifest(folder: TierFolder, found: _Objects) -> str:
    """Return why an upload without a manifest is not read."""
    name = found.name.sibling(ObjectKind.MANIFEST)
    return (
        f"{folder.path} has no {name}: the upload did not end, `key.prefix` was changed, or the"
        " segment is in Iceberg's format"
    )


def _undescribed(
    storage: Storage, found: _Objects, file: SegmentFile | None, problem: str
) -> Upload:
    """Return an upload that has no events, from its manifest."""
    start = found.name.start_offset
    upload = Upload(
        segment_id=found.name.segment_id,
        start_offset=start,
        next_offset=found.following,
        file=file,
        unreadable=problem,
        has_ended=not problem,
    )
    if problem:
        return upload
    entry = found.files[ObjectKind.MANIFEST]
    try:
        content = manifest_content(storage, entry.path, entry.size_bytes)
        manifest = manifest_at(entry.path, content)
    except TierObjectError as error:
        return replace(upload, unreadable=f"{entry.path}: {error}")
    if file is not None and file.remote is not None:
        remote = replace(file.remote, manifest=kept(content))
        file = file._replace(size_bytes=manifest.chunks.size_bytes, remote=remote)
        upload = replace(upload, file=file)
    owner = manifest.owner
    if owner is None:
        return upload
    return replace(
        upload,
        next_offset=owner.end_offset + 1,
        epochs=owner.epochs,
    )
