"""Whether the files of a source are still what the plan saw. Effect."""

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.errors import SourceVanishedError


def check_size(file: SegmentFile, size_bytes: int, *, is_last: bool) -> None:
    """Only the last segment may have grown; one that is closed has the size that was listed.

    Raises:
        SourceVanishedError: the file is shorter, or was replaced.
    """
    if size_bytes < file.size_bytes or (size_bytes != file.size_bytes and not is_last):
        raise SourceVanishedError(
            f"{file.path} has {size_bytes} bytes, {file.size_bytes} were there before"
        )
