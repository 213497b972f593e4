"""Rewrites a data file with some of its rows, or with changed rows. Runs in tasks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import RowCountError
from seglake.lake.parquet_files import DataFile, ParquetFile, row_groups
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import Table
from seglake.storage.storage import Storage

_ROW_GROUP_BYTES = 32 << 20  # uncompressed size of each new row group


@dataclass(frozen=True, slots=True, kw_only=True)
class OldFile:
    """Data file to be rewritten.

    Attributes:
        compression_level: zstd level of the new file.
    """

    storage: Storage
    lake_path: str
    table: Table
    file: StoredFile
    compression_level: int

    @classmethod
    def of(cls, tables: LakeTables, table: Table, file: StoredFile, compression_level: int) -> Self:
        """Return a data file of a lake's table."""
        return cls(
            storage=tables.storage,
            lake_path=tables.lake_path,
            table=table,
            file=file,
            compression_level=compression_level,
        )

    def check_count(self, found: int) -> None:
        """Raise RowCountError if the file has another number of rows than Delta's log states."""
        expected = self.file.row_count
        if expected is not None and expected != found:
            raise RowCountError(
                table=self.table.name, path=self.file.path, expected=expected, found=found
            )


def write_again(
    old: OldFile, schema: pa.Schema, rows: Iterable[pa.Table], *, lost: int
) -> DataFile | None:
    """Write the new file and return it; None if it would have no rows.

    Args:
        old: the old file.
        schema: columns of the old file, which may lack later columns of the table.
        rows: rows of the new file, with these columns.
        lost: number of rows of the old file that the new one lacks.

    Raises:
        RowCountError: the files have another number of rows than Delta's log says.
        OutputError: the new file cannot be written.
    """
    partitions = [old.table.schema.field(name) for name in old.table.partition_by]
    table = old.table._replace(schema=pa.schema([*schema, *partitions]))
    with ParquetFile(
        old.storage, old.lake_path, table, old.file.topic or "", old.compression_level
    ) as output:
        for group in row_groups(rows, _ROW_GROUP_BYTES):
            output.write(group)
        old.check_count(output.row_count + lost)
        return output.close()
