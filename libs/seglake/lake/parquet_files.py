"""Writes a Parquet file of a table, with exact statistics.

Runs in tasks, on executors. A file gets a unique name and is never overwritten. Readers see it only
after a commit adds it, so a task that dies leaves only an unreferenced file.

Row groups are encoded and written column by column, so a writer needs memory for a few pages
besides the given rows.
"""

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple, Self
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from seglake.lake.column_encodings import encodings
from seglake.lake.errors import SchemaError
from seglake.lake.statistics import Statistics
from seglake.lake.table_checks import check
from seglake.lake.tables import Table
from seglake.storage.errors import OutputError, StorageError
from seglake.storage.storage import Storage

# Measured: files are as small as with 1 MiB pages, and zstd takes up to a tenth less time.
_PAGE_BYTES = 64 << 10
# Arrow's default of 20,000 rows is for page indexes, which seglake does not write. With fewer
# pages, the codec starts less often.
_MOST_PAGE_ROWS = 1 << 20
MOST_IN_A_FOLDER = 255 - len("topic=")
_DIGEST_LETTERS = 32
_STRANGE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]")


class DataFile(NamedTuple):
    """A finished file: a task reports it, and a commit adds it to the table.

    Attributes:
        path: path relative to the table's folder, without characters that need URI encoding.
        statistics_json: the statistics as JSON for Delta's log.
    """

    table: str
    topic: str
    path: str
    size_bytes: int
    row_count: int
    statistics_json: str


class RemovedFile(NamedTuple):
    """A data file that a commit removes from a table.

    Attributes:
        topic: topic of the file; None if the table is not partitioned.
        log_path: path in the table's log, relative to the table's folder and URL-encoded.
    """

    topic: str | None
    log_path: str
    size_bytes: int

    @property
    def name(self) -> str:
        """Return the name of the file, without folders."""
        return unquote(self.log_path).rpartition("/")[2]


class ParquetFile:
    """New file for rows of one topic; leaving a `with` block deletes an unclosed file.

    The file is created when the first rows are written.
    """

    def __init__(
        self, storage: Storage, lake_path: str, table: Table, topic: str, compression_level: int = 1
    ) -> None:
        """Choose a unique name in the table's folder; nothing is written yet.

        Args:
            storage: storage of the lake.
            lake_path: folder of the lake.
            table: the table.
            topic: topic of all rows, which names the partition folder.
            compression_level: zstd level.
        """
        self._storage = storage
        self._table = table
        self._topic = topic
        self._compression_level = compression_level
        self._relative_path = _new_path(table, topic)
        self._path = storage.join(lake_path, table.name, self._relative_path)
        self._statistics = Statistics(table)
        self._arrow_schema: pa.Schema | None = None
        self._output: BinaryIO | None = None
        self._writer: pq.ParquetWriter | None = None

    @property
    def row_count(self) -> int:
        """Return the number of rows written so far."""
        return self._statistics.row_count

    @property
    def written_bytes(self) -> int:
        """Return the total size in bytes of all row groups written so far."""
        return 0 if self._output is None else self._output.tell()

    def write(self, rows: pa.RecordBatch) -> None:
        """Append rows as one row group; all calls must have the same Arrow types.

        Raises:
            SchemaError: the columns differ from the table's files.
            TimestampRangeError: a timestamp is outside the years 0001 to 9999.
            OutputError: writing failed.
        """
        check(self._table, rows.schema)
        if rows.num_rows == 0:
            return
        self._check_same_types(rows.schema)
        _check_dictionaries(self._table, rows)
        self._statistics.add(rows)
        try:
            if self._writer is None:
                self._output = self._storage.open_output(self._path)
                self._writer = _open_writer(
                    self._output, self._table, rows, self._compression_level
                )
            self._writer.write_table(pa.Table.from_batches([rows]), row_group_size=rows.num_rows)
        except (OSError, StorageError) as error:
            raise self._failed(error) from error

    def close(self) -> DataFile | None:
        """Finish the file and return it; None if no rows were written, so that no file exists.

        Raises:
            OutputError: writing failed.
            StorageError: the file has vanished.
        """
        if self._writer is None or self._output is None:
            return None
        try:
            self._writer.close()
            self._output.close()
        except (OSError, StorageError) as error:
            raise self._failed(error) from error
        self._writer = self._output = None
        info = self._storage.info(self._path)
        if info is None:
            raise StorageError(action="write", path=self._path, reason="it has vanished")
        return DataFile(
            table=self._table.name,
            topic=self._topic,
            path=self._relative_path,
            size_bytes=info.size_bytes,
            row_count=self._statistics.row_count,
            statistics_json=self._statistics.to_json(),
        )

    def abandon(self) -> None:
        """Delete an unfinished file; do nothing after `close`."""
        if self._output is None:
            return
        if self._writer is not None:
            # Otherwise the writer's finalizer would write the footer.
            self._writer.is_open = False
        output, self._writer, self._output = self._output, None, None
        self._storage.discard(output, self._path)

    def _check_same_types(self, schema: pa.Schema) -> None:
        """Raise SchemaError if the Arrow types differ from those of the first rows."""
        first = schema if self._arrow_schema is None else self._arrow_schema
        differences = [
            f"column {now.name} was {before.type} in the first rows and is now {now.type}"
            for before, now in zip(first, schema, strict=True)
            if before.type != now.type
        ]
        if differences:
            raise SchemaError(table=self._table.name, differences=differences)
        self._arrow_schema = first

    def _failed(self, error: OSError | StorageError) -> OutputError:
        """Return the error for a file that cannot be written."""
        reason = error.reason if isinstance(error, StorageError) else error.strerror
        return OutputError(action="write", path=self._path, reason=reason or str(error))

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Delete the file, unless it was closed."""
        self.abandon()


def row_groups(pieces: Iterable[pa.Table], least_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield rows in batches that are each large enough for a row group.

    Args:
        pieces: the rows.
        least_bytes: least size of a batch in memory; the last batch may be smaller.
    """
    waiting: list[pa.Table] = []
    size_bytes = 0
    for piece in pieces:
        waiting.append(piece)
        size_bytes += piece.nbytes
        if size_bytes >= least_bytes:
            yield from pa.concat_tables(waiting).combine_chunks().to_batches()
            waiting, size_bytes = [], 0
    if waiting:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches()


