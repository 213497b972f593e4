"""Writes one finished Parquet file of a table, with exact statistics. Effect.

Runs in tasks, on executors. A file gets a name of its own and is never overwritten. No reader sees
it until a commit names it, so an attempt that dies leaves only an unreferenced file.

Row groups are written column by column as they are encoded, so a writer needs memory for only a few
pages besides the given rows.
"""

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq

from seglake.lake.errors import SchemaError
from seglake.lake.statistics import Statistics
from seglake.lake.table_checks import check
from seglake.lake.tables import Table
from seglake.storage.errors import OutputError, StorageError
from seglake.storage.storage import Storage

# Measured: numbers that grow by small steps compress best as deltas; columns of few values (most
# are the same in every row of a file) as dictionaries; payloads without an encoding.
_DELTA_COLUMNS = {
    "records": "offset timestamp timestamp_ms",
    "batches": (
        "base_offset last_offset record_count row_count size_bytes uncompressed_bytes "
        "base_timestamp_ms max_timestamp_ms base_sequence crc position"
    ),
    "quarantine": "position length_bytes base_offset last_offset previous_offset next_offset",
    "gaps": "start_offset next_offset",
    "consumer_offsets": "offset commit_timestamp commit_timestamp_ms "
    "record_offset record_timestamp record_timestamp_ms",
    "transaction_state": "last_update_timestamp last_update_timestamp_ms "
    "record_offset record_timestamp record_timestamp_ms",
    "cluster_metadata": "record_offset",
    "remote_log_metadata": "start_offset end_offset max_timestamp max_timestamp_ms "
    "event_timestamp event_timestamp_ms record_offset record_timestamp record_timestamp_ms",
    "checkpoints": "start_offset next_offset",
    "salvaged_records": "offset timestamp timestamp_ms",
}
_PLAIN_COLUMNS = {
    "records": "key value headers.list.element.value",
    "quarantine": "raw raw_sha256",
    "consumer_offsets": "key value",
    "transaction_state": "key value",
    "remote_log_metadata": "custom_metadata key value",
    "salvaged_records": "key value headers.list.element.value",
}
# Measured: zstd compresses pages of this size as well as 1 MiB pages, in up to a tenth less time.
_PAGE_BYTES = 64 << 10
# By default Arrow ends a page after 20,000 rows, for readers of a page index, which is not written
# here. More pages would start the codec more often.
_MOST_PAGE_ROWS = 1 << 20
MOST_IN_A_FOLDER = 255 - len("topic=")
_DIGEST_LETTERS = 32
_STRANGE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]")


class DataFile(NamedTuple):
    """A finished file, as a task reports it and a commit names it.

    Attributes:
        path: path relative to the table's folder; it is the same in a URI.
        statistics_json: text of the statistics for Delta's log.
    """

    table: str
    topic: str
    path: str
    size_bytes: int
    row_count: int
    statistics_json: str


class ParquetFile:
    """A file of one topic's rows; use it in a `with` block, which abandons it unless closed.

    The file is created with the first row.
    """

    def __init__(
        self, storage: Storage, lake_path: str, table: Table, topic: str, compression_level: int = 1
    ) -> None:
        """Choose a new name in the table's folder; nothing is written yet.

        Args:
            storage: storage of the lake; borrowed.
            lake_path: folder of the lake.
            table: the table.
            topic: topic of all rows, which names the partition's folder.
            compression_level: level of zstd.
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
        """Return the bytes of the row groups so far, for a caller that cuts files by size."""
        return 0 if self._output is None else self._output.tell()

    def write(self, rows: pa.RecordBatch) -> None:
        """Append rows as one row group; every call must have the same Arrow types.

        Raises:
            SchemaError: the columns are not those of the table's files.
            TimestampRangeError: a timestamp is outside the years 0001 to 9999.
            OutputError: the storage refuses.
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
                    self._output, self._table, rows.schema, self._compression_level
                )
            self._writer.write_table(pa.Table.from_batches([rows]), row_group_size=rows.num_rows)
        except (OSError, StorageError) as error:
            raise self._failed(error) from error

    def close(self) -> DataFile | None:
        """Finish the file and return it; without rows there is no file, and the result is None.

        Raises:
            OutputError: the storage refuses.
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
            raise StorageError(action="write", path=self._path, reason="it is gone again")
        return DataFile(
            table=self._table.name,
            topic=self._topic,
            path=self._relative_path,
            size_bytes=info.size_bytes,
            row_count=self._statistics.row_count,
            statistics_json=self._statistics.to_json(),
        )

    def abandon(self) -> None:
        """Close and delete an unfinished file; does nothing after `close`."""
        if self._output is None:
            return
        if self._writer is not None:
            self._writer.is_open = False  # else its finalizer would write the end of the file
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
        """Return the error that the file cannot be written."""
        reason = error.reason if isinstance(error, StorageError) else error.strerror
        return OutputError(action="write", path=self._path, reason=reason or str(error))

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Abandon the file, unless it was closed."""
        self.abandon()


def row_groups(pieces: Iterable[pa.Table], least_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield rows in batches large enough for a row group each.

    Args:
        pieces: the rows.
        least_bytes: size of a batch in memory; the last one may be smaller.
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
    """Raise SchemaError for nulls among dictionary values, which Arrow's writer cannot store."""
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
    """Return a topic's name in its folder; the exact name is in Delta's log.

    Legal topic names are kept. Brokers before 0.10 allow 255 characters, too long for a folder with
    `topic=`: the rest is replaced by a digest.
    """
    value = _STRANGE_CHARACTERS.sub("_", topic)
    if len(value) <= MOST_IN_A_FOLDER:
        return value
    digest = hashlib.sha256(topic.encode()).hexdigest()[:_DIGEST_LETTERS]
    return f"{value[: MOST_IN_A_FOLDER - _DIGEST_LETTERS - 1]}_{digest}"


def _open_writer(
    output: BinaryIO, table: Table, schema: pa.Schema, compression_level: int
) -> pq.ParquetWriter:
    """Return a writer with an encoding for each column."""
    deltas = _DELTA_COLUMNS.get(table.name, "").split()
    without_dictionary = {*deltas, *_PLAIN_COLUMNS.get(table.name, "").split()}
    leaves = [leaf for field in table.file_schema for leaf in _leaves(field.name, field.type)]
    dictionaries = [leaf for leaf in leaves if leaf not in without_dictionary]
    numbers = [f.name for f in table.file_schema if _is_number(f.type)]
    return pq.ParquetWriter(
        output,
        schema,
        version="2.6",
        compression="zstd",
        compression_level=compression_level,
        use_dictionary=dictionaries,  # type: ignore[arg-type]  # lists too; the stubs lag
        column_encoding=dict.fromkeys(deltas, "DELTA_BINARY_PACKED"),
        data_page_size=_PAGE_BYTES,
        max_rows_per_page=_MOST_PAGE_ROWS,
        write_statistics=numbers,
        store_schema=False,
    )


def _leaves(name: str, kind: pa.DataType) -> list[str]:
    """Return the paths of the primitive columns, as Parquet names them."""
    if pa.types.is_list(kind):
        return _leaves(f"{name}.list.element", kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{name}.{field.name}", field.type)]
    return [] if pa.types.is_boolean(kind) else [name]


def _is_number(kind: pa.DataType) -> bool:
    """Return whether statistics of a type are useful: numbers and times."""
    return pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_decimal(kind)
