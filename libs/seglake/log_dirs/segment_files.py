"""Segment files of a listed log: where each ends, and whether one is still as listed. Effect."""

from collections.abc import Iterator, Sequence

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.errors import SourceVanishedError
from seglake.segment_codec.walk.segment_bounds import limit_after


def with_limits(
    files: Sequence[SegmentFile], proved_offset: int = 0
) -> Iterator[tuple[SegmentFile, int]]:
    """Return each segment of a log with the offset that its batches stay below.

    Args:
        files: segments of one log, in order.
        proved_offset: offset that the log reaches, for the last segment.
    """
    limits = [file.base_offset for file in files[1:]]
    limits += [limit_after(file.base_offset, proved_offset) for file in files[-1:]]
    return zip(files, limits, strict=True)


def check_size(file: SegmentFile, size_bytes: int, *, is_last: bool) -> None:
    """Require that a segment has its listed size; only the last one may have grown.

    Raises:
        SourceVanishedError: the file is shorter, or was replaced.
    """
    if size_bytes < file.size_bytes or (size_bytes != file.size_bytes and not is_last):
        raise SourceVanishedError(
            f"{file.path} has {size_bytes} bytes, {file.size_bytes} were there before"
        )
