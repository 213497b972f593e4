"""Inspects partition folders and log dirs: walks segments, lists other files."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.unread_segments import described
from seglake.log_dirs.log_dir_files import LogDirFiles, SideFileReader
from seglake.log_dirs.log_dir_search import FoundLogDir
from seglake.log_dirs.partition_files import PartitionFiles
from seglake.log_dirs.unread_files import compressed_segments
from seglake.pipelines.segment_inspect.contents import Content, FileFound, LogSummary
from seglake.pipelines.segment_inspect.log_scan import LogScan
from seglake.pipelines.segment_inspect.partition_log import (
    UNKNOWN_PARTITION,
    FolderReader,
    Partition,
    place_in,
)
from seglake.pipelines.segment_inspect.path_kinds import PathKind, kind_of_file
from seglake.pipelines.segment_inspect.shown_part import ShownPart
from seglake.pipelines.segment_inspect.side_files import READ_KINDS, read_side_file
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.segment_codec.formats.side_files.log_dir import FolderKind, parse_folder_name
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage

_NO_SEGMENT = "there is no segment, so no record was checked"
_NO_PARTITION = "there is no partition folder, so no record was checked"
_GIVEN_UP = "an ingest does not read it"
_USES = {
    FolderKind.FUTURE: "an ingest reads it if the partition has no other folder",
    FolderKind.DELETE: _GIVEN_UP,
    FolderKind.STRAY: _GIVEN_UP,
}


@dataclass(frozen=True, slots=True)
class FolderLook:
    """Inspection of folders.

    Attributes:
        storage: the storage of the folders.
        shown: the part to show.
    """

    storage: Storage
    shown: ShownPart

    def at_partition(self, path: str, entries: Sequence[FileInfo]) -> Iterator[Content]:
        """Yield a partition folder's contents as an ingest reads them.

        If a single offset is requested, only the segment that may have it is walked.

        Args:
            path: the folder.
            entries: its files.
        """
        reader = FolderReader(self.storage)
        partition = reader.partition_at(path, entries) or UNKNOWN_PARTITION
        yield from self._walk(path, entries, partition, reader)

    def at_log_dirs(
        self, path: str, log_dirs: Sequence[FoundLogDir], findings: Sequence[Finding]
    ) -> Iterator[Content]:
        """Yield the contents of each log dir at or below a folder, and totals if there are several.

        Args:
            path: the folder.
            log_dirs: the log dirs.
            findings: findings outside partition folders.
        """
        if len(log_dirs) == 1:
            yield from self._log_dir(log_dirs[0], findings)
            return
        yield FileFound(path, PathKind.FOLDER, 0)
        totals = Totals()
        for log_dir in log_dirs:
            totals.add((yield from self._log_dir(log_dir, ())))
        yield from findings
        yield LogSummary(path, PathKind.FOLDER, totals)

    def _log_dir(
        self, log_dir: FoundLogDir, findings: Sequence[Finding]
    ) -> Generator[Content, None, Totals]:
        """Yield a log dir's files, then each partition folder's contents; return the sum of all."""
        path, entries = log_dir.path, log_dir.entries
        yield FileFound(path, PathKind.LOG_DIR, _size_bytes(entries))
        reader = FolderReader(self.storage, [*findings])
        for entry in entries:
            # The search for log dirs has already reported dangling links with names unknown to
            # Kafka.
            is_reported = entry.problem and kind_of_file(entry.name) is PathKind.UNKNOWN
            if not entry.is_folder and not is_reported:
                yield from _side_file(entry, reader)
        # Damage of these files was yielded above, so these findings are ignored.
        files = SideFileReader(self.storage, tolerated=StorageError).log_dir_files(entries)
        totals = Totals()
        for entry in entries:
            if log_dir.has(entry.name):
                totals.add((yield from self._partition(log_dir, entry, files, reader)))
            elif entry.is_folder:
                text = f"{entry.name} is a folder, but no partition's"
                reader.note(FindingKind.NOTE, text, entry.path)
        if not (log_dir.partition_folders or log_dir.unreadable):
            reader.note(FindingKind.LEFT_OUT, f"{path}: {_NO_PARTITION}", path)
        yield from reader.findings
        yield LogSummary(path, PathKind.LOG_DIR, totals)
        return totals

    def _partition(
        self, log_dir: FoundLogDir, entry: FileInfo, files: LogDirFiles, of_dir: FolderReader
    ) -> Generator[Content, None, Totals]:
        folder = parse_folder_name(entry.name)
        entries = log_dir.partition_folders.get(entry.name)
        if folder is None or entries is None:
            of_dir.note(FindingKind.LEFT_OUT, log_dir.unreadable[entry.name], entry.name)
            return Totals()
        reader = FolderReader(self.storage)
        if folder.kind is not FolderKind.LIVE:
            text = f"the folder is marked {folder.kind}: {_USES[folder.kind]}"
            reader.note(FindingKind.NOTE, text, entry.name)
        partition = reader.partition_in(files, folder, entries)
        return (yield from self._walk(entry.path, entries, partition, reader))

    def _walk(
        self, path: str, entries: Sequence[FileInfo], partition: Partition, reader: FolderReader
    ) -> Generator[Content, None, Totals]:
        storage, shown = self.storage, self.shown
        files = reader.files_in(path, entries)
        kind = PathKind.PARTITION_FOLDER
        yield FileFound(path, kind, _size_bytes(entries))
        yield from _other_files(files, reader)
        log_start_offset = reader.checked_log_start(partition, files.segments)
        packed = compressed_segments(files.by_name)
        unread_bases = {segment.base_offset for segment in packed}
        bases = sorted(unread_bases.union(file.base_offset for file in files.segments))
        scan = LogScan(
            storage,
            partition,
            first_offset=files.segments[0].base_offset if files.segments else 0,
            log_start_offset=log_start_offset,
            shown=shown,
            unread=[ends for ends in pairwise(bases) if ends[0] in unread_bases],
        )
        indexes = [*range(len(files.segments))]
        if shown.offset is not None:
            indexes = [at for at in indexes if files.segments[at].base_offset <= shown.offset][-1:]
        for index in indexes:
            yield from scan.segment(place_in(storage, partition, files.segments, index))
        if packed:
            reader.note(FindingKind.LEFT_OUT, described(packed), path)
        elif not (files.segments or _is_given_up(path) or any(entry.problem for entry in entries)):
            reader.note(FindingKind.LEFT_OUT, f"{path}: {_NO_SEGMENT}", path)
        yield from reader.findings
        yield from scan.finish(path, kind, log_start_offset, unread_segments=len(packed))
        return scan.totals


def _is_given_up(path: str) -> bool:
    """Return whether a folder's name says that the broker no longer uses it, or not yet."""
    folder = parse_folder_name(path.rstrip("/").rpartition("/")[2])
    return folder is not None and folder.kind is not FolderKind.LIVE


def _other_files(files: PartitionFiles, reader: FolderReader) -> Iterator[Content]:
    for skipped in files.skipped:
        found = _unread(files.by_name[str(skipped.file)])
        yield replace(found, base_offset=skipped.file.base_offset, skipped=skipped.reason)
    for name in (*files.side_files, *files.unknown):
        yield from _side_file(files.by_name[name], reader)


def _side_file(entry: FileInfo, reader: FolderReader) -> Iterator[Content]:
    """Yield a side file's size, number of entries and damage, without the entries."""
    if entry.problem:
        reader.note(FindingKind.DAMAGED_FILE, f"{entry.path}: {entry.problem}", entry.path)
        return
    found = _unread(entry)
    if found.kind in READ_KINDS:
        try:
            found, _ = read_side_file(reader.storage, entry.path, found.kind)
        except StorageError as error:
            reader.note(FindingKind.DAMAGED_FILE, str(error), entry.path)
            return
    yield found


def _unread(entry: FileInfo) -> FileFound:
    return FileFound(entry.path, kind_of_file(entry.name), entry.size_bytes)


def _size_bytes(entries: Sequence[FileInfo]) -> int:
    return sum(entry.size_bytes for entry in entries if not entry.is_folder)
