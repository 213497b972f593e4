"""Checks that the files of a source are still as the plan saw them. Effect."""

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.errors import SourceVanishedError


def check_size(file: SegmentFile, size_bytes: int, *, is_last: bool) -> None:
    """Require that a segment has its listed size; only the last one may have grown.

    Raises:
        SourceVanishedError: the file is shorter, or was replaced.
    """
    if size_bytes < file.size_bytes or (size_bytes != file.size_bytes and not is_last):
        raise SourceVanishedError(
            f"{file.path} has {size_bytes} bytes, {file.size_bytes} were there before"
        )
