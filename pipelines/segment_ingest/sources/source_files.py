"""Whether the files of a source are still what the plan saw. Effect."""

from lake.errors import StorageError
from lake.storage import Storage
from pipelines.segment_ingest.decoding.tasks import Stretch
from pipelines.segment_ingest.errors import SourceVanishedError
from pipelines.segment_ingest.sources.partition_log import SegmentFile


def check_size(file: SegmentFile, size_bytes: int, *, is_last: bool) -> None:
    """Only the last segment may have grown; one that is closed has the size that was listed.

    Raises:
        SourceVanishedError: the file is shorter, or was replaced.
    """
    if size_bytes < file.size_bytes or (size_bytes != file.size_bytes and not is_last):
        raise SourceVanishedError(
            f"{file.path} has {size_bytes} bytes, {file.size_bytes} were there before"
        )


def unreadable(stretch: Stretch, source: Storage) -> str | None:
    """Why a stretch cannot be read, found by opening its files; None when it can."""
    try:
        for piece in stretch.slices:
            with source.open_reader(piece.file.path) as reader:
                check_size(piece.file, reader.size_bytes, is_last=piece.is_last)
    except (StorageError, SourceVanishedError) as error:
        return str(error)
    return None
