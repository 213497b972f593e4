"""Finds the partitions of sources: log dirs, their cluster, and the files in them. Effect.

It lists folders and reads only small files; segments are opened only for the end of a `.swap`. The
source is never written to.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from seglake.kafka_log.replica import Replica
from seglake.log_dirs.absent_partitions import (
    AbsentPartition,
    absent_partitions,
    folders_made_up_for,
)
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_dirs.log_dir_files import LogDirFiles, read_cluster_id, read_log_dir_files
from seglake.log_dirs.log_dir_search import FoundLogDir, find_sources, is_refused, refused_or_failed
from seglake.log_dirs.partition_replica import ReadFolder, examples, not_kafkas, read_folder
from seglake.log_dirs.removed_segments import given_up_note, removed_note
from seglake.log_dirs.source_ids import KnownSources, NoSources, SourceId, source_id_of
from seglake.log_dirs.unread_files import UnreadFiles, UnreadKind, is_recognised
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
_NO_SOURCES = NoSources()


@dataclass(frozen=True, slots=True)
class Discovery:
    """Logs and files in the sources, with notes on those that are not read.

    Attributes:
        sources: paths that were searched.
        unreadable: reasons, by name of partition folders that cannot be listed or read, or that
            disappeared; by path of other folders, and of unreadable files beside segments.
        topics: topics of all partition folders, selected or not.
        unread_files: recognised files that are not read.
        absent: partitions with a high watermark in a log dir, but without a folder in any source.
        cluster_id: cluster id in meta.properties, None without one.
        missing_topics: reasons by topic that the user named in full and no source has.
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

    @property
    def partitions(self) -> set[str]:
        """Return the names of the partitions that have a log."""
        return {str(replica.key) for replica in self.replicas}

    @property
    def left_out_partitions(self) -> set[str]:
        """Return the names of the partitions that have an unreadable folder and no log."""
        folders = map(parse_folder_name, self.unreadable)
        return {
            f"{folder.topic}-{folder.partition}"
            for folder in folders
            if folder is not None and folder.kind is FolderKind.LIVE
        } - self.partitions

    @property
    def not_read(self) -> dict[str, str]:
        """Return the reasons of all that is not read, by path or name."""
        found = {f"{files.folder}/{files.example}": files.reason for files in self.unaccounted}
        return self.unreadable | found

    @property
    def unaccounted(self) -> list[UnreadFiles]:
        """Return the files that are not read, except those whose offsets a log reports as gaps."""
        known = self.partitions
        return [files for files in self.unread_files if not files.is_accounted(known)]

    @property
    def has_all_topics(self) -> bool:
        """Return whether every folder that may hold a topic could be listed."""
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
    known: KnownSources = _NO_SOURCES,
) -> Discovery:
    """Return all partitions of the sources whose topic is selected.

    Args:
        sources: paths or URIs of log dirs, partition folders, or folders above log dirs.
        storage: storage of the sources.
        selects_topic: whether a topic is selected.
        source_id: the cluster, if meta.properties names none, or the lake's name for it.
        unnamed_id: id if neither meta.properties nor the user names one; None if one of them must.
        known: sources that a lake knows.

    Raises:
        WrongSourceError: a source is missing, refused, no folder or log dir, or of unknown cluster.
        StorageError: a source cannot be listed now, or no log dir in it can be read.
        StoreSilentError: a store does not answer.
    """
    notes: list[str] = []
    unreadable: dict[str, str] = {}
    unread: list[UnreadFiles] = []
    found = find_sources(sources, storage, notes, unreadable, unread)
    named = _named_folders(unread, unreadable)
    files, failed = _log_dir_files(found, storage, notes, unreadable, named)
    named_ids = _cluster_ids(found, files, storage)
    source = _source_id(named_ids, files, failed, source_id, unnamed_id, known)
    replicas = _all_replicas(storage, found, files, selects_topic, notes, unread, unreadable, named)
    unreadable |= _unreadable_folders(found, selects_topic)
    notes += _made_up_for(found, files, selects_topic)
    return Discovery(
        sources=tuple(sources),
        source_id=source.source_id,
        cluster_id=source.cluster_id,
        log_dirs=tuple(found),
        replicas=tuple(_with_known_topic_ids(replicas, notes)),
        notes=tuple(notes),
        unreadable=unreadable,
        topics=_topics(found),
        unread_files=_selected_files(unread, selects_topic),
        absent=tuple(absent_partitions(found, files, selects_topic)),
    )


