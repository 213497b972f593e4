"""Surveys a segment before decoding, by reading batch headers. Runs in tasks.

Only headers and transaction markers are read. If they show a fault, the whole segment is read
again, with all checksums. Tasks are split only at batches with a valid checksum.
"""

from dataclasses import replace

from seglake.kafka_log.segment_survey import SegmentSurvey, SegmentTransactions
from seglake.log_dirs.header_walk import Collected, can_be_believed, walk_segment
from seglake.log_dirs.scan_request import SurveyRequest
from seglake.log_dirs.segment_reader import open_segment, with_manifest
from seglake.log_dirs.segment_side_files import read_transaction_files
from seglake.log_dirs.tier_segments import kept
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_codec.walk.window import Window
from seglake.storage.errors import StorageError, is_broken
from seglake.task_engine.task_progress import advance

# One page: if batches are small, one read has several headers.
_HEADER_READ_BYTES = 4096
# If batches are small (by default producers make 16 KiB), one read should get many headers.
_MOST_READ_BYTES = 2 << 20
_MOST_PASSED_BYTES = 32 << 10


def survey_segments(requests: tuple[SurveyRequest, ...]) -> list[SegmentSurvey]:
    """Survey several segments, in order; the task function of the survey."""
    surveys = []
    broken: dict[str, str] = {}  # why a file is unreadable, by its folder
    for request in requests:
        folder = request.file.path.rpartition("/")[0]
        try:
            reason = broken.get(folder)
            survey = _missing(request, reason) if reason else _surveyed(request)
        except TierObjectError as error:
            survey = replace(_missing(request, str(error)), is_unreadable=True)
        except (StorageError, SegmentCodecError) as error:
            survey = _missing(request, str(error))
            if is_broken(error):  # a failing disk may take minutes per bad sector
                broken[folder] = str(error)
        surveys.append(survey)
        advance(request.file.size_bytes)  # count the whole file, including the part that was read
    return surveys


def survey_segment(request: SurveyRequest) -> SegmentSurvey:
    """Survey a segment; if it has vanished or is unreadable, the survey has the reason."""
    try:
        return _surveyed(request)
    except (StorageError, SegmentCodecError) as error:
        return _missing(request, str(error))


def _surveyed(request: SurveyRequest) -> SegmentSurvey:
    """Survey a segment by its headers; read it in full if they show a fault."""
    file = with_manifest(request.storage, request.file)
    with open_segment(request.storage, file) as reader:
        if reader.size_bytes != file.size_bytes and not request.is_last:
            return _missing(request, f"{file.path} has changed its size since it was listed")
        size_bytes = min(reader.size_bytes, file.size_bytes)
        headers = Window(
            reader,
            _HEADER_READ_BYTES,
            size_bytes,
            most_read_bytes=_MOST_READ_BYTES,
            most_passed_bytes=_MOST_PASSED_BYTES,
        )
        found = walk_segment(request, headers, headers_only=True)
        if not can_be_believed(found, headers):
            full = Window(reader, request.window_bytes, size_bytes)
            found = walk_segment(request, full, headers_only=False)
        survey = _survey(request, size_bytes, found)
    manifest = None if file.remote is None else kept(file.remote.manifest)
    return survey if manifest is None else replace(survey, manifest=manifest)


def _missing(request: SurveyRequest, reason: str) -> SegmentSurvey:
    """Return the survey of a segment that cannot be read, with the reason."""
    base_offset = request.file.base_offset
    return SegmentSurvey(
        size_bytes=0,
        first_offset=None,
        next_offset=base_offset,
        highest_offset=base_offset,
        is_plain=False,
        missing=reason,
    )


def _survey(request: SurveyRequest, size_bytes: int, found: Collected) -> SegmentSurvey:
    """Make the survey from the facts that the walk over the headers has collected."""
    file, last, order = request.file, found.last, found.order
    is_cleaned = request.is_cleaned or found.has_compacted_batch
    files = read_transaction_files(request.storage, file, request.snapshots)
    unreadable = tuple(dict.fromkeys((*found.unreadable, *files.unreadable)))
    transactions = SegmentTransactions(
        found.transactions.events(),
        found.transactions.damage(is_cleaned=is_cleaned),
        files._replace(unreadable=unreadable),
    )
    return SegmentSurvey(
        size_bytes=size_bytes,
        first_offset=found.first_offset,
        next_offset=(
            file.base_offset if last is None else max(last.last_offset + 1, order.proved_offset)
        ),
        highest_offset=file.base_offset if last is None else order.next_offset,
        splits=found.splits.splits(),
        is_plain=not found.is_faulty,
        end_damage=found.end_damage,
        has_compacted_batch=found.has_compacted_batch,
        hole_count=found.hole_count,
        tail=None if found.tail is None else found.tail.kind,
        window=found.window,
        walk_offset=found.base_offset,
        newest_ms=found.newest_ms,
        transactions=transactions,
        epochs=tuple(found.epochs.starts),
    )
