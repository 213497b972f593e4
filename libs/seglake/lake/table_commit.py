"""Commits to one Delta table, durable on return. Effect, on the driver only."""

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.log_durability import sync_log, write_checkpoint
from seglake.lake.parquet_files import DataFile
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import Table
from seglake.lake.torn_logs import ACTION_COUNT

if TYPE_CHECKING:
    from deltalake.transaction import AddAction, RemoveAction, Transaction

_LOG = logging.getLogger(__name__)
_CHECKPOINT_EACH = 10  # commits, as in Spark: readers fetch every entry since the last one


class Addition(NamedTuple):
    """A finished file, and the time when its rows were written, in ms since 1970."""

    file: DataFile
    written_at_ms: int


def add_files(
    tables: LakeTables,
    table: Table,
    handle: Handle,
    additions: Iterable[Addition],
    *,
    now_ms: int,
    commit_info: Mapping[str, str],
    generations: Mapping[str, int],
    replaced: Iterable[StoredFile] = (),
) -> str:
    """Add finished files to a table in one commit, and make its log durable.

    Args:
        tables: the lake.
        table: the table.
        handle: handle at the newest version; the commit does not advance it.
        additions: the files to add.
        now_ms: time of the commit, in ms since 1970.
        commit_info: keys and values for the commit's info.
        generations: new version of each app; the commit fails if another one changed it first.
        replaced: files of the table to remove, whose rows the added files have.

    Returns:
        The failure in words, empty if there is none; the commit may yet have happened.
    """
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import Transaction

    gone = [_removal(table, file, now_ms) for file in replaced]
    added = [_addition(table, *each, changes_rows=not gone) for each in additions]
    apps = [Transaction(app, number, now_ms) for app, number in generations.items()]
    count = len(added) + len(gone) + len(apps)
    try:
        _commit(handle, table, [*added, *gone], apps, {**commit_info, ACTION_COUNT: str(count)})
    except (DeltaError, OSError, ValueError) as error:
        failure = f"{type(error).__name__}: {tables.failure('commit to', table, error).reason}"
        _LOG.debug("%s: commit failed: %s", table.name, failure)
        return failure
    # The handle stays at the version before the commit, which Delta names so.
    counts = (handle.version(), len(added), len(gone), len(apps))
    _LOG.debug("%s: committed read_version=%d added=%d removed=%d topics=%d", table.name, *counts)
    sync_log(tables, table, handle.version())
    if handle.version() % _CHECKPOINT_EACH == _CHECKPOINT_EACH - 1:  # the handle is one behind
        write_checkpoint(tables, table, handle)
    return ""


def _commit(
    handle: Handle,
    table: Table,
    actions: "list[AddAction | RemoveAction]",
    apps: "list[Transaction]",
    info: dict[str, str],
) -> None:
    """Write one commit to a table's log; the caller makes it durable."""
    from deltalake.transaction import CommitProperties, PostCommitHookProperties

    handle.create_write_transaction(
        actions,
        mode="append",
        schema=table.schema,
        partition_by=list(table.partition_by),
        commit_properties=CommitProperties(custom_metadata=info, app_transactions=apps),
        # The caller writes the checkpoint, once the commit is durable.
        post_commithook_properties=PostCommitHookProperties(False, False),
    )


def _addition(
    table: Table, file: DataFile, written_at_ms: int, *, changes_rows: bool
) -> "AddAction":
    """Return Delta's action that adds a file."""
    from deltalake.transaction import AddAction

    return AddAction(
        path=quote(file.path, safe="/="),
        size=file.size_bytes,
        partition_values=dict.fromkeys(table.partition_by, file.topic),
        modification_time=written_at_ms,
        data_change=changes_rows,
        stats=file.statistics_json,
    )


def _removal(table: Table, file: StoredFile, removed_at_ms: int) -> "RemoveAction":
    """Return Delta's action that removes a file."""
    from deltalake.transaction import RemoveAction

    return RemoveAction(
        path=file.log_path,
        data_change=False,
        deletion_timestamp=removed_at_ms,
        size=file.size_bytes,
        partition_values=dict.fromkeys(table.partition_by, file.topic),
    )


def commit_ids(
    tables: LakeTables, table: Table, handle: Handle, count: int | None
) -> set[str | None]:
    """Return the commit ids of a table's newest commits, None for a commit without one.

    Args:
        tables: the lake.
        table: the table.
        handle: the table at its newest version.
        count: number of commits to read; None reads all that the log still has.
    """
    with tables.named("read the history of", table):
        return {entry.get("commit_id") for entry in handle.history(count)}