def _made_up_for(
    found: Iterable[FoundLogDir], files: Mapping[str, LogDirFiles], selects_topic: TopicFilter
) -> Iterator[str]:
    """Yield a note on each log dir that lacks folders which others have."""
    for log_dir, names in folders_made_up_for(found, files, selects_topic).items():
        yield (
            f"{log_dir} has no folder of {examples(names)}, which its checkpoints name: "
            "other log dirs have it"
        )


def check_apart(discovery: Discovery, storage: Storage, lake_path: str) -> None:
    """Refuse a lake inside a source: sources are never written to.

    If only partition folders were given, the folder above them may be anything, and the lake may be
    in it.

    Raises:
        WrongSourceError: the lake is inside a source.
    """
    place = storage.without_links(lake_path)
    for log_dir in discovery.log_dirs:
        kind, folders = "log dir", [log_dir.path]
        if log_dir.is_parent_only:
            kind = "partition folder"
            folders = [storage.join(log_dir.path, name) for name in log_dir.partition_folders]
        for folder in folders:
            if f"{place}/".startswith(f"{storage.without_links(folder)}/"):
                raise WrongSourceError(
                    f"the lake {lake_path} lies inside the {kind} {folder}: give another folder, "
                    "sources are never written to"
                )


def _topics(found: Iterable[FoundLogDir]) -> frozenset[str]:
    """Return the topics of all partition folders."""
    names = (name for each in found for name in (*each.partition_folders, *each.unreadable))
    return frozenset(folder.topic for folder in map(parse_folder_name, names) if folder is not None)


def _unreadable_folders(
    log_dirs: Iterable[FoundLogDir], selects_topic: TopicFilter
) -> dict[str, str]:
    """Return the reasons of selected partition folders that cannot be listed, by name."""
    return {
        name: reason
        for log_dir in log_dirs
        for name, reason in log_dir.unreadable.items()
        if _is_selected(name, selects_topic)
    }


def _selected_files(
    unread: Iterable[UnreadFiles], selects_topic: TopicFilter
) -> tuple[UnreadFiles, ...]:
    """Return each entry once, for sources may overlap, without those of partitions not selected."""
    return tuple(
        files
        for files in dict.fromkeys(unread)
        if parse_folder_name(files.place) is None or _is_selected(files.place, selects_topic)
    )


def _is_selected(name: str, selects_topic: TopicFilter) -> bool:
    """Return whether a name is a partition folder's with a selected topic."""
    folder = parse_folder_name(name)
    return folder is not None and selects_topic(folder.topic)


def _log_dir_files(
    found: Iterable[FoundLogDir],
    storage: Storage,
    notes: list[str],
    unreadable: dict[str, str],
    named: Container[str],
) -> tuple[dict[str, LogDirFiles], dict[str, StorageError]]:
    """Return each log dir's own files, and errors of log dirs with an unreadable one, by path."""
    files: dict[str, LogDirFiles] = {}
    failed: dict[str, StorageError] = {}
    for log_dir in found:
        own_notes: list[str] = []
        try:
            read = read_log_dir_files(storage, log_dir.entries, own_notes, implausible=unreadable)
        except StorageError as error:
            failed[log_dir.path] = error
            unreadable[log_dir.path] = str(error)
        else:
            files[log_dir.path] = read
            notes += [*own_notes, *not_kafkas(log_dir.path, _unknown_entries(log_dir, named))]
            if read.high_watermarks is None:
                names = [entry.name for entry in log_dir.entries]
                which = "no usable" if SideFile.HIGH_WATERMARKS in names else "no"
                notes.append(
                    f"{log_dir.path} has {which} {SideFile.HIGH_WATERMARKS}: logs are ingested to"
                    " their end"
                )
    return files, failed


