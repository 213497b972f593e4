"""The decode task: byte ranges of segments to Parquet files. Runs on executors. Effect.

One pass: each byte is read once, and records, batches, quarantine and the gaps between batches are
written as they come. Only the report goes back to the driver. Ships: nothing but its argument.
Memory: one window of the file, the decompressed bytes of one flush twice, one row group.
"""

from lake.errors import OutputError, StorageError
from pipelines.segment_ingest.decoding.stretch_decoder import StretchDecoder
from pipelines.segment_ingest.decoding.table_files import TableFiles
from pipelines.segment_ingest.decoding.tasks import DecodeTask, StretchReport, TaskReport
from pipelines.segment_ingest.errors import SourceVanishedError
from pipelines.segment_ingest.sources.source_files import unreadable
from segment_codec.errors import SegmentCodecError
from segment_codec.transactions import Markers


def decode(task: DecodeTask) -> TaskReport:
    """Decode all stretches of a task; one that cannot be read is left out, the others go on."""
    failures: dict[int, str] = {}
    for index, stretch in enumerate(task.stretches):  # before any work, not one by one after it
        reason = unreadable(stretch, task.settings.storage)
        if reason is not None:
            failures[index] = reason
    while True:
        files = TableFiles(task.settings)
        reports: list[StretchReport | None] = []
        try:
            for index, stretch in enumerate(task.stretches):
                if index in failures:
                    reports.append(None)
                    continue
                files.begin(stretch.key.topic)
                try:
                    decoder = StretchDecoder(
                        stretch, Markers(stretch.markers), task.settings, files
                    )
                    reports.append(decoder.run())
                except OutputError:
                    raise  # the lake's doing: no other stretch could be taken either
                except _UNREADABLE as error:
                    failures[index] = str(error)
                    break
            else:
                return TaskReport(tuple(reports), files.finish(), tuple(sorted(failures.items())))
        except BaseException:
            files.abandon()
            raise
        files.abandon()  # rows of the failed stretch are among the others: begin again without it


_UNREADABLE = (StorageError, SegmentCodecError, SourceVanishedError)
