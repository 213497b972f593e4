"""Writes the data files of a task, for each table and topic with rows."""

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import pyarrow as pa

from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, Table
from seglake.segment_decoding.decoded_rows import DecodedRows, joined_rows
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.storage.errors import StorageError

# Rows of these tables are collected over several flushes; the other tables have enough per flush.
_BUFFERED = (BATCHES, QUARANTINE, GAPS)
_MOST_BUFFERED_ROWS = 16_384
_MOST_BUFFERED_BYTES = 8 << 20
_CLOSED_AT_A_TIME = 8
_MOST_WAITING = 32  # most files to be closed in threads: each needs a connection or memory


@dataclass(slots=True)
class _Waiting:
    """Rows of a small table, collected until they fill a row group."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows to the collected ones."""
        self.batches.append(batch)
        self.row_count += batch.num_rows
        self.size_bytes += batch.nbytes

    @property
    def is_full(self) -> bool:
        """Return whether the collected rows fill a row group."""
        return self.row_count >= _MOST_BUFFERED_ROWS or self.size_bytes >= _MOST_BUFFERED_BYTES


class TableFiles:
    """Writer of data files, topic after topic.

    The caller ends the writing with `finish` or `abandon`. Threads close files while the next files
    are written, since closing on HDFS and S3 is mostly waiting.
    """

    def __init__(self, settings: DecodeSettings) -> None:
        """Start with no files.

        Args:
            settings: settings of the run.
        """
        self._settings = settings
        self._topic: str | None = None
        self._open: dict[str, ParquetFile] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._pool = ThreadPoolExecutor(_CLOSED_AT_A_TIME)
        self._closing: list[tuple[ParquetFile, Future[DataFile | None]]] = []

    def begin(self, topic: str) -> None:
        """Start the rows of a topic, and close the files of the previous topic."""
        if topic != self._topic:
            self._close_topic()
            self._topic = topic

    def add(self, decoded: DecodedRows) -> None:
        """Write rows as a row group; collect rows of small tables first.

        A file that has reached its target size is closed.
        """
        table, rows = decoded
        if not len(rows):
            return
        batch = rows if isinstance(rows, pa.RecordBatch) else table.to_arrow(rows)
        if table not in _BUFFERED:
            self._write(table, batch)
            return
        waiting = self._waiting.setdefault(table.name, _Waiting())
        waiting.add(batch)
        if waiting.is_full:
            self._write_waiting(table)

    def finish(self) -> tuple[DataFile, ...]:
        """Close all files of the task, and return them."""
        self._close_topic()
        self._pool.shutdown()
        files = [future.result() for _, future in self._closing]
        return tuple(file for file in files if file is not None)

    def _write(self, table: Table, rows: pa.RecordBatch) -> None:
        """Write rows to the table's open file, and close it at its target size."""
        file = self._open.get(table.name)
        if file is None:
            if self._topic is None:
                raise RuntimeError("rows were added before `begin` named their topic")
            settings = self._settings
            file = ParquetFile(
                settings.storage, settings.lake_path, table, self._topic, settings.compression_level
            )
            self._open[table.name] = file
        file.write(rows)
        if file.written_bytes >= self._settings.target_file_bytes:
            self._close(table.name)

    def _write_waiting(self, table: Table) -> None:
        """Write the collected rows of a small table as a row group."""
        waiting = self._waiting.pop(table.name, None)
        if waiting is not None:
            self._write(table, joined_rows(waiting.batches))

    def _close_topic(self) -> None:
        """Close all files of the current topic."""
        for table in _BUFFERED:
            self._write_waiting(table)
        for name in list(self._open):
            self._close(name)

    def _close(self, name: str) -> None:
        """Close a table's open file in a thread."""
        file = self._open.pop(name)
        self._closing.append((file, self._pool.submit(file.close)))
        if len(self._closing) > _MOST_WAITING:
            wait([self._closing[-_MOST_WAITING - 1][1]])

    def abandon(self) -> None:
        """Delete all files that the task has written."""
        for file in self._open.values():
            file.abandon()
        self._open.clear()
        self._pool.shutdown()
        settings = self._settings
        for file, future in self._closing:
            file.abandon()  # delete files that could not be closed, too
            # ignore a file that is gone or cannot be deleted
            with contextlib.suppress(StorageError):
                done = future.result()
                if done is not None:
                    path = settings.storage.join(settings.lake_path, done.table, done.path)
                    settings.storage.delete(path)
        self._closing.clear()