def _unknown_entries(log_dir: FoundLogDir, named: Container[str]) -> list[str]:
    """Return the names in a whole log dir that no broker gives and that nothing else reports."""
    names = [
        f"{entry.name}/" if entry.is_folder else entry.name
        for entry in log_dir.entries
        if known_name(Place.LOG_DIR, entry.name, is_folder=entry.is_folder) is None
        and not (log_dir.has(entry.name) or is_recognised(Place.LOG_DIR, entry.name))
        and not (entry.problem or entry.path in named)
    ]
    return names if log_dir.is_whole else []


def _named_folders(unread: Iterable[UnreadFiles], unreadable: Iterable[str]) -> frozenset[str]:
    """Return the folders that contain anything already reported as not read, at any depth."""
    named: set[str] = set()
    places = (
        f"{files.folder}/{files.example}" if files.kind is UnreadKind.LOG_DIR else files.folder
        for files in unread
    )
    for place in (*places, *unreadable):
        while place and place not in named:
            named.add(place)
            place = place.rpartition("/")[0]
    return frozenset(named)


def _cluster_ids(
    found: Iterable[FoundLogDir], files: Mapping[str, LogDirFiles], storage: Storage
) -> dict[str, str]:
    """Return the cluster ids that log dirs name, by path; also of those with unreadable files."""
    ids = {
        log_dir.path: files[log_dir.path].cluster_id
        if log_dir.path in files
        else read_cluster_id(storage, log_dir.entries)
        for log_dir in found
    }
    return {path: cluster_id for path, cluster_id in ids.items() if cluster_id}


def _source_id(
    named: dict[str, str],
    files: dict[str, LogDirFiles],
    failed: dict[str, StorageError],
    given: str | None,
    unnamed: str | None,
    known: KnownSources,
) -> SourceId:
    """Return the source of the log dirs; raise the error of an unreadable log dir if needed."""
    # An unreadable file may have the cluster's id: another id would ingest all logs again. If
    # nothing is readable now, a later run may succeed.
    is_known = named or given or (files and unnamed)
    passing = [error for error in failed.values() if not (files or is_refused(error))]
    for error in [*passing, *([] if is_known else failed.values())]:
        raise refused_or_failed(error) from error
    return source_id_of(named, files, given=given, unnamed=unnamed, known=known)


def _all_replicas(
    storage: Storage,
    log_dirs: Iterable[FoundLogDir],
    files: Mapping[str, LogDirFiles],
    selects_topic: TopicFilter,
    notes: list[str],
    unread: list[UnreadFiles],
    unreadable: dict[str, str],
    named: Container[str],
) -> list[Replica]:
    """Return the replicas in all readable log dirs, and collect notes and unread files."""
    return [
        replica
        for log_dir in log_dirs
        if log_dir.path in files
        for replica in _replicas(
            storage, log_dir, files[log_dir.path], selects_topic, notes, unread, unreadable, named
        )
    ]


def _replicas(
    storage: Storage,
    log_dir: FoundLogDir,
    files: LogDirFiles,
    selects_topic: TopicFilter,
    notes: list[str],
    unread: list[UnreadFiles],
    unreadable: dict[str, str],
    named: Container[str],
) -> list[Replica]:
    """Return the replicas in a log dir, and collect notes and unread files."""
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

    def read(of: tuple[str, PartitionFolder]) -> ReadFolder:
        name, folder = of
        path = storage.join(log_dir.path, name)
        return read_folder(storage, path, folder, log_dir.partition_folders[name], files, named)

    replicas: list[Replica] = []
    removed: dict[str, list[FileInfo]] = {}
    answers = each(read, selected, storage=storage, path=log_dir.path)
    for (name, _), answer in zip(selected, answers, strict=True):
        notes += answer.notes
        unread += answer.unread
        unreadable |= answer.unreadable
        removed[name] = answer.removed
        if isinstance(answer.replica, Replica):
            replicas.append(answer.replica)
        else:
            log_dir.unreadable[name] = str(answer.replica)
    notes += removed_note(log_dir.path, removed)
    notes += given_up_note(log_dir.path, given_up)
    return replicas


def _with_known_topic_ids(replicas: list[Replica], notes: list[str]) -> list[Replica]:
    """Return the replicas, completed by the topic id that the topic's other folders agree on."""
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
