"""Sources to partitions: which log dirs there are, whose they are, and what lies in them. Effect.

Lists, and reads only the small files; segments are opened for nothing but the end of a `.swap`.
The source is never written to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lake.errors import LakeError
from lake.storage import FileInfo, Storage, open_storage
from pipelines.segment_ingest.broker_files import (
    LogDirFiles,
    read_last_epoch,
    read_log_dir_files,
    read_topic_id,
)
from pipelines.segment_ingest.errors import WrongSourceError
from pipelines.segment_ingest.log_dir_search import FoundLogDir, find_log_dirs
from pipelines.segment_ingest.partition_log import (
    Checkpoints,
    PartitionKey,
    Replica,
    SegmentFile,
)
from pipelines.segment_ingest.settings import Settings
from segment_codec.log_dir import (
    FileKind,
    FolderKind,
    PartitionFolder,
    SegmentFileName,
    TopicPartition,
    parse_folder_name,
    plan_swaps,
    usable_swap_logs,
)
from segment_codec.offset_order import OffsetOrder
from segment_codec.segment import MOST_OFFSETS, Defect, SegmentBounds, SegmentWalk, Tail
from segment_codec.window import Window


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the sources hold, and what a person should know of what is not taken.

    `unreadable` has partition folders that cannot be listed, and why.
    """

    source_id: str
    log_dirs: tuple[str, ...]
    replicas: tuple[Replica, ...]
    notes: tuple[str, ...]
    unreadable: dict[str, str]


def discover(sources: Sequence[str], settings: Settings) -> Discovery:
    """List all partitions of the sources that the settings select.

    Raises:
        WrongSourceError: a source is missing, no folder or no log dir, or whose cluster it is
            cannot be told.
    """
    found: dict[str, tuple[Storage, FoundLogDir]] = {}
    for source in sources:
        for storage, log_dir in _log_dirs_of(source):
            known = found.get(log_dir.path)
            if known is not None:
                folders = {**known[1].partition_folders, **log_dir.partition_folders}
                log_dir = replace(log_dir, partition_folders=folders)
            found[log_dir.path] = (storage, log_dir)
    notes: list[str] = []
    files = {
        path: read_log_dir_files(storage, log_dir.path, log_dir.entries, notes)
        for path, (storage, log_dir) in found.items()
    }
    source_id = _source_id(files, settings.source.source_id)
    replicas = [
        replica
        for path, (storage, log_dir) in found.items()
        for replica in _replicas(storage, log_dir, files[path], settings, notes)
    ]
    unreadable = {
        name: reason
        for _, log_dir in found.values()
        for name, reason in log_dir.unreadable.items()
        if _is_selected(name, settings)
    }
    return Discovery(
        source_id,
        tuple(found),
        tuple(_with_known_topic_ids(replicas, notes)),
        tuple(notes),
        unreadable,
    )


def _is_selected(name: str, settings: Settings) -> bool:
    folder = parse_folder_name(name)
    return folder is not None and settings.select.takes_topic(folder.topic)


def _log_dirs_of(source: str) -> list[tuple[Storage, FoundLogDir]]:
    try:
        storage, path = open_storage(source)
        info = storage.info(path)
        if info is None:
            raise WrongSourceError(f"source {source} does not exist: check the path")
        if not info.is_folder:
            raise WrongSourceError(
                f"source {source} is a file: give a broker's log dir, a partition folder, or a "
                "folder above log dirs"
            )
        log_dirs = find_log_dirs(storage, path)
    except LakeError as error:
        raise WrongSourceError(f"source {source} cannot be listed: {error}") from error
    if not log_dirs:
        raise WrongSourceError(
            f"source {source} holds no log dir of a Kafka broker: no folder below it has "
            "meta.properties, offset checkpoints, or partition folders with segments"
        )
    return [(storage, log_dir) for log_dir in log_dirs]


def _source_id(files: dict[str, LogDirFiles], given: str | None) -> str:
    named = {path: each.cluster_id for path, each in files.items() if each.cluster_id}
    cluster_ids = set(named.values())
    if len(cluster_ids) > 1:
        listed = ", ".join(f"{path} ({cluster})" for path, cluster in sorted(named.items()))
        raise WrongSourceError(
            f"the sources belong to different clusters: {listed}. Take one a call"
        )
    if not cluster_ids:
        if given is None:
            raise WrongSourceError(
                f"no meta.properties in {', '.join(files)} names a cluster id: give --source-id, "
                "a name of your own for this cluster, and use the same one in every run"
            )
        return given
    (cluster_id,) = cluster_ids
    if given is not None and given != cluster_id:
        raise WrongSourceError(
            f"meta.properties names cluster {cluster_id}, --source-id says {given}: leave "
            "--source-id out"
        )
    return cluster_id


