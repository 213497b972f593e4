"""Which segments need a look at their headers, packed into tasks. Pure."""

from collections.abc import Sequence

from lake.storage import Storage
from pipelines.segment_ingest.coverage import Coverage
from pipelines.segment_ingest.partition_log import Replica, SegmentFile
from pipelines.segment_ingest.settings import Settings, UpperBound
from pipelines.segment_ingest.survey import SegmentSurvey, SurveyRequest

_TASK_BYTES = 256 << 20
_TASK_SEGMENTS = 256

Group = tuple[SurveyRequest, ...]


def survey_groups(
    replicas: Sequence[Replica], coverage: Coverage, settings: Settings, storage: Storage
) -> list[Group]:
    """The requests of all partitions, in order, as many a task as its bytes allow."""
    groups: list[list[SurveyRequest]] = []
    room = 0
    for replica in replicas:
        start = _start_offset(replica, coverage, settings)
        for file in segments_to_survey(replica, coverage, settings):
            request = _request(replica, file, start, settings, storage)
            if not groups or walked_bytes(request) > room or len(groups[-1]) == _TASK_SEGMENTS:
                groups.append([])
                room = _TASK_BYTES
            groups[-1].append(request)
            room -= walked_bytes(request)
    return [tuple(group) for group in groups]


def walked_bytes(request: SurveyRequest) -> int:
    """How much of a segment a survey walks; little where the index leads to what is wanted."""
    is_begun = request.start_offset > request.base_offset and request.index_path is not None
    return 0 if is_begun else request.size_bytes


def with_surveys(
    replicas: Sequence[Replica],
    coverage: Coverage,
    settings: Settings,
    found: Sequence[Sequence[SegmentSurvey]],
) -> list[tuple[Replica, tuple[SegmentSurvey, ...]]]:
    """The answers to `survey_groups`, by partition; those with nothing to survey are left out."""
    answers = iter([survey for group in found for survey in group])
    result = []
    for replica in replicas:
        count = len(segments_to_survey(replica, coverage, settings))
        if count:
            result.append((replica, tuple(next(answers) for _ in range(count))))
    return result


def segments_to_survey(
    replica: Replica, coverage: Coverage, settings: Settings
) -> tuple[SegmentFile, ...]:
    """The last segments of a partition from the first on that may hold something wanted."""
    segments = replica.segments
    high_watermark = replica.checkpoints.high_watermark
    start = _start_offset(replica, coverage, settings)
    is_bounded = settings.read.upper_bound is UpperBound.HIGH_WATERMARK
    if is_bounded and high_watermark is not None and 0 < high_watermark <= start:
        return ()
    for index, following in enumerate(segments[1:]):
        if following.base_offset > start:
            return segments[index:]
    return segments[-1:]


def _start_offset(replica: Replica, coverage: Coverage, settings: Settings) -> int:
    """Below this nothing can be wanted; a time window needs the headers of the whole log."""
    select = settings.select
    if select.from_timestamp_ms is not None or select.to_timestamp_ms is not None:
        return replica.log_start_offset
    covered = coverage.ranges(replica.key)
    if covered and covered[0][0] == 0:
        return max(covered[0][1], 0)
    return 0


def _request(
    replica: Replica, file: SegmentFile, start: int, settings: Settings, storage: Storage
) -> SurveyRequest:
    high_watermark = replica.checkpoints.high_watermark
    breaks = {start, replica.log_start_offset, high_watermark or 0}
    return SurveyRequest(
        storage,
        file.path,
        file.index_path,
        file.size_bytes,
        file.base_offset,
        file is replica.segments[-1],
        file.base_offset < (replica.checkpoints.cleaner_offset or 0),
        replica.settled_offset,
        start,
        tuple(sorted(breaks)),
        settings.read.split_bytes,
        settings.read.window_bytes,
        settings.select.from_timestamp_ms,
        settings.select.to_timestamp_ms,
    )
