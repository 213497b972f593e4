"""Merges rows into a Delta table in one commit, durable on return. Runs on the driver only."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.table_commit import add_files, failure_text, make_durable, sync_files
from seglake.lake.tables import Table

_LOG = logging.getLogger(__name__)
SOURCE, TARGET = "new", "old"
"""Names in the conditions of a merge: of the merged rows, and of the table."""
_COUNTED = ("inserted", "updated", "deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """Conditions of a merge, as SQL over `new` and `old` rows.

    Attributes:
        on: whether a new row belongs to an old one.
        update_if: whether the new row replaces the old one.
        delete_if: whether an old row without a new one is removed; None removes none.
        columns: the columns to write.
    """

    on: str
    update_if: str
    delete_if: str | None
    columns: tuple[str, ...]


class MergeCounts(NamedTuple):
    """Numbers of rows that a merge has inserted, updated and deleted."""

    inserted: int = 0
    updated: int = 0
    removed: int = 0


class MergeOutcome(NamedTuple):
    """Outcome of one try to merge: why it failed ("" if it did not), and the changed rows."""

    failure: str
    counts: MergeCounts


def merge_rows(
    tables: LakeTables,
    table: Table,
    handle: Handle,
    rows: pa.RecordBatchReader,
    rules: MergeRules,
    *,
    generations: Mapping[str, int],
    commit_info: Mapping[str, str],
    now_ms: int,
) -> MergeOutcome:
    """Merge rows into a table, and set generations in the same commit.

    Only files with a row that changes are written anew. The commit fails if another commit has
    changed a file that it read, or one of the generations. A commit that failed may have happened.

    Args:
        tables: the lake.
        table: the table.
        handle: handle at the newest version.
        rows: the new rows; each belongs to at most one row of the table.
        rules: what happens to new and old rows.
        generations: new `txn` version of each application id.
        commit_info: keys and values for the commit's info.
        now_ms: time of the commit, in ms since 1970.
    """
    from deltalake.exceptions import DeltaError

    version = handle.version()
    try:
        counts = _merge(handle, rows, rules, generations, commit_info, now_ms)
    except (DeltaError, OSError, ValueError) as error:
        return MergeOutcome(failure_text(tables, table, "merge into", error), MergeCounts())
    if handle.version() == version:
        # If no row changes, delta-rs makes no commit.
        failure = add_files(
            tables,
            table,
            handle,
            [],
            now_ms=now_ms,
            commit_info=commit_info,
            generations=generations,
        )
        return MergeOutcome(failure, counts)
    _LOG.debug("%s: merged read_version=%d %s", table.name, version, counts)
    _sync_new_files(tables, table, version + 1)
    make_durable(tables, table, handle, read_version=version)
    return MergeOutcome("", counts)


def _merge(
    handle: Handle,
    rows: pa.RecordBatchReader,
    rules: MergeRules,
    generations: Mapping[str, int],
    commit_info: Mapping[str, str],
    now_ms: int,
) -> MergeCounts:
    from deltalake import WriterProperties
    from deltalake.transaction import CommitProperties, PostCommitHookProperties, Transaction

    values = {_quoted(name): f"{SOURCE}.{_quoted(name)}" for name in rules.columns}
    merger = handle.merge(
        rows,
        predicate=rules.on,
        source_alias=SOURCE,
        target_alias=TARGET,
        writer_properties=WriterProperties(compression="ZSTD", compression_level=1),
        commit_properties=CommitProperties(
            custom_metadata={**commit_info},
            # A retry could commit on a version whose generations nobody has compared.
            max_commit_retries=0,
            app_transactions=[Transaction(app, n, now_ms) for app, n in generations.items()],
        ),
        post_commithook_properties=PostCommitHookProperties(
            create_checkpoint=False, cleanup_expired_logs=False
        ),
    )
    merger = merger.when_matched_update(updates=values, predicate=rules.update_if)
    merger = merger.when_not_matched_insert(updates=values)
    if rules.delete_if is not None:
        merger = merger.when_not_matched_by_source_delete(predicate=rules.delete_if)
    metrics = merger.execute()
    return MergeCounts(*(int(metrics[f"num_target_rows_{name}"]) for name in _COUNTED))


def _sync_new_files(tables: LakeTables, table: Table, version: int) -> None:
    """Sync the data files that a version of a table added, if the storage needs it."""
    if tables.storage.needs_sync(tables.lake_path):
        entry = tables.storage.read_bytes(tables.log_entry_path(table, version))
        actions = [json.loads(line) for line in entry.splitlines()]
        added = [action["add"]["path"] for action in actions if "add" in action]
        sync_files(tables, table, map(unquote, added))


def _quoted(name: str) -> str:
    return f'"{name}"'
