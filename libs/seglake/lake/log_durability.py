"""Syncs tables' logs (entries first, then checkpoints), so that they survive a power cut.

delta-rs itself does not sync. On S3 and HDFS, no sync is needed.
"""

import contextlib

from seglake.lake.delta_tables import LOG_FOLDER, Handle, LakeTables
from seglake.lake.table_log import HINT
from seglake.lake.tables import Table
from seglake.storage.errors import PlaceError


def sync_log(tables: LakeTables, table: Table, version: int) -> None:
    """Sync the log entries up to a version, and later entries that exist.

    Entries of other drivers are synced too, since a driver may have died between writing and
    syncing. Entries that this driver has already synced, and entries older than a checkpoint, are
    skipped.
    """
    if not tables.storage.needs_sync(tables.lake_path):
        return
    paths = []
    end = version + 1
    while _is_there(tables, path := tables.log_entry_path(table, end)):
        paths.append(path)
        end += 1
    for older in range(version, tables.durable_ends.get(table.name, 0) - 1, -1):
        path = tables.log_entry_path(table, older)
        if not _is_there(tables, path):
            break
        paths.append(path)
        checkpoint, hint = _checkpoint_paths(tables, table, older)
        if _is_there(tables, checkpoint) and _is_there(tables, hint):
            paths += [checkpoint, hint]
            break
    if paths:
        tables.storage.sync(paths)
    tables.durable_ends[table.name] = end


def write_checkpoint(tables: LakeTables, table: Table, handle: Handle) -> None:
    """Write a checkpoint of the newest version unless it exists, and delete expired log entries.

    Failing to write a checkpoint is no error, since the next one is due soon.

    Args:
        tables: the lake.
        table: the table.
        handle: a handle; it is advanced to the newest version.

    Raises:
        StorageError: the checkpoint may not be durable.
    """
    try:
        with tables.named("read the log of", table):
            handle.update_incremental()
        paths = _checkpoint_paths(tables, table, handle.version())
        if _is_there(tables, paths[0]):
            return
    except PlaceError:
        return
    sync_log(tables, table, handle.version())
    try:
        with tables.named("write a checkpoint of", table):
            handle.create_checkpoint()
    except PlaceError:
        return
    # If another driver wrote this checkpoint, it may not have written `_last_checkpoint` yet.
    tables.storage.sync([path for path in paths if _is_there(tables, path)])
    with contextlib.suppress(PlaceError), tables.named("clean up the log of", table):
        handle.cleanup_metadata()


def _checkpoint_paths(tables: LakeTables, table: Table, version: int) -> tuple[str, str]:
    """Return the paths of a version's checkpoint and of `_last_checkpoint`."""
    checkpoint = tables.log_entry_path(table, version).removesuffix("json") + "checkpoint.parquet"
    return checkpoint, tables.storage.join(tables.path(table), LOG_FOLDER, HINT)


def _is_there(tables: LakeTables, path: str) -> bool:
    """Return whether a file of the log exists."""
    return tables.storage.info(path) is not None
