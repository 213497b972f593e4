"""Turns a finished lake into plain Parquet folders, without the tables' logs. Effect.

The tables are append-only, so the newest snapshot names all committed files. In a plain folder
every file counts, so files that no snapshot names (of attempts that were lost) are deleted first.
`_SUCCESS` is written last and marks the conversion as complete.
"""

import io

import pyarrow.parquet as pq

from seglake.lake.delta_tables import LOG_FOLDER, LakeTables
from seglake.lake.lake_folder import SUCCESS, entries_of, files_of, holds_conversion, opening
from seglake.lake.tables import TABLES, Table
from seglake.storage.errors import LakeFolderError, StorageError
from seglake.storage.storage import Storage


def check_is_empty(storage: Storage, path: str) -> None:
    """Refuse a folder that has any entry; a missing one is fine.

    Raises:
        LakeFolderError: it is not empty, or a file.
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
            reason=f"it holds {held}, and a conversion begins in an empty folder; what an earlier"
            f" one left is whole only if it has {SUCCESS}",
        )


def to_plain_parquet(tables: LakeTables, *, is_whole: bool) -> None:
    """Remove the tables' logs, and all files except the committed ones.

    Nobody else may work in the folder. A table without rows gets a file without rows, so that every
    reader finds its columns; tables of internal topics are left out.

    Args:
        tables: the lake, which is gone afterwards.
        is_whole: write `_SUCCESS`, because all data were ingested.
    """
    storage = tables.storage
    named = {table.name: frozenset(tables.file_paths(table)) for table in TABLES}
    for table in TABLES:
        _check_listed(storage, tables.path(table), named[table.name])
    for table in TABLES:
        folder = tables.path(table)
        # Delete the log first: without it nobody mistakes the rest for a table that lost files.
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
    """Require that committed files are listed by the log's names, or they would be deleted."""
    for path in sorted(named.difference(_files_below(storage, folder))):
        raise StorageError(action="convert", path=path, reason="it is committed and not listed")


def _files_below(storage: Storage, folder: str) -> list[str]:
    """Return the paths of all files below a folder."""
    entries = entries_of(storage, folder)
    return [file.path for entry in entries for file in files_of(storage, entry)]


def _without_rows(table: Table) -> bytes:
    """Return the bytes of a Parquet file with a table's columns and no rows."""
    content = io.BytesIO()
    pq.write_table(table.schema.empty_table(), content, store_schema=False)
    return content.getvalue()
