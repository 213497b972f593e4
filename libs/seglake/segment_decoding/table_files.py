"""The files that one task writes: one for each table and topic it meets. Effect."""

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import pyarrow as pa

from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, Table
from seglake.segment_decoding.decoded_rows import DecodedRows, joined_rows
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.storage.errors import StorageError

_BUFFERED = (BATCHES, QUARANTINE, GAPS)  # of others each flush brings many rows, or large ones
_MOST_BUFFERED_ROWS = 16_384
_MOST_BUFFERED_BYTES = 8 << 20
_CLOSED_AT_A_TIME = 8
_MOST_WAITING = 32  # to be closed: each holds a connection, or memory


@dataclass(slots=True)
class _Waiting:
    """Rows of a table that are not yet enough for a row group."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    row_count: int = 0
    size_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.row_count += batch.num_rows
        self.size_bytes += batch.nbytes

    @property
    def is_full(self) -> bool:
        return self.row_count >= _MOST_BUFFERED_ROWS or self.size_bytes >= _MOST_BUFFERED_BYTES


class TableFiles:
    """Collects the rows of one topic after another and writes them.

    End it with `finish` or with `abandon`. Files are closed in threads, while the next are
    written: on HDFS and S3 that is spent waiting.
    """

    def __init__(self, settings: DecodeSettings) -> None:
        self._settings = settings
        self._topic: str | None = None
        self._open: dict[str, ParquetFile] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._pool = ThreadPoolExecutor(_CLOSED_AT_A_TIME)
        self._closing: list[tuple[ParquetFile, Future[DataFile | None]]] = []

    def begin(self, topic: str) -> None:
        """What follows belongs to this topic."""
        if topic != self._topic:
            self._close_topic()
            self._topic = topic

    def add(self, decoded: DecodedRows) -> None:
        """Write the rows as one row group; those of small tables when there are enough of them.

        A file that is long enough is finished.
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
        """Close all files and name them."""
        self._close_topic()
        self._pool.shutdown()
        files = [future.result() for _, future in self._closing]
        return tuple(file for file in files if file is not None)

    def _write(self, table: Table, rows: pa.RecordBatch) -> None:
        file = self._open.get(table.name)
        if file is None:
            if self._topic is None:
                raise RuntimeError("rows came before their topic")
            settings = self._settings
            file = ParquetFile(
                settings.storage, settings.lake_path, table, self._topic, settings.compression_level
            )
            self._open[table.name] = file
        file.write(rows)
        if file.written_bytes >= self._settings.target_file_bytes:
            self._close(table.name)

    def _write_waiting(self, table: Table) -> None:
        waiting = self._waiting.pop(table.name, None)
        if waiting is not None:
            self._write(table, joined_rows(waiting.batches))

    def _close_topic(self) -> None:
        for table in _BUFFERED:
            self._write_waiting(table)
        for name in list(self._open):
            self._close(name)

    def _close(self, name: str) -> None:
        file = self._open.pop(name)
        self._closing.append((file, self._pool.submit(file.close)))
        if len(self._closing) > _MOST_WAITING:
            wait([self._closing[-_MOST_WAITING - 1][1]])

    def abandon(self) -> None:
        """Delete everything that was written."""
        for file in self._open.values():
            file.abandon()
        self._open.clear()
        self._pool.shutdown()
        settings = self._settings
        for file, future in self._closing:
            file.abandon()  # what could not be closed is still there
            with contextlib.suppress(StorageError):  # then there is nothing to delete, or no way
                done = future.result()
                if done is not None:
                    path = settings.storage.join(settings.lake_path, done.table, done.path)
                    settings.storage.delete(path)
        self._closing.clear()
