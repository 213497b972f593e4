"""Cuts segments into pieces to read, and groups pieces into tasks.

A piece is a byte range of one segment. It is plain if its survey found no fault. Plain pieces are
decoded faster, so damage slows down only its own piece.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TypeVar

from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.kafka_log.segment_survey import SegmentSurvey
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.segment_decoding.tasks import SegmentSplit
from seglake.task_engine.packing import spread

T = TypeVar("T")
_MOST_SEGMENTS = 512  # most segments of one task


def piece_bytes(task_bytes: int) -> int:
    """Return the least distance, in bytes, between positions at which a task may begin.

    The distance is a quarter of a task. It is not a half, because a piece is extended to the end of
    its last batch, so two halves would exceed the task's size.
    """
    return max(task_bytes // 4, 1)


def fewest_tasks(size_bytes: int, task_bytes: int) -> int:
    """Return the least number of tasks for some bytes.

    Args:
        size_bytes: number of bytes to read.
        task_bytes: largest size of a task.
    """
    return 2 if size_bytes > task_bytes // 2 else 1


def shared(items: Sequence[T], size_of: Callable[[T], int], task_bytes: int) -> list[list[T]]:
    """Split items, in their order, into tasks of similar size."""
    total = sum(map(size_of, items))
    return spread(items, size_of, task_bytes, fewest=fewest_tasks(total, task_bytes))


def pieces_of(partition: SurveyedPartition, start: int, stop: int) -> list[SegmentSplit]:
    """Return the pieces that have some of the offsets [start, stop), in order."""
    segments = partition.surveyed_segments
    pieces: list[SegmentSplit] = []
    reached = 0
    for index, (file, survey) in enumerate(zip(segments, partition.surveys, strict=True)):
        is_last = index + 1 == len(segments)
        limit = _limit(partition, index)
        is_below = not is_last and limit <= max(start, partition.bounds.log_start_offset)
        if is_below or file.base_offset >= stop or survey.size_bytes == 0:
            continue
        whole = _whole(partition, index, limit)
        is_judged_alike = _is_judged_alike(survey, limit)
        pieces += _pieces(whole, survey, reached, start, stop) if is_judged_alike else [whole]
        reached = min(survey.next_offset, limit)
    return pieces


def end_piece(partition: SurveyedPartition) -> SegmentSplit:
    """Return the last segment from its last proved batch on, or else the whole segment."""
    index, survey = len(partition.surveys) - 1, partition.surveys[-1]
    limit = _limit(partition, index)
    whole = _whole(partition, index, limit)
    if not _is_judged_alike(survey, limit):
        return whole
    *_, last = [whole, *_pieces(whole, survey, 0, OFFSET_MAX - 1, OFFSET_MAX)]
    return last._replace(is_plain=False)


def _is_judged_alike(survey: SegmentSurvey, limit: int) -> bool:
    """Return whether all batches are below the limit, so that task and survey agree on them."""
    highest = max(survey.highest_offset, survey.next_offset)
    return highest <= limit


def _whole(partition: SurveyedPartition, index: int, limit: int) -> SegmentSplit:
    """Return a whole segment as one piece that is not plain, since it may have faults."""
    file, survey = partition.surveyed_segments[index], partition.surveys[index]
    cleaner_offset = partition.replica.checkpoints.cleaner_offset or 0
    return SegmentSplit(
        file=file._replace(size_bytes=survey.size_bytes),
        start=0,
        stop=survey.size_bytes,
        limit_offset=limit,
        expected_offset=file.base_offset,
        start_crc=-1,
        is_last=index + 1 == len(partition.surveys),
        is_cleaned=file.base_offset < cleaner_offset,
        is_compacted=survey.has_compacted_batch or survey.next_offset <= cleaner_offset,
        is_plain=False,
    )


def task_groups(pieces: Sequence[SegmentSplit], task_bytes: int) -> list[list[SegmentSplit]]:
    """Group pieces into tasks of similar size.

    A piece is plain if the survey found no fault in it. Plain pieces and others are in separate
    tasks. Consecutive plain pieces of a segment are joined. A task begins at the start of a segment
    only if the pieces on both sides are plain: damage and missing offsets are judged by the batches
    around them, so one task must read them all.
    """
    joined: list[list[SegmentSplit]] = []
    for piece in pieces:
        if joined and not (piece.start or (piece.is_plain and joined[-1][-1].is_plain)):
            joined[-1].append(piece)
        else:
            joined.append([piece])
    groups: list[list[SegmentSplit]] = []
    for _, alike in groupby(joined, lambda several: all(piece.is_plain for piece in several)):
        packs = shared(list(alike), lambda several: cost_bytes(several, task_bytes), task_bytes)
        groups += [_rejoined(chain(*pack)) for pack in packs]
    return groups


def _rejoined(pieces: Iterable[SegmentSplit]) -> list[SegmentSplit]:
    """Join consecutive pieces of a segment in which the survey found no fault (plain pieces)."""
    found: list[SegmentSplit] = []
    for piece in pieces:
        before = found[-1] if found else piece
        is_next = (before.file, before.stop) == (piece.file, piece.start)
        if is_next and before.is_plain and piece.is_plain:
            found[-1] = before._replace(stop=piece.stop, next_offset=piece.next_offset)
        else:
            found.append(piece)
    return found


def cost_bytes(pieces: Iterable[SegmentSplit], task_bytes: int) -> int:
    """Return the cost of decoding, in bytes of large segments.

    Opening a segment takes some milliseconds, so many small segments need several tasks.
    """
    least = task_bytes // _MOST_SEGMENTS
    return sum(max(piece.size_bytes, least) for piece in pieces)


def _limit(partition: SurveyedPartition, index: int) -> int:
    """Return the exclusive upper limit of a segment's offsets: the next segment's first offset.

    The limit of the last segment is the end of the log. A batch above that limit is doubtful,
    because batches with lower offsets follow it in the file.
    """
    segments = partition.surveyed_segments
    if index + 1 == len(segments):
        return partition.bounds.log_end_offset
    following = partition.surveys[index + 1]
    # If this segment lacks offsets, its offsets above the next segment's base offset may be wrong.
    is_proved = following.is_plain and not partition.surveys[index].hole_count
    first = following.first_offset if is_proved else None
    return max(segments[index + 1].base_offset, first or 0)


def _pieces(
    whole: SegmentSplit, survey: SegmentSurvey, reached: int, start: int, stop: int
) -> Iterator[SegmentSplit]:
    """Yield the pieces of one segment that have some of the offsets [start, stop)."""
    for index, split in enumerate(survey.splits):
        following = survey.splits[index + 1] if index + 1 < len(survey.splits) else None
        if split.first_offset >= stop:
            break
        if following is not None and following.first_offset <= start:
            continue
        end = survey.next_offset if following is None else following.expected_offset
        yield whole._replace(
            start=split.position,
            stop=whole.stop if following is None else following.position,
            next_offset=end if split.is_plain else 0,
            expected_offset=max(split.expected_offset, whole.expected_offset, reached),
            start_crc=split.crc,
            is_plain=split.is_plain,
            first_offset=split.first_offset,
        )
