"""Layouts of remote tiers: names and storage of a partition's folders and objects.

If an upload has no events, the files beside its segment are read.

Kafka's LocalTieredStorage has `<20 digits>-<segment id>.log` and its side files in a folder
`<topic>-<partition>-<topic id>`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from seglake.kafka_log.read_policy import TierPolicy
from seglake.kafka_log.remote_events import RemoteCopy, RemoteState
from seglake.kafka_log.remote_segments import Upload
from seglake.kafka_log.replica import PartitionKey, RemoteObject, SegmentFile
from seglake.kafka_log.settled_logs import NOTHING_SETTLED, SettledLog
from seglake.log_dirs.batch_search import BatchRequest, LogEnd, find_batch
from seglake.log_dirs.log_dir_files import SideFileReader
from seglake.log_dirs.plausible_checkpoints import is_far
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX, SideFile
from seglake.segment_codec.formats.side_files.tier_names import local_file, local_folder
from seglake.storage.many_requests import each
from seglake.storage.storage import FileInfo, Storage

_WINDOW_BYTES = 64 << 10


class TierLayout(Protocol):
    """Interface of a remote tier's layout: how it names and stores segments."""

    def holds(self, path: str, entries: Sequence[FileInfo]) -> bool:
        """Return whether a folder has a partition's objects in this layout, by path and listing."""

    def tier_of(self, path: str) -> str:
        """Return the path of the tier that has a partition's folder."""

    def has_name(self, folder: "TierFolder") -> bool:
        """Return whether the topic's name can be found in the folder, if its files are intact."""

    def key_of(
        self, storage: Storage, folder: "TierFolder", known: Iterable[PartitionKey]
    ) -> PartitionKey | None:
        """Return the partition of a folder; None if unknown.

        Args:
            storage: storage of the folder.
            folder: the folder.
            known: partitions in the sources' events (records of `__remote_log_metadata`); for these
                no object is read.

        Raises:
            StorageError: the object that names the partition cannot be read.
        """

    def uploads(
        self, storage: Storage, folder: "TierFolder", known: "KnownUploads", policy: TierPolicy
    ) -> list[Upload]:
        """Return the uploads whose objects are in a folder.

        Args:
            storage: storage of the folder.
            folder: the folder.
            known: facts about the partition's uploads that need no reading.
            policy: rules for reading tiers.

        Raises:
            StorageError: a file that describes an upload cannot be read.
        """


class KnownUploads(NamedTuple):
    """Facts about a partition's uploads that are known without reading their objects.

    Attributes:
        copies: uploads that have events, by segment id; their objects are not read.
        settled: what the run need not read of the log.
    """

    key: PartitionKey
    copies: Mapping[str, RemoteCopy]
    settled: SettledLog = NOTHING_SETTLED

    def settled_uploads(
        self, files: Iterable[SegmentFile], starts: Iterable[int]
    ) -> dict[str, Upload]:
        """Return the uploads that are not read again, by their paths; see `SettledLog.ends`."""
        new = [file for file in files if file.remote and file.remote.segment_id not in self.copies]
        return {
            file.path: Upload(
                segment_id=file.remote.segment_id,
                start_offset=file.base_offset,
                next_offset=file.remote.next_offset,
                file=file,
            )
            for file in self.settled.ends(new, sorted({*starts}))
            if file.remote is not None
        }


class TierFolder(NamedTuple):
    """A folder of a remote tier with the objects of one partition, and its listing."""

    path: str
    layout: TierLayout
    entries: tuple[FileInfo, ...]

    @property
    def tier(self) -> str:
        """Return the path of the tier that has this folder."""
        return self.layout.tier_of(self.path)


class _Object(NamedTuple):
    """A segment of LocalTieredStorage with its files, by suffix."""

    start_offset: int
    segment_id: str
    files: dict[str, FileInfo]


