"""Task that decodes byte ranges of segments to Parquet files. Runs on executors.

Each byte is read once. The rows of `records`, `batches`, `quarantine` and `gaps` are written in the
same pass, and only a report returns to the driver.

Memory: one window of the file, twice the decompressed bytes of one flush, and one row group.
"""

from contextlib import suppress

from seglake.lake.tables import RECORDS
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.segment_files import check_size
from seglake.log_dirs.segment_reader import open_segment
from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_decoding.erased_rows import ErasedRows, ErasingDecoder
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
    """Decode all splits of a task; skip an unreadable split, and report it."""
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
                    raise  # if the lake cannot be written, no split can succeed
                except _UNREADABLE as error:
                    failures |= _unreadable_splits(index, error, task)
                    break
            else:
                return TaskReport(tuple(reports), files.finish(), tuple(sorted(failures.items())))
        except BaseException:
            files.abandon()
            raise
        # the files already have rows of the failed split: delete them and decode without it
        files.abandon()


def count_requested(task: DecodeTask) -> int:
    """Count the records that a refill from an older copy would ingest, and write nothing.

    An unreadable split is counted up to its first error.
    """
    records = 0
    for split in task.splits:
        with suppress(*_UNREADABLE):
            for rows in _decoder(split, task.settings).rows():
                records += len(rows.rows) if rows.table is RECORDS else 0
    return records


def _decoder(
    split: PartitionSplit, settings: DecodeSettings
) -> SplitDecoder | ErasingDecoder | RefillDecoder:
    """Return the decoder of a split: a RefillDecoder if only certain offsets are requested."""
    erased = ErasedRows.of(split, settings)
    if split.requested is not None:
        return RefillDecoder(split, split.requested, settings, erased)
    decoder = SplitDecoder(split, settings)
    return decoder if erased is None else ErasingDecoder(decoder, erased)


_UNREADABLE = (StorageError, SegmentCodecError, SourceVanishedError)


def _unreadable_splits(index: int, error: Exception, task: DecodeTask) -> dict[int, str]:
    """Return the reason for each unreadable split, by index: the failed split and some later ones.

    A failing disk may take minutes per bad sector. So after a failed read, all later splits in the
    same folder are skipped, and splits in other folders are read once in full before the task
    starts again.
    """
    found: dict[int, str] = {}
    broken: dict[str, str] = {}  # why the files of a folder are unreadable
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
    """Read all bytes of a split; return the error of the read, None if all are readable."""
    step = settings.window_bytes
    try:
        for piece in split.segment_splits:
            with open_segment(settings.storage, piece.file) as reader:
                check_size(piece.file, reader.size_bytes, is_last=piece.is_last)
                for position in range(piece.start, piece.stop, step):
                    reader.read(position, min(step, piece.stop - position))
    except (StorageError, SourceVanishedError) as error:
        return error
    return None
