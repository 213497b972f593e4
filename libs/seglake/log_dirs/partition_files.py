"""Sorts the files of a partition folder, and finds where its segments begin. Effect.

Leftovers of cleaning, splitting and deletion are skipped, as by a starting broker. Segments are
opened only for their headers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from seglake.kafka_log.replica import SegmentFile, SnapshotFile, UnreadSegment
from seglake.kafka_log.segment_survey import SegmentSurvey
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

_WINDOW_BYTES = 4 << 20  # for a walk in full, if headers do not suffice


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """Files of a partition folder, sorted.

    Attributes:
        by_name: all files of the folder.
        segments: the log, by base offset.
        lost: segments of the log whose link is broken; they are in `segments`, too.
        snapshots: producer snapshots by offset, without empty ones.
        side_files: names of the other files that are Kafka's.
        skipped: segment files that are not read.
        unreadable: index and snapshot files whose link is broken; the log is read without them.
        unknown: names that Kafka does not give.
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
    """Return the sorted files of a partition folder.

    Args:
        storage: storage of the folder.
        path: path of the folder.
        listing: its entries.
        notes: receives a sentence for finished cleaner output that cannot be read; None makes that
            an error.

    Raises:
        SourceVanishedError: finished cleaner output vanished meanwhile, or cannot be read.
        RefusedError: finished cleaner output is a broken link.
        TwoSpellingsError: two files to read have the same number.
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


def first_offset_of(storage: Storage, file: SegmentFile) -> int:
    """Return the first offset of a segment; its name is only a lower bound.

    It falls back to the name if the headers are doubtful. It reads more than the first header only
    if that is above the name, as after compaction.
    """
    plain = replace(file, index_path=None)  # no index is needed: the first batch is at position 0
    heads = LogHeads(storage, (plain,), 0).between((file.base_offset, OFFSET_MAX))
    try:
        head = next(heads, None)
    except (StorageError, SegmentCodecError):
        return file.base_offset
    finally:
        heads.close()
    if head is None or head.first_offset == file.base_offset:
        return file.base_offset
    survey = _whole_survey(storage, file)
    if not survey.is_plain or survey.first_offset is None:
        return file.base_offset
    return survey.first_offset


def _segments(
    folder_name: str, read: Sequence[SegmentFileName], by_name: dict[str, FileInfo]
) -> tuple[SegmentFile, ...]:
    """Return the segments of the log, by base offset."""
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
    """Return the end of each finished cleaner output, by base offset.

    Such an output replaces all segments up to its end.
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
            notes.append(f"{survey.missing}; what {name} replaces cannot be told")
        ends[file.base_offset] = survey.highest_offset
    return ends


def _whole_survey(storage: Storage, file: SegmentFile) -> SegmentSurvey:
    """Return a survey of a segment for its offsets only, without splits."""
    request = SurveyRequest(
        storage=storage,
        file=replace(file, index_path=None, transaction_index_path=None),
        is_last=True,
        is_cleaned=True,
        split_bytes=file.size_bytes + 1,
        window_bytes=_WINDOW_BYTES,
    )
    return survey_segment(request)
