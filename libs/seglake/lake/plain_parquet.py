"""Makes plain Parquet folders of a finished lake: what is left when the tables' logs go. Effect.

The tables only take appends, so the newest snapshot's files are all that was ever committed. In a
plain folder every file counts, so those that no snapshot names (of attempts that were lost) go
first; `_SUCCESS` comes last and says that all of it was done.
"""

import io

import pyarrow.parquet as pq

from seglake.lake.delta_tables import LOG_FOLDER, LakeTables
from seglake.lake.lake_folder import SUCCESS, entries_of, files_of, holds_conversion, opening
from seglake.lake.tables import TABLES, Table
from seglake.storage.errors import LakeFolderError, StorageError
from seglake.storage.storage import Storage


def check_is_empty(storage: Storage, path: str) -> None:
    """Refuse a folder that holds anything; one that is not there yet is fine.

    Raises:
        LakeFolderError: it is not empty, or a file.
        LakeRefusedError: the storage does not let us look.
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
    """Take the tables' logs away, and all files but those that were committed.

    Nobody else may work in the folder. What is not whole gets no `_SUCCESS`. A table without rows
    gets a file without rows, so that every reader finds its columns; one of internal topics is
    left out.
    """
    storage = tables.storage
    named = {table.name: frozenset(tables.file_paths(table)) for table in TABLES}
    for table in TABLES:
        _check_listed(storage, tables.path(table), named[table.name])
    for table in TABLES:
        folder = tables.path(table)
        # The log first: once it is gone, nobody takes what follows for a table that lost files.
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
    """See that committed files are listed by the names that the log has, else they would go too."""
    for path in sorted(named.difference(_files_below(storage, folder))):
        raise StorageError(action="convert", path=path, reason="it is committed and not listed")


def _files_below(storage: Storage, folder: str) -> list[str]:
    entries = entries_of(storage, folder)
    return [file.path for entry in entries for file in files_of(storage, entry)]


def _without_rows(table: Table) -> bytes:
    content = io.BytesIO()
    pq.write_table(table.schema.empty_table(), content, store_schema=False)
    return content.getvalue()
