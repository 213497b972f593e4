"""The decode task: byte ranges of segments to Parquet files. Runs on executors. Effect.

One pass: each byte is read once, and records, batches, quarantine and the gaps between batches are
written as they come. Only the report returns to the driver, and only the task's argument is sent.
Memory: one window of the file, twice the decompressed bytes of one flush, and one row group.
"""

from contextlib import suppress

from seglake.lake.tables import RECORDS
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.segment_files import check_size
from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_decoding.refill_decoder import RefillDecoder
from seglake.segment_decoding.split_decoder import SplitDecoder
from seglake.segment_decoding.table_files import TableFiles
from seglake.segment_decoding.tasks import (
    DecodeSettings,
    DecodeTask,
    PartitionSplit,
    SplitReport,
    TaskReport,
)
from seglake.storage.errors import OutputError, StorageError, is_broken


def decode(task: DecodeTask) -> TaskReport:
    """Decode all splits of a task; an unreadable split is left out and reported."""
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
                    decoder = _decoder(split, task.settings)
                    for rows in decoder.rows():
                        files.add(rows)
                    reports.append(decoder.report())
                except OutputError:
                    raise  # the lake failed: no other split could be written either
                except _UNREADABLE as error:
                    failures |= _unreadable_splits(index, error, task)
                    break
            else:
                return TaskReport(tuple(reports), files.finish(), tuple(sorted(failures.items())))
        except BaseException:
            files.abandon()
            raise
        files.abandon()  # the files have rows of the failed split: begin again without it


def count_requested(task: DecodeTask) -> int:
    """Return the number of records that a refill would ingest; write nothing.

    An unreadable split counts up to the first error.
    """
    records = 0
    for split in task.splits:
        with suppress(*_UNREADABLE):
            for rows in _decoder(split, task.settings).rows():
                records += len(rows.rows) if rows.table is RECORDS else 0
    return records


def _decoder(split: PartitionSplit, settings: DecodeSettings) -> SplitDecoder | RefillDecoder:
    """Return the decoder of a split: for a refill if it has wanted offsets."""
    if split.requested is None:
        return SplitDecoder(split, settings)
    return RefillDecoder(split, split.requested, settings)


_UNREADABLE = (StorageError, SegmentCodecError, SourceVanishedError)


def _unreadable_splits(index: int, error: Exception, task: DecodeTask) -> dict[int, str]:
    """Return reasons by index for the split that failed and for later unreadable ones.

    A dying disk may take minutes for each bad sector. So one failed read leaves out all splits of a
    folder, and the others are read to their end once, before the task begins again.
    """
    found: dict[int, str] = {}
    broken: dict[str, str] = {}  # reasons, by folder
    for number, split in enumerate(task.splits):
        fault = error if number == index else None
        if number > index and _folder(split) not in broken:
            fault = _fault(split, task.settings)
        if fault is not None:
            found[number] = str(fault)
            if is_broken(fault):
                broken[_folder(split)] = str(fault)
    folders = enumerate(map(_folder, task.splits))
    return {number: broken[folder] for number, folder in folders if folder in broken} | found


def _folder(split: PartitionSplit) -> str:
    """Return the folder of a split's first segment."""
    return split.segment_splits[0].file.path.rpartition("/")[0]


def _fault(split: PartitionSplit, settings: DecodeSettings) -> Exception | None:
    """Return the error of reading a split's bytes; None if they can be read."""
    step = settings.window_bytes
    try:
        for piece in split.segment_splits:
            with settings.storage.open_reader(piece.file.path) as reader:
                check_size(piece.file, reader.size_bytes, is_last=piece.is_last)
                for position in range(piece.start, piece.stop, step):
                    reader.read(position, min(step, piece.stop - position))
    except (StorageError, SourceVanishedError) as error:
        return error
    return None
