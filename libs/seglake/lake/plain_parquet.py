"""Turns a finished lake into plain Parquet folders without the tables' logs.

Readers of a plain folder read every file in it. So files of failed attempts, which are not in the
newest snapshot, are deleted first. The file `_SUCCESS` is written last and marks the conversion as
complete.
"""

import io

import pyarrow.parquet as pq

from seglake.lake.delta_tables import LOG_FOLDER, LakeTables
from seglake.lake.lake_folder import SUCCESS, entries_of, files_of, holds_conversion, opening
from seglake.lake.tables import TABLES, Table
from seglake.storage.errors import LakeFolderError, StorageError
from seglake.storage.storage import Storage


def check_is_empty(storage: Storage, path: str) -> None:
    """Require that a folder is empty or does not exist.

    Raises:
        LakeFolderError: the folder is not empty, or the path is a file.
        LakeRefusedError: the storage denies access.
    """
    with opening(path):
        info = storage.info(path)
        if info is None:
            return
        if not info.is_folder:
            raise LakeFolderError(path=path, reason="it is a file")
        entries = storage.list_folder(path)
    if entries:
        is_conversion = holds_conversion(storage, path)
        held = "a conversion to Parquet" if is_conversion else entries[0].name
        raise LakeFolderError(
            path=path,
            reason=f"it has {held}, but a conversion needs an empty folder; an earlier conversion"
            f" is complete only if it has {SUCCESS}",
        )


def to_plain_parquet(tables: LakeTables, *, is_whole: bool) -> None:
    """Delete the tables' logs, and all data files that are not committed.

    No other program may use the folder meanwhile. A table without rows gets a file without rows, so
    that readers find the table's columns; empty tables of internal topics are deleted.

    Args:
        tables: the lake; afterwards it is only a folder of Parquet files.
        is_whole: whether all data was ingested, so that `_SUCCESS` is written.
    """
    storage = tables.storage
    named = {table.name: frozenset(tables.file_paths(table)) for table in TABLES}
    for table in TABLES:
        _check_listed(storage, tables.path(table), named[table.name])
    for table in TABLES:
        folder = tables.path(table)
        # Delete the log first: nobody may see a Delta table whose data files are missing.
        storage.delete_folder(storage.join(folder, LOG_FOLDER))
        for path in _files_below(storage, folder):
            if path not in named[table.name]:
                storage.delete(path)
        if not named[table.name]:
            storage.delete_folder(folder)
            if not table.topics:
                storage.write_bytes(storage.join(folder, "empty.parquet"), _without_rows(table))
    storage.delete_folder(tables.work_folder)
    if is_whole:
        storage.write_bytes(storage.join(tables.lake_path, SUCCESS), b"")


def _check_listed(storage: Storage, folder: str, named: frozenset[str]) -> None:
    """Require that the listing has all committed files, so that no committed file is deleted."""
    for path in sorted(named.difference(_files_below(storage, folder))):
        raise StorageError(action="convert", path=path, reason="it is committed but not listed")


def _files_below(storage: Storage, folder: str) -> list[str]:
    """Return the paths of all files below a folder."""
    entries = entries_of(storage, folder)
    return [file.path for entry in entries for file in files_of(storage, entry)]


def _without_rows(table: Table) -> bytes:
    """Return the bytes of a Parquet file with a table's columns and no rows."""
    content = io.BytesIO()
    pq.write_table(table.schema.empty_table(), content, store_schema=False)
    return content.getvalue()
