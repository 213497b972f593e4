"""Opens and reads the Delta tables of a lake. Runs on the driver only.

Only this module, `table_changes`, `table_commit`, `table_creation` and `vacuum` import deltalake.
They do so inside of functions: deltalake must not be loaded before a process forks, nor in a
worker.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from seglake.lake.errors import NotALakeError, TableRefusedError, UnsafeStoreError, in_one_line
from seglake.lake.lake_folder import entries_of, opening, unusable_name, why_no_lake
from seglake.lake.lake_format import refuse_newer, refuse_older
from seglake.lake.parquet_rows import read_files
from seglake.lake.table_checks import check_whole, foreign_features
from seglake.lake.table_log import TableLog, TableState
from seglake.lake.tables import CHECKPOINTS, RECORDS, REQUIRED_TABLES, TABLES, CommitTables, Table
from seglake.lake.torn_logs import refuse_cut_entry, refuse_torn_log
from seglake.storage.errors import LakeFolderError, PlaceError
from seglake.storage.storage import FileInfo, Storage

if TYPE_CHECKING:
    from deltalake import DeltaTable as DeltaTable

Handle: TypeAlias = "DeltaTable"
"""delta-rs's handle on one version of a table."""

LOG_FOLDER = "_delta_log"
OWN_FOLDER = "_seglake"


