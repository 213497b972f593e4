"""Commits to one Delta table, durable on return. Runs on the driver only."""

import logging
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.log_durability import write_checkpoint
from seglake.lake.parquet_files import DataFile, RemovedFile
from seglake.lake.table_view import TableView
from seglake.lake.tables import Table
from seglake.lake.torn_logs import ACTION_COUNT

if TYPE_CHECKING:
    from deltalake.transaction import AddAction, RemoveAction, Transaction

_LOG = logging.getLogger(__name__)
CHECKPOINT_EACH = 10
"""Interval of checkpoints in commits, as in Spark; readers read all entries since a checkpoint."""


class Addition(NamedTuple):
    """A finished file, and when its rows were written, in ms since 1970; None for the commit."""

    file: DataFile
    written_at_ms: int | None = None


class Removal(NamedTuple):
    """A file to remove.

    Attributes:
        loses_rows: whether the added files lack some of this file's rows. If so, the commit fails
            after any other commit since the handle's version, because Delta accepts the removal of
            a file that another tool has just compacted.
    """

    file: RemovedFile
    loses_rows: bool


def sync_files(tables: LakeTables, table: Table, paths: Iterable[str]) -> None:
    """Sync data files of a table to the disk, so that they survive a power cut.

    Args:
        tables: the lake.
        table: the table.
        paths: the files' paths, relative to the table's folder.
    """
    folder = tables.path(table)
    tables.storage.sync(sorted(tables.storage.join(folder, path) for path in paths))


def add_files(
    view: TableView,
    additions: Iterable[Addition],
    *,
    commit_info: Mapping[str, str],
    generations: Mapping[str, int],
    now_ms: int | None = None,
    removals: Iterable[Removal] = (),
) -> str:
    """Add finished files to a table in one commit, and make its log durable.

    Args:
        view: the newest version of the table.
        additions: the files to add.
        commit_info: keys and values for the commit's info.
        generations: new `txn` version of each application id; the commit fails if another commit
            has changed one of these ids since this version.
        now_ms: time of the commit, in ms since 1970; None for now.
        removals: files to remove; the added files have all or some of their rows.

    Returns:
        The failure as text, which is empty if there is none. A commit that failed may have
        happened.
    """
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import Transaction

    table, now_ms = view.table, time.time_ns() // 1_000_000 if now_ms is None else now_ms
    removed = [*removals]
    loses_rows = any(removal.loses_rows for removal in removed)
    changes_rows = loses_rows or not removed
    gone = [_removal(table, each.file, now_ms, changes_rows=changes_rows) for each in removed]
    added = [_addition(table, each, now_ms, changes_rows=changes_rows) for each in additions]
    apps = [Transaction(app, number, now_ms) for app, number in generations.items()]
    count = len(added) + len(gone) + len(apps)
    try:
        info = {**commit_info, ACTION_COUNT: str(count)}
        _commit(view, [*added, *gone], apps, info, is_retried=not loses_rows)
    except (DeltaError, OSError, ValueError) as error:
        return _failure_text(view, error)
    # The handle stays at the version before the commit, which Delta calls the read version.
    counts = (view.version, len(added), len(gone), len(apps))
    _LOG.debug("%s: committed read_version=%d added=%d removed=%d topics=%d", table.name, *counts)
    _make_durable(view)
    return ""


def _failure_text(view: TableView, error: Exception) -> str:
    """Return why a commit failed, as text for the run's summary; also write it to the debug log."""
    reason = view.tables.failure("commit to", view.table, error).reason
    failure = f"{type(error).__name__}: {reason}"
    _LOG.debug("%s: commit failed: %s", view.table.name, failure)
    return failure


def _make_durable(view: TableView) -> None:
    """Sync the log with the commit after a version, and write a checkpoint if one is due."""
    view.make_durable()
    # If another run commits meanwhile, a multiple of ten may be skipped. The next multiple then
    # gets the checkpoint, which only costs readers time.
    if view.version % CHECKPOINT_EACH == CHECKPOINT_EACH - 1:
        write_checkpoint(view.tables, view.table, view.handle)


def _commit(
    view: TableView,
    actions: "list[AddAction | RemoveAction]",
    apps: "list[Transaction]",
    info: dict[str, str],
    *,
    is_retried: bool,
) -> None:
    """Write a commit to a table's log, without a sync.

    Unless `is_retried`, the commit must directly follow the handle's version.
    """
    from deltalake.transaction import CommitProperties, PostCommitHookProperties

    view.handle.create_write_transaction(
        actions,
        mode="append",
        schema=view.table.schema,
        partition_by=list(view.table.partition_by),
        commit_properties=CommitProperties(
            custom_metadata=info,
            app_transactions=apps,
            max_commit_retries=None if is_retried else 0,
        ),
        # No checkpoint yet: the caller writes it when the commit is durable.
        post_commithook_properties=PostCommitHookProperties(False, False),
    )


def empty_table(
    view: TableView,
    schema: pa.Schema,
    *,
    commit_info: Mapping[str, str],
    generations: Mapping[str, int],
) -> str:
    """Remove all rows of an unpartitioned table, and change its columns, in one commit.

    The commit fails if any other commit was made since this version. For the arguments and
    the result see `add_files`.
    """
    from deltalake.exceptions import DeltaError
    from deltalake.transaction import CommitProperties, PostCommitHookProperties, Transaction

    now_ms = time.time_ns() // 1_000_000
    apps = [Transaction(app, number, now_ms) for app, number in generations.items()]
    changes_columns = view.table.schema.names != schema.names
    count = len(view.handle.file_uris()) + len(apps) + changes_columns
    try:
        view.handle.create_write_transaction(
            [],
            mode="overwrite",
            schema=schema,
            partition_by=[],
            commit_properties=CommitProperties(
                custom_metadata={**commit_info, ACTION_COUNT: str(count)},
                app_transactions=apps,
                max_commit_retries=0,
            ),
            post_commithook_properties=PostCommitHookProperties(False, False),
        )
    except (DeltaError, OSError, ValueError) as error:
        return _failure_text(view, error)
    _LOG.debug("%s: emptied read_version=%d", view.table.name, view.version)
    _make_durable(view)
    return ""


def _addition(table: Table, added: Addition, now_ms: int, *, changes_rows: bool) -> "AddAction":
    """Return Delta's add action for a data file."""
    from deltalake.transaction import AddAction

    file, written_at_ms = added
    return AddAction(
        path=quote(file.path, safe="/="),
        size=file.size_bytes,
        partition_values=dict.fromkeys(table.partition_by, file.topic),
        modification_time=now_ms if written_at_ms is None else written_at_ms,
        data_change=changes_rows,
        stats=file.statistics_json,
    )


def _removal(
    table: Table, file: RemovedFile, removed_at_ms: int, *, changes_rows: bool
) -> "RemoveAction":
    """Return Delta's remove action for a data file."""
    from deltalake.transaction import RemoveAction

    return RemoveAction(
        path=file.log_path,
        data_change=changes_rows,
        deletion_timestamp=removed_at_ms,
        size=file.size_bytes,
        partition_values=dict.fromkeys(table.partition_by, file.topic),
    )


def commit_ids(view: TableView, count: int | None) -> set[str | None]:
    """Return the ids of a table's newest commits; None for a commit without an id.

    Args:
        view: the newest version of the table.
        count: number of commits to read; None reads all in the log.
    """
    with view.tables.named("read the history of", view.table):
        return {entry.get("commit_id") for entry in view.handle.history(count)}
