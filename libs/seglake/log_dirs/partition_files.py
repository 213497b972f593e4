"""Sorts the files of a partition folder, and finds where its segments begin.

Leftovers of cleaning, splitting and deletion are skipped, as a starting broker skips them. Only the
batch headers of segments are read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seglake.kafka_log.replica import SegmentFile, SnapshotFile, UnreadSegment
from seglake.kafka_log.segment_survey import SegmentSurvey
from seglake.log_dirs.batch_search import WHOLE_READ_BYTES
from seglake.log_dirs.batch_walk import LogHeads
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.header_scan import survey_segment
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.log_dirs.small_files import check_readable, files_by_name
from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_codec.formats.side_files.known_names import Place
from seglake.segment_codec.formats.side_files.log_dir import (
    OFFSET_MAX,
    FileKind,
    SegmentFileName,
    SkippedFile,
    plan_swaps,
    usable_swap_logs,
)
from seglake.segment_codec.formats.side_files.producer_snapshot import EMPTY_SNAPSHOT_BYTES
from seglake.storage.errors import StorageError
from seglake.storage.storage import FileInfo, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """Files of a partition folder, sorted by their use.

    Attributes:
        by_name: all files of the folder.
        segments: segments of the log, by base offset.
        lost: segments whose file is a broken link; they are also in `segments`.
        snapshots: producer snapshots that are not empty, by offset.
        side_files: names of Kafka's other files.
        skipped: segment files that are not read.
        unreadable: index and snapshot files that are broken links; the log is read without them.
        unknown: names of files that are not Kafka's.
    """

    by_name: dict[str, FileInfo]
    segments: tuple[SegmentFile, ...]
    lost: tuple[UnreadSegment, ...]
    snapshots: tuple[SnapshotFile, ...]
    side_files: tuple[str, ...]
    skipped: tuple[SkippedFile, ...]
    unreadable: tuple[FileInfo, ...]
    unknown: tuple[str, ...]


def partition_files(
    storage: Storage, path: str, listing: Iterable[FileInfo], notes: list[str] | None = None
) -> PartitionFiles:
    """Sort the files of a partition folder.

    Args:
        storage: storage of the folder.
        path: path of the folder.
        listing: the entries of the folder.
        notes: receives a sentence for each unreadable `.swap` file; None raises an error instead.

    Raises:
        SourceVanishedError: a `.swap` file has vanished or cannot be read.
        RefusedError: a `.swap` file is a broken link.
        TwoSpellingsError: two files have the same offset in their names.
    """
    by_name = files_by_name(Place.PARTITION, listing)
    plan = plan_swaps(by_name, _swap_ends(storage, by_name, notes))
    beside = [by_name[file.name] for file in plan.read if file.kind is not FileKind.LOG]
    return PartitionFiles(
        by_name=by_name,
        segments=_segments(path.rsplit("/", 1)[-1], plan.read, by_name),
        lost=tuple(
            UnreadSegment(file.base_offset, file.name, 0, by_name[file.name].problem)
            for file in plan.read
            if file.kind is FileKind.LOG and by_name[file.name].problem
        ),
        snapshots=tuple(
            SnapshotFile(file.base_offset, by_name[file.name].path)
            for file in plan.read
            if file.kind is FileKind.SNAPSHOT
            and not by_name[file.name].problem
            and by_name[file.name].size_bytes != EMPTY_SNAPSHOT_BYTES
        ),
        side_files=(
            *(file.name for file in plan.read if file.kind is not FileKind.LOG),
            *plan.side_files,
        ),
        skipped=plan.superseded,
        unreadable=tuple(entry for entry in beside if entry.problem),
        unknown=plan.unknown,
    )


def first_offset_in(storage: Storage, file: SegmentFile) -> int:
    """Return the first offset in a segment; the offset in the file's name is only a lower bound.

    If the headers are doubtful, the offset in the name is returned. Usually only the first header
    is read. If its offset is above the offset in the name, as after a compaction, more is read.
    """
    plain = file._replace(index_path=None)  # the first batch is found without the index
    try:
        head = LogHeads(storage, (plain,), 0).first((file.base_offset, OFFSET_MAX))
    except (StorageError, SegmentCodecError):
        return file.base_offset
    if head is None or head.first_offset == file.base_offset:
        return file.base_offset
    survey = _whole_survey(storage, file)
    if not survey.is_plain or survey.first_offset is None:
        return file.base_offset
    return survey.first_offset


def _segments(
    folder_name: str, read: Sequence[SegmentFileName], by_name: dict[str, FileInfo]
) -> tuple[SegmentFile, ...]:
    """Return the segments of the log that a broker would read, by base offset."""
    paths = {
        (file.base_offset, file.kind): by_name[file.name].path
        for file in read
        if not by_name[file.name].problem
    }
    return tuple(
        SegmentFile(
            file.base_offset,
            by_name[file.name].path,
            f"{folder_name}/{file.name}",
            by_name[file.name].size_bytes,
            paths.get((file.base_offset, FileKind.INDEX)),
            transaction_index_path=paths.get((file.base_offset, FileKind.TXNINDEX)),
            modified_at_ms=by_name[file.name].modified_at_ms,
        )
        for file in read
        if file.kind is FileKind.LOG
    )


def _swap_ends(
    storage: Storage, by_name: dict[str, FileInfo], notes: list[str] | None
) -> dict[int, int]:
    """Return the end offset of each `.swap` file (the cleaner's finished output), by base offset.

    A `.swap` file replaces all segments up to its end offset.
    """
    ends: dict[int, int] = {}
    for name in usable_swap_logs(by_name):
        entry = by_name[name.name]
        if notes is None:
            check_readable(entry)
        file = SegmentFile(
            name.base_offset, entry.path, entry.name, entry.size_bytes, index_path=None
        )
        survey = _whole_survey(storage, file)
        if survey.missing is not None:
            if notes is None:
                raise SourceVanishedError(survey.missing)
            notes.append(f"{survey.missing}; it is unknown which segments {name} replaces")
        ends[file.base_offset] = survey.highest_offset
    return ends


def _whole_survey(storage: Storage, file: SegmentFile) -> SegmentSurvey:
    """Survey a segment for its offsets alone, without positions at which tasks may begin."""
    request = SurveyRequest(
        storage=storage,
        file=file._replace(index_path=None, transaction_index_path=None),
        is_last=True,
        is_cleaned=True,
        split_bytes=file.size_bytes + 1,
        window_bytes=WHOLE_READ_BYTES,
    )
    return survey_segment(request)