class LakeTables:
    """Tables of a lake; each `open` and each `newest` reads the newest version."""

    def __init__(self, lake_path: str, storage: Storage) -> None:
        """Store the lake's path and storage; nothing is read yet."""
        self.lake_path = lake_path
        self.storage = storage
        self._are_there = False  # whether all mandatory tables exist; True is final
        # Handles that `newest` returned, by table, with the storage options at opening.
        self._handles: dict[str, tuple[dict[str, str], Handle]] = {}
        self._logs: dict[str, TableLog] = {}
        self._checked: dict[str, object] = {}  # per table: the facts of a state that passed `check`
        self._whole_versions: dict[str, int] = {}  # per table: version whose log entry is complete
        self.own_versions: dict[str, int] = {}  # per table: version without foreign changes
        self.durable_ends: dict[str, int] = {}  # per table: version up to which the log is durable
        # Folders for files that are not part of any table.
        self.work_folder = storage.join(lake_path, RECORDS.name, OWN_FOLDER)
        self.replay_folder = storage.join(self.work_folder, "replay")
        self._probe_folder = storage.join(self.work_folder, "probe")

    def path(self, table: Table) -> str:
        """Return the path of a table's folder."""
        return self.storage.join(self.lake_path, table.name)

    def redo_folder_of(self, commits_to: CommitTables) -> str:
        """Return the redo files' folder for one kind of commits, which is in the deciding table."""
        return self.storage.join(self.path(commits_to.deciding), OWN_FOLDER, "redo")

    def log_entry_path(self, table: Table, version: int) -> str:
        """Return the path of the log entry of a table's version."""
        return self.storage.join(self._log_folder(table), f"{version:020d}.json")

    def _log_folder(self, table: Table) -> str:
        """Return the path of a table's `_delta_log`."""
        return self.storage.join(self.path(table), LOG_FOLDER)

    @property
    def options(self) -> dict[str, str]:
        """Return the options with which delta-rs opens the lake's storage."""
        return {**self.storage.delta_options(self.lake_path)}

    @property
    def scratch_folders(self) -> tuple[str, str]:
        """Return the folders for scratch files, which only the process that wrote them uses."""
        return self.replay_folder, self._probe_folder

    def source_ids(self, handle: "Handle | None" = None) -> list[str]:
        """Return the sources in the ledger, sorted; by default in its newest version."""
        return self._named_in_ledger("source_id", handle)

    def topics(self) -> list[str]:
        """Return the topics in the ledger, of all sources, sorted."""
        return self._named_in_ledger("topic")

    def exists(self) -> bool:
        """Return whether all mandatory tables of a lake exist.

        Raises:
            LakeRefusedError: the storage denies access.
        """
        if not self._are_there:
            self.check_path()
            with opening(self.lake_path):
                self._are_there = all(map(self.has, REQUIRED_TABLES))
        return self._are_there

    def require(self) -> None:
        """Require that all mandatory tables exist.

        Raises:
            NotALakeError: a table is missing.
            LakeRefusedError: the storage denies access.
        """
        self.check_path()
        with opening(self.lake_path):
            missing = [table.name for table in REQUIRED_TABLES if not self.has(table)]
            if missing:
                reason = why_no_lake(self.storage, self.lake_path, missing[0])
                raise NotALakeError(path=self.lake_path, reason=reason)
        self._are_there = True

    def require_safe_commits(self) -> None:
        """Require that the store lets only one of several runs create a log entry.

        Raises:
            UnsafeStoreError: the store does not guarantee this.
            LakeRefusedError: the store denies access.
        """
        with opening(self.lake_path):
            if not self.storage.creates_exclusively(self._probe_folder):
                raise UnsafeStoreError(path=self.lake_path)

    def open(self, table: Table) -> Handle:
        """Open the newest version of a table, and check that this version of seglake may write it.

        Raises:
            NotALakeError: the table does not exist.
            NewerLakeError: a later version of seglake made the lake.
            OlderLakeError: an earlier version made the lake, and an upgrade is needed.
            SchemaError: the columns differ from this version's.
            TableRefusedError: the table uses features that this library does not write.
            TornLogError: a power cut has damaged a file of the log.
        """
        handle = self.unchecked(table)
        self.check(table, state_of(handle))
        # Read the log again from its start, too: the table may have been replaced by a copy.
        self._logs.pop(table.name, None)
        return handle

    def unchecked(self, table: Table) -> Handle:
        """Open a table's newest version, whether this or another version of seglake made the table.

        Raises:
            NotALakeError: the table does not exist.
            TornLogError: a power cut has damaged a file of the log.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        self.check_path()
        try:
            with self.named("open the table", table):
                handle = DeltaTable(self.path(table), storage_options=self.options)
        except TableNotFoundError as error:
            reason = f"it has no table {table.name}"
            raise NotALakeError(path=self.lake_path, reason=reason) from error
        except PlaceError:
            if self.storage.needs_sync(self.lake_path):
                refuse_torn_log(self.storage, self._log_folder(table))
            raise
        self._refuse_cut_entry(table, handle.version())
        return handle

    def _refuse_cut_entry(self, table: Table, version: int) -> None:
        """Reject a log entry that a power cut has truncated, since no commit may follow it."""
        if self.storage.needs_sync(self.lake_path):
            refuse_cut_entry(self.storage, self.log_entry_path(table, version))

    def state(self, table: Table) -> TableState:
        """Return the newest version's state without data files, after the checks of `open`.

        This is far cheaper than a handle if the table has many files. It raises the same errors as
        `open`.
        """
        state = self.unchecked_state(table)
        self.check(table, state)
        return state

    def unchecked_state(self, table: Table) -> TableState:
        """Return a table's state, whether this or another version of seglake made the table."""
        self.check_path()
        state = self._log(table).newest()
        if state is None or not _is_schema(state.schema_text):
            return state_of(self._moved_on(table))
        if self._whole_versions.get(table.name) != state.version:
            self._refuse_cut_entry(table, state.version)
            self._whole_versions[table.name] = state.version
        return state

    def check(self, table: Table, state: TableState) -> None:
        """Check that this version of seglake may write to a table; see `open`."""
        facts = (state.protocol, state.partition_by, state.settings, state.schema_text)
        if self._checked.get(table.name) == facts:
            return
        refuse_newer(self.lake_path, state.settings)
        columns, metadata = columns_of(state.schema_text)
        reasons = foreign_features(
            table,
            protocol=state.protocol,
            partition_by=state.partition_by,
            settings=state.settings,
            columns=metadata,
        )
        if reasons:
            raise TableRefusedError(table=table.name, path=self.path(table), reasons=reasons)
        refuse_older(self.lake_path, table, state.column_names)
        check_whole(table, columns)
        self._checked[table.name] = facts

    def newest(self, table: Table) -> Handle:
        """Return a handle for reading data files; the next call for the table advances it.

        Later calls read only the new part of the log. Do not use this handle for commits. Commits
        need a handle from `open`, which stays at the version whose generation was read.
        """
        handle = self._moved_on(table)
        self.check(table, state_of(handle))
        return handle

    def _moved_on(self, table: Table) -> Handle:
        """Return the cached handle of a table after advancing it to the newest version."""
        options = self.options  # options change when another HDFS name node becomes active
        kept_options, handle = self._handles.get(table.name, (None, None))
        if handle is None or kept_options != options:
            handle = self.unchecked(table)
            self._handles[table.name] = options, handle
        else:
            with self.named("open the table", table):
                handle.update_incremental()
        return handle

    def forget_handles(self) -> None:
        """Clear all caches, since tables may have been dropped and recreated."""
        self._handles.clear()
        self._logs.clear()
        self._checked.clear()
        self._whole_versions.clear()
        self.own_versions.clear()
        self.durable_ends.clear()

    def open_all(self) -> dict[str, Handle]:
        """Return a handle on each table, by its name; see `open`."""
        requested = (table for table in TABLES if table in REQUIRED_TABLES or self.has(table))
        return {table.name: self.open(table) for table in requested}

    def generation(self, table: Table, handle: Handle, app: str) -> int:
        """Return the `txn` version of an application id at a handle's version; 0 if it has none."""
        with self.named("read the log of", table):
            known = self._log(table).at(handle.version())
            return (state_of(handle) if known is None else known).generation(app)

    def ledger(self, source_id: str) -> pa.Table:
        """Return the rows of `checkpoints` of one source, in any order."""
        return self.rows(CHECKPOINTS, source_id, CHECKPOINTS.schema.names)

    def rows(
        self,
        table: Table,
        source_id: str,
        columns: Sequence[str],
        *,
        topic: str | None = None,
        pruned_by: Sequence[tuple[str, str, int]] = (),
    ) -> pa.Table:
        """Return one source's rows, in any order; all must fit in memory.

        Args:
            table: the table.
            source_id: the source.
            columns: columns to read, without the partition column.
            topic: the only topic to read, if the table is partitioned by topic.
            pruned_by: conditions (column, operator, value). Files are skipped if their statistics
                exclude a match; rows of other files are not filtered.
        """
        requested = [*columns] if "source_id" in columns else [*columns, "source_id"]
        paths = self.file_paths(table, topic=topic, pruned_by=pruned_by)
        whole = read_files(self.storage, table, paths, requested)
        mine = [value == source_id for value in whole.column("source_id").to_pylist()]
        if not all(mine):  # filtering imports pyarrow.compute, which takes 0.05 s
            whole = whole.filter(pa.array(mine, pa.bool_()))
        return whole.select(columns)

    def file_paths(
        self,
        table: Table,
        *,
        topic: str | None = None,
        pruned_by: Sequence[tuple[str, str, int]] = (),
        handle: "Handle | None" = None,
    ) -> list[str]:
        """Return the paths of a table's data files, at a handle's version or the newest one.

        For `topic` and `pruned_by` see `rows`.
        """
        only: list[tuple[str, str, str | int]] = [*pruned_by]
        if topic is not None:
            only.append((table.partition_by[0], "=", topic))
        handle = handle or self.newest(table)
        uris = handle.file_uris(file_pruning_predicate=only or None)
        depth = len(table.partition_by) + 1
        # Join the prefix once: there may be a million files.
        folder = self.storage.join(self.path(table), "")
        return [folder + unquote("/".join(uri.rsplit("/", depth)[1:])) for uri in uris]

    def _named_in_ledger(self, column: str, handle: "Handle | None" = None) -> list[str]:
        """Return the distinct values of a column of `checkpoints`, sorted."""
        paths = self.file_paths(CHECKPOINTS, handle=handle)
        rows = read_files(self.storage, CHECKPOINTS, paths, [column])
        found = {*rows.column(column).to_pylist()}
        return sorted(value for value in found if value is not None)

    def has(self, table: Table) -> bool:
        """Return whether a table exists, or existed when it was last checked."""
        from deltalake import DeltaTable

        if table.name in self._checked:
            return True
        with self.named("look for the table", table):
            return DeltaTable.is_deltatable(self.path(table), self.options)

    @contextlib.contextmanager
    def named(self, action: str, table: Table) -> Iterator[None]:
        """Turn errors of delta-rs into errors of seglake, except TableNotFoundError.

        The original error is not kept as the cause, because it may contain a store's answer with an
        access key.
        """
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            yield
        except TableNotFoundError:
            raise
        except (DeltaError, OSError) as error:
            raise self.failure(action, table, error) from None

    def failure(self, action: str, table: Table, error: Exception) -> PlaceError:
        """Return seglake's error for an error of delta-rs at a table."""
        return self.storage.failure(action, self.path(table), in_one_line(error))

    def check_path(self) -> None:
        """Raise LakeFolderError if delta-rs cannot handle the lake's path."""
        if reason := unusable_name(self.lake_path):
            raise LakeFolderError(path=self.lake_path, reason=reason)

    def entries(self, *names: str) -> list[FileInfo]:
        """List a folder of the lake without hidden entries; raise LakeFolderError for a file."""
        path = self.storage.join(self.lake_path, *names)
        info = self.storage.info(path)
        if info is not None and not info.is_folder:
            reason = f"{names[0]} is a file" if names else "it is a file"
            raise LakeFolderError(path=self.lake_path, reason=reason)
        entries = entries_of(self.storage, path)
        return [entry for entry in entries if not entry.name.startswith(".")]

    def _log(self, table: Table) -> TableLog:
        """Return the reader of a table's log; it keeps what it has read."""
        if table.name not in self._logs:
            self._logs[table.name] = TableLog(self.storage, self._log_folder(table))
        return self._logs[table.name]


def state_of(handle: Handle) -> TableState:
    """Return the state of a handle's current version; call this before the handle advances."""
    protocol, metadata = handle.protocol(), handle.metadata()
    return TableState(
        version=handle.version(),
        protocol=(protocol.min_reader_version, protocol.min_writer_version),
        partition_by=metadata.partition_columns,
        settings=metadata.configuration,
        schema_text=handle.schema().to_json(),
        generation=lambda app: handle.transaction_version(app) or 0,
    )


@lru_cache(maxsize=64)  # a process opens the same few tables again and again
def columns_of(schema_text: str) -> tuple[pa.Schema, Mapping[str, Iterable[str]]]:
    """Return a table's columns, and the keys of each column's metadata, from Delta's JSON."""
    from deltalake import Schema

    schema = Schema.from_json(schema_text)
    # Any: another library's schema, which pyarrow reads by Arrow's C interface.
    arrow: Any = schema.to_arrow()
    return pa.schema(arrow), {field.name: tuple(field.metadata) for field in schema.fields}


def _is_schema(text: str) -> bool:
    """Return whether delta-rs can parse a text as a table's schema."""
    with contextlib.suppress(ValueError, TypeError):
        return bool(columns_of(text))
    return False
