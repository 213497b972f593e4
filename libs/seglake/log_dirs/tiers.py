"""Adds segments of the remote tiers in the sources to the brokers' replicas.

Uploads to a tier are found by the records of `__remote_log_metadata` (events) on the brokers'
disks. For uploads without events, files in the tier are read. If no source has a tier, nothing is
read.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.internal_topics import REMOTE_LOG_METADATA
from seglake.kafka_log.read_policy import TierPolicy
from seglake.kafka_log.remote_events import RemoteLog, RemoteState
from seglake.kafka_log.remote_segments import Chosen, TierLog, Upload, tier_log
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.kafka_log.replica_selection import likely
from seglake.kafka_log.settled_logs import NOTHING_SETTLED, SettledLog
from seglake.kafka_log.tiered_replicas import TierReplica, joined
from seglake.log_dirs.batch_walk import LogHeads
from seglake.log_dirs.partition_replica import examples
from seglake.log_dirs.tier_events import read_events
from seglake.log_dirs.tier_holes import lost_ranges
from seglake.log_dirs.tier_layouts import KnownUploads, TierFolder, described
from seglake.log_dirs.tier_log_starts import first_local_offset, stated_log_start
from seglake.log_dirs.tier_owners import TierOwners, TopicIds, tier_owners
from seglake.log_dirs.topic_ids import with_ids_of_tiers
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.storage.errors import NotFoundError, StorageError
from seglake.storage.storage import Storage

Events = Mapping[PartitionKey, RemoteLog]


class TierRequest(NamedTuple):
    """Request to add the segments of the tiers in the sources.

    Attributes:
        folders: folders with objects, and their listings.
        selects_topic: returns whether a topic is selected.
        policy: rules for reading the tiers.
        further_ids: reads all topic ids of the cluster, on its disks and in the lake.
        settled: reads, for each log in the lake, what this run need not read.
    """

    storage: Storage
    folders: Sequence[TierFolder]
    selects_topic: Callable[[str], bool]
    policy: TierPolicy
    further_ids: Callable[[], TopicIds] = dict
    settled: Callable[[], Mapping[PartitionKey, SettledLog]] = dict


@dataclass(frozen=True, slots=True)
class Tiers:
    """Result of the join: replicas, and notes.

    Attributes:
        replicas: replicas of all partitions, including partitions that only a tier has.
        copies: logs of tiers without the brokers' local segments, for repairs of damaged replicas.
        notes: sentences for the summary.
        unconfirmed: partitions whose segments in a tier were read without events.
        unreadable: why folders of a tier cannot be read, by path.
        topics: topics of all folders of tiers, whether selected or not.
        owners: tiers without proof that they belong to the cluster. Tiers of other clusters are not
            read.
    """

    replicas: list[Replica] = field(default_factory=list)
    copies: list[Replica] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unconfirmed: list[PartitionKey] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    owners: TierOwners = field(default_factory=TierOwners)


def with_tiers(
    request: TierRequest, replicas: Sequence[Replica], metadata: Sequence[Replica]
) -> Tiers:
    """Return the replicas with the segments of their partitions in the tiers.

    Args:
        request: the tiers.
        replicas: selected replicas on the brokers' disks.
        metadata: replicas of `__remote_log_metadata`.
    """
    tiers = Tiers()
    events = read_events(request.storage, metadata, tiers.unreadable)
    known = [*(replica.key for replica in replicas), *events]
    settled = request.settled() if request.folders else {}
    keys = _keys(request, [*known, *settled], tiers)
    owners = tier_owners(
        grouped((folder.tier, key) for folder, key in keys),
        known,
        request.further_ids,
        includes_other_ids=request.policy.includes_other_ids,
    )
    tiers = replace(tiers, owners=owners)
    uploads, places = _listed(request, keys, events, settled, tiers)
    replicas = with_ids_of_tiers(replicas, [*events], [*uploads])
    local = grouped((replica.key, replica) for replica in replicas)
    for key, copies in local.items():
        if key not in uploads and key in events:
            uploads[key] = [*_absent(events[key], [])]
            places[key] = f"{copies[0].folder} (tier)"
    for key in sorted({*local, *uploads}, key=lambda key: (str(key), key.topic_id or "")):
        own = local.get(key, [])
        done = settled.get(key, NOTHING_SETTLED)
        tier = None
        if key in uploads:
            tier = _tier(request, key, uploads[key], places[key], own, events, done, tiers)
        try:
            copies = own if tier is None else _joined(request.storage, tier, own)
            if tier is not None and _has_any(copies, tier.unproved):
                tiers.unconfirmed.append(key)
            tiers.replicas.extend([_cut_at_local(request.storage, copy, done) for copy in copies])
        except StorageError as error:
            tiers.unreadable[places[key]] = str(error)
            tiers.replicas.extend(own)
    tiers.notes.extend(_unconfirmed_note(tiers.unconfirmed))
    return tiers


def _unconfirmed_note(keys: Iterable[PartitionKey]) -> Iterator[str]:
    """Yield a note on partitions whose remote segments no event confirms, if there are any."""
    # Several topic ids may have one name.
    if found := {str(key) for key in keys}:
        yield (
            f"no event in {REMOTE_LOG_METADATA} confirms the remote segments of {examples(found)}:"
            " the sources lack these events"
        )


def _joined(storage: Storage, tier: TierReplica, own: Sequence[Replica]) -> list[Replica]:
    return joined(tier, own, lambda local: lost_ranges(storage, local, tier))


def _has_any(copies: Iterable[Replica], segment_ids: Container[str]) -> bool:
    """Return whether any replica has a segment of these uploads."""
    return any(
        file.remote is not None and file.remote.segment_id in segment_ids
        for copy in copies
        for file in copy.segments
    )


def _keys(
    request: TierRequest, known: Sequence[PartitionKey], tiers: Tiers
) -> list[tuple[TierFolder, PartitionKey]]:
    """Return the folders with known partitions; record the other folders as unreadable.

    A folder's name may begin with the tier's prefix. So if a topic has several names, the shortest
    one is right.
    """
    found: list[tuple[TierFolder, PartitionKey]] = []
    names: dict[str | None, str] = {}
    for folder in request.folders:
        try:
            key = folder.layout.key_of(request.storage, folder, known)
        except StorageError as error:
            tiers.unreadable[folder.path] = str(error)
            continue
        if key is not None:
            names[key.topic_id] = min(key.topic, names.get(key.topic_id, key.topic), key=len)
            found.append((folder, key))
    tiers.topics.update(names.values())
    found = [(folder, key._replace(topic=names[key.topic_id])) for folder, key in found]
    for folder, key in found:
        if not folder.layout.has_name(folder) and _may_be_selected(request, key.topic):
            tiers.unreadable[folder.path] = (
                f"{folder.path} may be a folder of a selected topic: no manifest says where the "
                f"topic's name begins in {key.topic}"
            )
    return found


def _may_be_selected(request: TierRequest, prefixed_topic: str) -> bool:
    """Return whether a topic is selected only without a prefix of its name."""
    ends = (prefixed_topic[start:] for start in range(1, len(prefixed_topic)))
    selects = request.selects_topic
    return not selects(prefixed_topic) and any(map(selects, ends))


def _listed(
    request: TierRequest,
    keys: Iterable[tuple[TierFolder, PartitionKey]],
    events: Events,
    settled: Mapping[PartitionKey, SettledLog],
    tiers: Tiers,
) -> tuple[dict[PartitionKey, list[Upload]], dict[PartitionKey, str]]:
    """Return the uploads of each selected partition, and one folder of each partition."""
    uploads: dict[PartitionKey, list[Upload]] = {}
    places: dict[PartitionKey, str] = {}
    for folder, key in keys:
        if folder.tier in tiers.owners.foreign or not request.selects_topic(key.topic):
            continue
        try:
            log = events.get(key, RemoteLog())
            known = KnownUploads(key, log.copies, settled.get(key, NOTHING_SETTLED))
            found = _uploads(request, folder, log, known)
        except StorageError as error:
            tiers.unreadable[folder.path] = str(error)
            continue
        uploads.setdefault(key, []).extend(found)
        places.setdefault(key, folder.path)
    for key, found in uploads.items():
        found += _absent(events.get(key, RemoteLog()), found)
    return uploads, places


def _uploads(
    request: TierRequest, folder: TierFolder, log: RemoteLog, known: KnownUploads
) -> list[Upload]:
    """Return a folder's uploads; if an object is missing, list the folder again."""
    storage = request.storage
    found = folder.layout.uploads(storage, folder, known, request.policy)
    if any(True for _ in _absent(log, found, deleted_too=False)):
        try:
            entries = tuple(storage.list_folder(folder.path))
        except NotFoundError:
            entries = ()
        folder = folder._replace(entries=entries)
        found = folder.layout.uploads(storage, folder, known, request.policy)
    return [_checked(upload, log) for upload in found]