class LocalLayout:
    """Layout of Kafka's LocalTieredStorage: a broker's files with other names.

    Source: apache/kafka 1eb7644, LocalTieredStorage.java and RemoteLogSegmentFileset.java.
    """

    def holds(self, path: str, entries: Sequence[FileInfo]) -> bool:
        """Return whether a folder's name is a partition with a topic id, and it has objects."""
        return _local_key(path) is not None and any(
            local_file(entry.name) is not None for entry in entries if not entry.is_folder
        )

    def tier_of(self, path: str) -> str:
        """Return the parent folder."""
        return path.rstrip("/").rpartition("/")[0]

    def has_name(self, folder: TierFolder) -> bool:
        """Return True: the folder's name has the topic's name."""
        return True

    def key_of(
        self, storage: Storage, folder: TierFolder, known: Iterable[PartitionKey]
    ) -> PartitionKey | None:
        """Return the partition in the folder's name."""
        return _local_key(folder.path)

    def uploads(
        self, storage: Storage, folder: TierFolder, known: KnownUploads, policy: TierPolicy
    ) -> list[Upload]:
        """Return an upload per `.log`; if it has no events, read its end from the segment."""
        objects = _local_objects(folder.entries)
        files = [_local_segment(folder.path, found) for found in objects]
        settled = known.settled_uploads(files, (file.base_offset for file in files))

        def upload(object_file: tuple[_Object, SegmentFile]) -> Upload:
            found, file = object_file
            copy = known.copies.get(found.segment_id)
            if copy is not None:
                return described(copy, file, _problem(copy, file))
            return settled.get(file.path) or Upload(
                segment_id=found.segment_id,
                start_offset=found.start_offset,
                next_offset=_plausible_end(storage, file),
                epochs=_epochs_of(storage, found),
                file=file,
            )

        return each(upload, [*zip(objects, files, strict=True)], storage=storage, path=folder.path)


def described(copy: RemoteCopy, file: SegmentFile | None, unreadable: str = "") -> Upload:
    """Return an upload, combined from its events and its segment.

    Args:
        copy: the upload from the events.
        file: the segment of the upload; None if the tier does not have the segment.
        unreadable: why the segment cannot be read; empty if it can be read.
    """
    return Upload(
        segment_id=copy.segment_id,
        start_offset=copy.start_offset,
        next_offset=copy.next_offset,
        epochs=copy.epochs,
        file=file,
        state=copy.state,
        unreadable=unreadable,
        order=copy.order,
        was_finished=copy.was_finished,
    )


def _problem(copy: RemoteCopy, file: SegmentFile) -> str:
    """Return why nothing of an upload is read; empty if it is, also if its end is missing."""
    if file.size_bytes == copy.size_bytes:
        return ""
    if copy.state is RemoteState.COPY_STARTED:
        return "unfinished upload"
    return (
        "" if file.size_bytes else f"{file.path} is empty, and should have {copy.size_bytes} bytes"
    )


def _local_key(path: str) -> PartitionKey | None:
    folder = local_folder(path.rstrip("/").rpartition("/")[2])
    return None if folder is None else PartitionKey(*folder)


def _local_objects(entries: Sequence[FileInfo]) -> list[_Object]:
    """Return the segments of a folder, sorted by base offset and id."""
    found: dict[tuple[int, str], dict[str, FileInfo]] = {}
    for entry in entries:
        name = local_file(entry.name)
        if name is not None and not entry.is_folder and not entry.problem:
            found.setdefault(name[:2], {})[name.suffix] = entry
    return [_Object(*name, files) for name, files in sorted(found.items()) if ".log" in files]


def _local_segment(folder: str, found: _Object) -> SegmentFile:
    log, index = found.files[".log"], found.files.get(".index")
    aborted = found.files.get(".txnindex")
    return SegmentFile(
        base_offset=found.start_offset,
        path=log.path,
        name=f"{folder.rstrip('/').rpartition('/')[2]}/{log.name}",
        size_bytes=log.size_bytes,
        index_path=None if index is None else index.path,
        transaction_index_path=None if aborted is None else aborted.path,
        modified_at_ms=log.modified_at_ms,
        remote=RemoteObject(
            found.segment_id,
            stored_bytes=log.size_bytes,
            index_bytes=None if index is None else index.size_bytes,
            transaction_index_bytes=None if aborted is None else aborted.size_bytes,
        ),
    )


def end_of(storage: Storage, file: SegmentFile) -> int:
    """Return the exclusive end of a segment, at least its base offset + 1."""
    request = BatchRequest(storage, file, OFFSET_MAX, is_last=True, window_bytes=_WINDOW_BYTES)
    end = find_batch(request)
    return max(end.next_offset if isinstance(end, LogEnd) else 0, file.base_offset + 1)


def _plausible_end(storage: Storage, file: SegmentFile) -> int:
    """Return the exclusive end of a segment that nothing but its last header states.

    If the end is far above all offsets that the segment's bytes can have, it is left open.
    """
    end = end_of(storage, file)
    return file.base_offset + 1 if is_far(end, file.base_offset + file.size_bytes) else end


def _epochs_of(storage: Storage, found: _Object) -> tuple[EpochStart, ...]:
    """Return the leader epochs of the log up to a segment's end; empty if unusable."""
    entry = found.files.get(".leader_epoch_checkpoint")
    return () if entry is None else SideFileReader(storage).epochs({SideFile.LEADER_EPOCHS: entry})
