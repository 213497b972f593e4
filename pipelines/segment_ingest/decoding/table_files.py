"""The files that one task writes: one for each table and topic it meets. Effect."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from lake.parquet_files import DataFile, ParquetFile
from lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS, Table
from pipelines.segment_ingest.decoding.batch_rows import batches_table
from pipelines.segment_ingest.decoding.quarantine_rows import gaps_table, quarantine_table
from pipelines.segment_ingest.decoding.tasks import DecodeSettings

_MOST_BUFFERED_ROWS = 16_384

Row = tuple[Any, ...]


class TableFiles:
    """Collects the rows of one topic after another and writes them.

    End it with `finish` or with `abandon`.
    """

    def __init__(self, settings: DecodeSettings) -> None:
        self._settings = settings
        self._topic: str | None = None
        self._open: dict[str, ParquetFile] = {}
        self._rows: dict[str, list[Row]] = {}
        self._done: list[DataFile] = []

    def begin(self, topic: str) -> None:
        """What follows belongs to this topic."""
        if topic != self._topic:
            self._close_topic()
            self._topic = topic

    def records(self, rows: pa.RecordBatch) -> None:
        """Write rows as one row group; a file that is long enough is finished."""
        self._write(RECORDS, rows)

    def interpreted(self, table: Table, rows: pa.RecordBatch) -> None:
        """Write rows of a table that serves the topic alone; as `records` otherwise."""
        self._write(table, rows)

    def batch(self, row: Row) -> None:
        self._add(BATCHES, row, batches_table)

    def quarantine(self, row: Row) -> None:
        self._add(QUARANTINE, row, quarantine_table)

    def gap(self, row: Row) -> None:
        self._add(GAPS, row, gaps_table)

    def finish(self) -> tuple[DataFile, ...]:
        """Close all files and name them."""
        self._close_topic()
        return tuple(self._done)

    def _write(self, table: Table, rows: pa.RecordBatch) -> None:
        if rows.num_rows == 0:
            return
        file = self._file(table)
        file.write(rows)
        if file.written_bytes >= self._settings.target_file_bytes:
            self._close(table.name)

    def _add(self, table: Table, row: Row, to_arrow: Callable[[list[Row]], pa.RecordBatch]) -> None:
        rows = self._rows.setdefault(table.name, [])
        rows.append(row)
        if len(rows) >= _MOST_BUFFERED_ROWS or table is QUARANTINE:  # its rows hold raw bytes
            self._file(table).write(to_arrow(rows))
            rows.clear()

    def _file(self, table: Table) -> ParquetFile:
        file = self._open.get(table.name)
        if file is None:
            if self._topic is None:
                raise RuntimeError("rows came before their topic")
            settings = self._settings
            file = ParquetFile(
                settings.storage, settings.lake_path, table, self._topic, settings.compression_level
            )
            self._open[table.name] = file
        return file

    def _close_topic(self) -> None:
        for table, to_arrow in ((BATCHES, batches_table), (GAPS, gaps_table)):
            rows = self._rows.get(table.name)
            if rows:
                self._file(table).write(to_arrow(rows))
                rows.clear()
        for name in list(self._open):
            self._close(name)

    def _close(self, name: str) -> None:
        done = self._open.pop(name).close()
        if done is not None:
            self._done.append(done)

    def abandon(self) -> None:
        """Delete everything that was written."""
        for file in self._open.values():
            file.abandon()
        self._open.clear()
        settings = self._settings
        for done in self._done:
            settings.storage.delete(
                settings.storage.join(settings.lake_path, done.table, done.path)
            )
        self._done.clear()
