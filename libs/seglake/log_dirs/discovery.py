"""Finds log dirs, their cluster and their partitions in the sources.

Folders are listed and only small files are read. A segment is opened only if it is a `.swap` file,
to find its end. The source is never written to.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from seglake.grouping import grouped
from seglake.kafka_log.internal_topics import REMOTE_LOG_METADATA
from seglake.kafka_log.known_sources import NO_SOURCES, KnownSources
from seglake.kafka_log.read_policy import PLAIN_TIERS, TierPolicy
from seglake.kafka_log.replica import Replica
from seglake.log_dirs.absent_partitions import (
    AbsentPartition,
    absent_partitions,
)
from seglake.log_dirs.log_dir_files import LogDirFiles, SideFileReader
from seglake.log_dirs.log_dir_search import (
    FoundLogDir,
    LogDirSearch,
    is_refused,
    refused_or_failed,
)
from seglake.log_dirs.partition_replica import ReadFolder, examples, not_kafkas, read_folder
from seglake.log_dirs.removed_segments import given_up_note, removed_note
from seglake.log_dirs.source_ids import SourceId, source_id_of
from seglake.log_dirs.tier_elsewhere import with_tiers_elsewhere
from seglake.log_dirs.tier_keys import TierKeys
from seglake.log_dirs.tier_owners import require_own
from seglake.log_dirs.tiers import TierRequest, Tiers, with_tiers
from seglake.log_dirs.topic_ids import made_again_notes, with_known_topic_ids
from seglake.log_dirs.unread_files import UnreadFiles, is_recognised, named_folders
from seglake.segment_codec.formats.side_files.known_names import Place, known_name
from seglake.segment_codec.formats.side_files.log_dir import (
    FolderKind,
    PartitionFolder,
    SideFile,
    parse_file_name,
    parse_folder_name,
)
from seglake.storage.errors import StorageError
from seglake.storage.many_requests import each
from seglake.storage.storage import FileInfo, Storage

TopicFilter = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Discovery:
    """Log dirs, partitions and unread files in the sources.

    Attributes:
        sources: paths that were searched.
        notes: sentences for the summary.
        unreadable: why a folder or file could not be read; the key of a partition folder is its
            name, of other folders and of files beside segments their path.
        topics: topics of all partition folders, whether selected or not.
        unread_files: files that have records but are not read, such as compressed segments.
        absent: partitions that are in a log dir's checkpoint files, but have no folder in any
            source.
        cluster_id: cluster id in meta.properties; None if no file has one.
        missing_topics: why a topic was not found, by its name; only for topics that the user named
            in full.
        tier_folders: folders of remote tiers.
        unproved_tiers: why nothing proves that a remote tier belongs to the cluster, by its path.
        tier_copies: logs of remote tiers as separate copies, for repairs. Their segments are in
            `replicas`, too.
    """

    sources: tuple[str, ...]
    source_id: str
    log_dirs: tuple[FoundLogDir, ...]
    replicas: tuple[Replica, ...]
    notes: tuple[str, ...]
    unreadable: dict[str, str]
    topics: frozenset[str]
    unread_files: tuple[UnreadFiles, ...] = ()
    absent: tuple[AbsentPartition, ...] = ()
    cluster_id: str | None = None
    missing_topics: Mapping[str, str] = field(default_factory=dict)
    tier_folders: tuple[str, ...] = ()
    tier_copies: tuple[Replica, ...] = ()
    unproved_tiers: Mapping[str, str] = field(default_factory=dict)

    @property
    def partitions(self) -> set[str]:
        """Return the names of the partitions that have a log."""
        return {str(replica.key) for replica in self.replicas}

    @property
    def left_out_partitions(self) -> set[str]:
        """Return the names of the partitions whose only folders are unreadable."""
        folders = map(parse_folder_name, self.unreadable)
        return {
            f"{folder.topic}-{folder.partition}"
            for folder in folders
            if folder is not None and folder.kind is FolderKind.LIVE
        } - self.partitions

    @property
    def not_read(self) -> dict[str, str]:
        """Return the reasons for all unread files and folders, by path or name."""
        found = {f"{files.folder}/{files.example}": files.reason for files in self.unaccounted}
        return self.unreadable | found

    @property
    def unaccounted(self) -> list[UnreadFiles]:
        """Return the unread files, except files whose offsets are reported as gaps of a log."""
        known = self.partitions
        return [files for files in self.unread_files if not files.is_accounted(known)]

    @property
    def has_all_topics(self) -> bool:
        """Return whether every folder that may have partitions could be listed."""
        names = (place.rpartition("/")[2] for place in self.unreadable)
        return all(
            parse_folder_name(place) is not None
            or parse_file_name(name) is not None
            or name in frozenset(SideFile)
            for place, name in zip(self.unreadable, names, strict=True)
        )


def discover(
    sources: Sequence[str],
    storage: Storage,
    *,
    selects_topic: TopicFilter = lambda topic: True,
    source_id: str | None = None,
    unnamed_id: str | None = None,
    known: KnownSources = NO_SOURCES,
    tier_policy: TierPolicy = PLAIN_TIERS,
) -> Discovery:
    """Find the partitions of the sources whose topics are selected.

    Args:
        sources: paths or URIs of log dirs, partition folders, or folders above log dirs.
        storage: storage of the sources.
        selects_topic: returns whether a topic is selected.
        source_id: the user's or the lake's name for a cluster without an id in meta.properties.
        unnamed_id: source id to use if there is neither an id nor a name; None for an error.
        known: sources in the lake.
        tier_policy: rules for reading remote tiers.

    Raises:
        WrongSourceError: a source, its cluster or a private key is missing or cannot be read.
        StorageError: a source cannot be listed, or no log dir in it can be read; a retry may help.
    """
    TierKeys(tier_policy.key_paths).check(storage)
    found = _searched(sources, storage)
    source = _source_id(found, source_id, unnamed_id, known)
    replicas = with_known_topic_ids(_all_replicas(found, selects_topic))
    found.unreadable |= _unreadable_folders(found.log_dirs, selects_topic)
    absent = [*absent_partitions(found.log_dirs, found.files, selects_topic)]
    found.notes += _made_up_for(each for each in absent if each.is_elsewhere)
    tiers = _joined_tiers(found, replicas, selects_topic, tier_policy, known, source.source_id)
    if not found.log_dirs:
        require_own(tiers.owners, is_named=source_id is not None or not known.sources)
    return Discovery(
        sources=tuple(sources),
        **source._asdict(),
        log_dirs=tuple(found.log_dirs),
        replicas=tuple(tiers.replicas),
        notes=(*found.notes, *tiers.notes, *made_again_notes(tiers.replicas)),
        unreadable={**found.unreadable, **tiers.unreadable, **tiers.owners.foreign},
        topics=_topics(found.log_dirs) | tiers.topics,
        unread_files=_selected_files(found.unread, selects_topic),
        absent=tuple(each for each in absent if not each.is_elsewhere),
        tier_folders=tuple(folder.path for folder in found.tier_folders),
        tier_copies=tuple(tiers.copies),
        unproved_tiers=tiers.owners.unproved,
    )


@dataclass(slots=True, kw_only=True)
class _Search(LogDirSearch):
    """A search of the sources, with the log dirs' own files.

    Attributes:
        named: folders with files or folders that are already reported as not read.
        files: each log dir's own files, by its path.
        failed: errors of log dirs whose files cannot be read, by path.
    """

    named: frozenset[str] = frozenset()
    files: dict[str, LogDirFiles] = field(default_factory=dict)
    failed: dict[str, StorageError] = field(default_factory=dict)

    def unreported(self) -> Self:
        """Return a search of the same sources without notes and unreadable files."""
        return replace(self, notes=[], unreadable={}, unread=[])


def _searched(sources: Sequence[str], storage: Storage) -> _Search:
    """Find the log dirs and tiers; read the log dirs' own files."""
    found = _Search(storage=storage)
    found.search(sources)
    found.named = named_folders(found.unread, found.unreadable)
    for log_dir in found.log_dirs:
        _read_own_files(found, log_dir)
    return found