def _check_dictionaries(table: Table, rows: pa.RecordBatch) -> None:
    """Raise SchemaError for nulls in dictionaries, which Arrow's writer cannot store."""
    differences = [
        f"column {name} has a null inside its dictionary"
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
        if isinstance(column, pa.DictionaryArray) and column.dictionary.null_count
    ]
    if differences:
        raise SchemaError(table=table.name, differences=differences)


def _new_path(table: Table, topic: str) -> str:
    """Return a unique path, relative to the table's folder."""
    name = f"{uuid.uuid4().hex}.parquet"
    if not table.partition_by:
        return name
    return f"{table.partition_by[0]}={folder_value(topic)}/{name}"


def folder_value(topic: str) -> str:
    """Return a topic's name as it is in its partition folder; Delta's log has the exact name.

    Most topic names are used unchanged. Brokers before Kafka 0.10 allow 255 characters, which is
    too long for a folder name that begins with `topic=`. In that case, the end of the topic's name
    is replaced by a digest.
    """
    value = _STRANGE_CHARACTERS.sub("_", topic)
    if len(value) <= MOST_IN_A_FOLDER:
        return value
    digest = hashlib.sha256(topic.encode()).hexdigest()[:_DIGEST_LETTERS]
    return f"{value[: MOST_IN_A_FOLDER - _DIGEST_LETTERS - 1]}_{digest}"


def _open_writer(
    output: BinaryIO, table: Table, rows: pa.RecordBatch, compression_level: int
) -> pq.ParquetWriter:
    """Return a Parquet writer with the encoding of each column; `rows` are the first ones."""
    dictionaries, deltas = encodings(table, rows)
    numbers = [f.name for f in table.file_schema if _is_number(f.type)]
    return pq.ParquetWriter(
        output,
        rows.schema,
        version="2.6",
        compression="zstd",
        compression_level=compression_level,
        use_dictionary=dictionaries,  # type: ignore[arg-type]  # a list is allowed; the stubs lag
        column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
        data_page_size=_PAGE_BYTES,
        max_rows_per_page=_MOST_PAGE_ROWS,
        write_statistics=numbers,
        store_schema=False,
    )


def _is_number(kind: pa.DataType) -> bool:
    """Return whether a type is a number or a time, so that its statistics are useful."""
    return pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_decimal(kind)