def _checked(upload: Upload, log: RemoteLog) -> Upload:
    """Return an upload, marked as deleted or unreadable if its events or its object show this."""
    if upload.state is None:
        return replace(upload, is_deleted=upload.segment_id in log.deleted)
    file, start = upload.file, upload.start_offset
    if file is None or file.base_offset == start:
        return upload
    why = f"{file.path} should begin at offset {start}, by {REMOTE_LOG_METADATA}"
    return replace(upload, unreadable=why)


def _absent(
    log: RemoteLog, found: Sequence[Upload], *, deleted_too: bool = True
) -> Iterator[Upload]:
    """Yield the finished uploads that are not in the tier, and the deleted uploads."""
    there = {upload.segment_id for upload in found}
    for copy in log.copies.values():
        is_live = copy.state is RemoteState.COPY_FINISHED
        if copy.segment_id not in there and (is_live or (deleted_too and copy.was_finished)):
            yield described(copy, None)


def _tier(
    request: TierRequest,
    key: PartitionKey,
    uploads: Sequence[Upload],
    folder: str,
    local: Sequence[Replica],
    events: Events,
    settled: SettledLog,
    tiers: Tiers,
) -> TierReplica | None:
    """Return a partition's log in the tiers; None if the tiers have no segment of the partition."""
    live = [copy for copy in local if not copy.is_future]
    log_start = stated_log_start(request.storage, live, uploads, tiers.notes)
    includes_deleted = request.policy.includes_deleted
    log = tier_log(
        uploads,
        lineage=likely(live).epochs if live else (),
        log_start=0 if includes_deleted else log_start or 0,
        local_start=first_local_offset(live),
        includes_unknown=not events.get(key, RemoteLog()).is_whole,
        includes_deleted=includes_deleted,
    )
    is_newer = not includes_deleted and log.log_start > (log_start or 0)
    for why, count in sorted(log.left_out.items()):
        tiers.notes.append(f"{key}: the tier has objects that are not read: {count} ({why})")
    if not (log.chosen or log.gaps or is_newer):
        return None
    log_start = log.log_start if is_newer else log_start
    try:
        tier, *others = [
            _tier_replica(request.storage, key, folder, log, cover, log_start, settled)
            for cover in (log.chosen, *log.others)
        ]
    except StorageError as error:
        tiers.unreadable[folder] = str(error)
        return None
    copies = [tier, *(replace(other, gaps=()) for other in others)]
    start = tier.stated_start
    start = 0 if start is not None and includes_deleted else start
    tiers.copies.extend(copy.alone(start) for copy in copies if copy.segments)
    return tier