def _joined_tiers(
    found: _Search,
    replicas: Sequence[Replica],
    selects_topic: TopicFilter,
    policy: TierPolicy,
    known: KnownSources,
    source_id: str,
) -> Tiers:
    """Add the tiers' segments to the replicas, by the upload events on the brokers' disks."""

    def on_disks() -> list[Replica]:
        return _all_replicas(found.unreported(), REMOTE_LOG_METADATA.__eq__)

    ids = partial(_topic_ids, found, known, source_id)
    settled = partial(known.settled, source_id)
    request = TierRequest(found.storage, found.tier_folders, selects_topic, policy, ids, settled)
    if found.tier_folders:
        return with_tiers(request, replicas, on_disks())
    lake_events = partial(known.remote_events, source_id)
    replicas = with_tiers_elsewhere(found.storage, replicas, on_disks, lake_events)
    return with_tiers(request, replicas, [])


def _topic_ids(found: _Search, known: KnownSources, source_id: str) -> dict[str, set[str]]:
    """Return the ids of each topic that the disks or the lake have, by its name."""
    ids = {topic: {*of_topic} for topic, of_topic in known.topic_ids(source_id).items()}
    for replica in _all_replicas(found.unreported(), lambda topic: True):
        if replica.key.topic_id is not None:
            ids.setdefault(replica.key.topic, set()).add(replica.key.topic_id)
    return ids


