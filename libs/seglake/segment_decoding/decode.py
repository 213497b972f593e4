"""The decode task: byte ranges of segments to Parquet files. Runs on executors. Effect.

One pass: each byte is read once, and records, batches, quarantine and the gaps between batches are
written as they come. Only the report goes back to the driver. Ships: nothing but its argument.
Memory: one window of the file, the decompressed bytes of one flush twice, one row group.
"""

from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.segment_files import check_size
from seglake.segment_codec.errors import SegmentCodecError
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.segment_decoding.table_files import TableFiles
from seglake.segment_decoding.tasks import DecodeTask, PartitionSplit, SplitReport, TaskReport
from seglake.storage.errors import OutputError, StorageError
from seglake.storage.storage import Storage


def decode(task: DecodeTask) -> TaskReport:
    """Decode all splits of a task; one that cannot be read is left out, the others go on."""
    failures: dict[int, str] = {}
    while True:
        files = TableFiles(task.settings)
        reports: list[SplitReport | None] = []
        try:
            for index, split in enumerate(task.splits):
                if index in failures:
                    reports.append(None)
                    continue
                files.begin(split.key.topic)
                try:
                    decoder = SplitDecoder(split, task.settings)
                    for rows in decoder.rows():
                        files.add(rows)
                    reports.append(decoder.report())
                except OutputError:
                    raise  # the lake's doing: no other split could be taken either
                except _UNREADABLE as error:
                    failures |= {index: str(error), **_unreadable_behind(index, task)}
                    break
            else:
                return TaskReport(tuple(reports), files.finish(), tuple(sorted(failures.items())))
        except BaseException:
            files.abandon()
            raise
        files.abandon()  # rows of the failed split are among the others: begin again without it


_UNREADABLE = (StorageError, SegmentCodecError, SourceVanishedError)


def _unreadable_behind(index: int, task: DecodeTask) -> dict[int, str]:
    """Which of the splits that follow cannot be read either: not found out one by one."""
    behind = enumerate(task.splits[index + 1 :], start=index + 1)
    reasons = ((later, _unreadable(split, task.settings.storage)) for later, split in behind)
    return {later: reason for later, reason in reasons if reason is not None}


def _unreadable(split: PartitionSplit, source: Storage) -> str | None:
    """Why a split cannot be read, found by opening its files; None when it can."""
    try:
        for piece in split.segment_splits:
            with source.open_reader(piece.file.path) as reader:
                check_size(piece.file, reader.size_bytes, is_last=piece.is_last)
    except (StorageError, SourceVanishedError) as error:
        return str(error)
    return None