def _tier_replica(
    storage: Storage,
    key: PartitionKey,
    folder: str,
    log: TierLog,
    cover: Sequence[Chosen],
    log_start: int | None,
    settled: SettledLog,
) -> TierReplica:
    chosen_end = max((each.next_offset for each in cover), default=0)
    next_offset = max([chosen_end, *(gap.next_offset for gap in log.gaps)])
    claimed_end = next_offset if log.is_confirmed else log.absent_end
    segments = [
        _segment(storage, each, file, settled)
        for each in cover
        for file in [each.upload.file]
        if file is not None
    ]
    last = segments[-1] if segments else None
    if last is not None and last.remote is not None and cover is log.chosen:
        segments[-1] = last._replace(remote=replace(last.remote, rivals=log.rivals))
    return TierReplica(
        key=key,
        folder=folder,
        segments=tuple(segments),
        next_offset=next_offset or log.log_start,
        claimed_end=claimed_end if log.is_confirmed or claimed_end > chosen_end else None,
        epochs=log.lineage,
        gaps=log.gaps,
        is_confirmed=log.is_confirmed,
        log_start=log_start,
        unproved=log.unproved,
    )


def _segment(
    storage: Storage, chosen: Chosen, file: SegmentFile, settled: SettledLog
) -> SegmentFile:
    """Return a segment up to the offset at which another segment continues the log."""
    upload, stop = chosen
    if stop < upload.next_offset:
        return _clipped(storage, file, stop, settled)
    remote = None if file.remote is None else replace(file.remote, next_offset=stop)
    return file._replace(remote=remote)


def _cut_at_local(storage: Storage, replica: Replica, settled: SettledLog) -> Replica:
    """Return a replica whose last remote segment ends where the first local segment begins."""
    segments = [*replica.segments]
    for index, (file, following) in enumerate(pairwise(segments)):
        remote, start = file.remote, following.base_offset
        if remote is not None and following.remote is None and remote.next_offset > start:
            segments[index] = _clipped(storage, file, start, settled)
    return replica._replace(segments=tuple(segments))


def _clipped(
    storage: Storage, file: SegmentFile, stop_offset: int, settled: SettledLog
) -> SegmentFile:
    """Return a segment without the batches at or above an offset; whole if nothing is read of it.

    Args:
        storage: storage of the segment.
        file: a segment in a tier.
        stop_offset: first offset to read from another segment.
        settled: what the run need not read of the log.

    Raises:
        StorageError: the segment cannot be read.
    """
    remote = file.remote and replace(file.remote, next_offset=stop_offset)
    if settled.has(file.base_offset, stop_offset):
        return file._replace(remote=remote)
    head = None
    with suppress(TierObjectError):  # the whole segment is unreadable
        head = LogHeads(storage, (file,), 0).first((stop_offset, OFFSET_MAX))
    size_bytes, stop = (file.size_bytes, None) if head is None else (head.position, head.position)
    return file._replace(
        size_bytes=size_bytes, remote=remote and replace(remote, stop_position=stop)
    )