def _made_up_for(partitions: Iterable[AbsentPartition]) -> Iterator[str]:
    """Yield a note for each log dir whose checkpoints name partitions that other log dirs have."""
    named = ((at.log_dir, f"{at.partition.topic}-{at.partition.partition}") for at in partitions)
    for log_dir, names in grouped(named).items():
        yield (
            f"{log_dir} has no folder of {examples(names)}, which its checkpoints name: "
            "other log dirs have it"
        )


def _topics(found: Iterable[FoundLogDir]) -> frozenset[str]:
    """Return the topics of all partition folders, selected or not."""
    names = (name for each in found for name in (*each.partition_folders, *each.unreadable))
    return frozenset(folder.topic for folder in map(parse_folder_name, names) if folder is not None)


def _unreadable_folders(
    log_dirs: Iterable[FoundLogDir], selects_topic: TopicFilter
) -> dict[str, str]:
    """Return why folders of selected partitions cannot be listed, by the folder's name."""
    return {
        name: reason
        for log_dir in log_dirs
        for name, reason in log_dir.unreadable.items()
        if _is_selected(name, selects_topic)
    }


def _selected_files(
    unread: Iterable[UnreadFiles], selects_topic: TopicFilter
) -> tuple[UnreadFiles, ...]:
    """Return the unread files of selected partitions; each once, since sources may overlap."""
    return tuple(
        files
        for files in dict.fromkeys(unread)
        if parse_folder_name(files.place) is None or _is_selected(files.place, selects_topic)
    )


def _is_selected(name: str, selects_topic: TopicFilter) -> bool:
    """Return whether a name is that of a selected topic's partition folder."""
    folder = parse_folder_name(name)
    return folder is not None and selects_topic(folder.topic)


def _read_own_files(found: _Search, log_dir: FoundLogDir) -> None:
    """Read the files of a log dir itself; record those that cannot be read."""
    own_notes: list[str] = []
    try:
        reader = SideFileReader(found.storage, own_notes, implausible=found.unreadable)
        read = reader.log_dir_files(log_dir.entries)
    except StorageError as error:
        found.failed[log_dir.path] = error
        found.unreadable[log_dir.path] = str(error)
        return
    found.files[log_dir.path] = read
    unknown = _unknown_entries(log_dir, found.named)
    found.notes += [*own_notes, *not_kafkas(log_dir.path, unknown)]
    if read.high_watermarks is None:
        names = [entry.name for entry in log_dir.entries]
        which = "no usable" if SideFile.HIGH_WATERMARKS in names else "no"
        found.notes.append(
            f"{log_dir.path} has {which} {SideFile.HIGH_WATERMARKS}: logs are ingested to their end"
        )


