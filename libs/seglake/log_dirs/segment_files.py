"""Finds the upper offset limit of segments, and checks that their size has not changed."""

from collections.abc import Iterator, Sequence

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.errors import SourceVanishedError
from seglake.segment_codec.walk.segment_bounds import limit_after


def with_limits(
    files: Sequence[SegmentFile], proved_offset: int = 0
) -> Iterator[tuple[SegmentFile, int]]:
    """Return each segment of a log with the exclusive upper limit of its offsets.

    Args:
        files: segments of one log, in order.
        proved_offset: highest offset that the log is known to have reached; see `limit_after`.
    """
    limits = [file.base_offset for file in files[1:]]
    limits += [limit_after(file.base_offset, proved_offset) for file in files[-1:]]
    return zip(files, limits, strict=True)


def check_size(file: SegmentFile, size_bytes: int, *, is_last: bool) -> None:
    """Require that a segment has its listed size; the log's last segment may have grown.

    Raises:
        SourceVanishedError: the file is shorter, or was replaced.
    """
    if size_bytes < file.size_bytes or (size_bytes != file.size_bytes and not is_last):
        raise SourceVanishedError(
            f"{file.path} has {size_bytes} bytes, but had {file.size_bytes} when it was listed"
        )