def _replicas(
    storage: Storage,
    log_dir: FoundLogDir,
    files: LogDirFiles,
    settings: Settings,
    notes: list[str],
) -> list[Replica]:
    folders = {name: parse_folder_name(name) for name in log_dir.partition_folders}
    replicas: list[Replica] = []
    given_up: list[str] = []
    for name, folder in folders.items():
        if folder is None or not settings.select.takes_topic(folder.topic):
            continue
        if folder.kind in (FolderKind.DELETE, FolderKind.STRAY):
            given_up.append(f"{folder.topic}-{folder.partition}")
        else:
            listing = log_dir.partition_folders[name]
            replicas.append(_replica(storage, log_dir.path, name, folder, listing, files, notes))
    if given_up:
        notes.append(
            f"{log_dir.path}: folders that the broker had given up (-delete, -stray) are not read: "
            + ", ".join(given_up)
        )
    return replicas


def _replica(
    storage: Storage,
    log_dir_path: str,
    name: str,
    folder: PartitionFolder,
    listing: tuple[FileInfo, ...],
    files: LogDirFiles,
    notes: list[str],
) -> Replica:
    path = storage.join(log_dir_path, name)
    by_name = {entry.name: entry for entry in listing if not entry.is_folder}
    plan = plan_swaps(by_name, _swap_ends(storage, by_name))
    if plan.unknown:
        notes.append(f"{path} holds files that are not Kafka's: {', '.join(plan.unknown)}")
    segments = _segments(name, plan.read, by_name)
    topic_partition = TopicPartition(folder.topic, folder.partition)
    return Replica(
        PartitionKey(folder.topic, folder.partition, read_topic_id(storage, by_name, notes)),
        files.broker_id,
        path,
        folder.kind is FolderKind.FUTURE,
        Checkpoints(
            files.high_watermarks is not None,
            (files.high_watermarks or {}).get(topic_partition),
            (files.recovery_points or {}).get(topic_partition),
            (files.log_start_offsets or {}).get(topic_partition),
            (files.cleaner_offsets or {}).get(topic_partition),
            files.has_remote_tier,
        ),
        read_last_epoch(storage, by_name, notes),
        segments,
    )


def _segments(
    folder_name: str, read: Sequence[SegmentFileName], by_name: dict[str, FileInfo]
) -> tuple[SegmentFile, ...]:
    indexes = {file.base_offset: str(file) for file in read if file.kind is FileKind.INDEX}
    segments = []
    for file in read:
        if file.kind is not FileKind.LOG:
            continue
        entry = by_name[str(file)]
        index = indexes.get(file.base_offset)
        segments.append(
            SegmentFile(
                file.base_offset,
                entry.path,
                f"{folder_name}/{file}",
                entry.size_bytes,
                None if index is None else by_name[index].path,
            )
        )
    return tuple(sorted(segments, key=lambda segment: segment.base_offset))


def _swap_ends(storage: Storage, by_name: dict[str, FileInfo]) -> dict[int, int]:
    """Where each finished cleaner output ends: it stands for all segments up to there."""
    ends: dict[int, int] = {}
    for file in usable_swap_logs(by_name):
        order = OffsetOrder(file.base_offset)
        bounds = SegmentBounds(file.base_offset, file.base_offset + MOST_OFFSETS, True, 0)
        with storage.open_reader(by_name[str(file)].path) as reader:
            for item in SegmentWalk(Window(reader), bounds, order).items():
                if isinstance(item, Defect | Tail):
                    continue
        ends[file.base_offset] = order.next_offset
    return ends


def _with_known_topic_ids(replicas: list[Replica], notes: list[str]) -> list[Replica]:
    """A folder without an id takes the one that the topic's other folders agree on."""
    known: dict[str, set[str]] = {}
    for replica in replicas:
        if replica.key.topic_id is not None:
            known.setdefault(replica.key.topic, set()).add(replica.key.topic_id)
    for topic, ids in sorted(known.items()):
        if len(ids) > 1:
            notes.append(f"topic {topic} is there under {len(ids)} topic ids: it was made again")
    joined = []
    for replica in replicas:
        ids = known.get(replica.key.topic, set())
        if replica.key.topic_id is None and len(ids) == 1:
            joined.append(replace(replica, key=replica.key._replace(topic_id=next(iter(ids)))))
        else:
            joined.append(replica)
    return joined