def _unknown_entries(log_dir: FoundLogDir, named: Container[str]) -> list[str]:
    """Return a log dir's entries that are neither Kafka's nor reported elsewhere."""
    names = [
        f"{entry.name}/" if entry.is_folder else entry.name
        for entry in log_dir.entries
        if known_name(Place.LOG_DIR, entry.name, is_folder=entry.is_folder) is None
        and not (log_dir.has(entry.name) or is_recognised(Place.LOG_DIR, entry.name))
        and not (entry.problem or entry.path in named)
    ]
    return names if log_dir.is_whole else []


def _cluster_ids(found: _Search) -> dict[str, str]:
    """Return the cluster id of each log dir that has one, even if other files are unreadable."""
    reader = SideFileReader(found.storage, tolerated=StorageError)
    ids = {
        log_dir.path: found.files[log_dir.path].cluster_id
        if log_dir.path in found.files
        else reader.cluster_id(log_dir.entries)
        for log_dir in found.log_dirs
    }
    return {path: cluster_id for path, cluster_id in ids.items() if cluster_id}


def _source_id(
    found: _Search, given: str | None, unnamed: str | None, known: KnownSources
) -> SourceId:
    """Return the source of the log dirs; fail if an unread file may have the cluster id."""
    named, files = _cluster_ids(found), found.files
    if found.tier_folders and not found.log_dirs:  # a remote tier does not name its cluster
        unnamed = unnamed or known.only
    # The unreadable file may have the cluster id. Under a wrong source id, all logs would be
    # ingested a second time. If no log dir is readable, a later run may succeed.
    is_known = named or given or (files and unnamed)
    passing = [error for error in found.failed.values() if not (files or is_refused(error))]
    for error in [*passing, *([] if is_known else found.failed.values())]:
        raise refused_or_failed(error) from error
    ids = SideFile.META_PROPERTIES
    ignored = [why for path, why in found.unreadable.items() if path.endswith(f"/{ids}")]
    return source_id_of(named, files, ignored=ignored, given=given, unnamed=unnamed, known=known)


def _all_replicas(found: _Search, selects_topic: TopicFilter) -> list[Replica]:
    """Return the replicas of all readable log dirs; record notes and unread files."""
    return [
        replica
        for log_dir in found.log_dirs
        if log_dir.path in found.files
        for replica in _replicas(found, log_dir, selects_topic)
    ]


def _replicas(found: _Search, log_dir: FoundLogDir, selects_topic: TopicFilter) -> list[Replica]:
    """Return the replicas of a log dir; record notes and unread files."""
    selected: list[tuple[str, PartitionFolder]] = []
    given_up: dict[str, tuple[FileInfo, ...]] = {}
    for name in log_dir.partition_folders:
        folder = parse_folder_name(name)
        if folder is None or not selects_topic(folder.topic):
            continue
        if folder.kind in (FolderKind.DELETE, FolderKind.STRAY):
            given_up[name] = log_dir.partition_folders[name]
        else:
            selected.append((name, folder))

    storage, files = found.storage, found.files[log_dir.path]

    def read(of: tuple[str, PartitionFolder]) -> ReadFolder:
        name, folder = of
        path = storage.join(log_dir.path, name)
        return read_folder(
            storage, path, folder, log_dir.partition_folders[name], files, found.named
        )

    replicas: list[Replica] = []
    removed: dict[str, list[FileInfo]] = {}
    answers = each(read, selected, storage=storage, path=log_dir.path)
    for (name, _), answer in zip(selected, answers, strict=True):
        found.notes += answer.notes
        found.unread += answer.unread
        found.unreadable |= answer.unreadable
        removed[name] = answer.removed
        if isinstance(answer.replica, Replica):
            replicas.append(answer.replica)
        else:
            log_dir.unreadable[name] = str(answer.replica)
    found.notes += removed_note(log_dir.path, removed)
    found.notes += given_up_note(log_dir.path, given_up)
    return replicas
