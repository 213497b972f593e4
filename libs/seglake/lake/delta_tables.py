"""Opens and reads the Delta tables of a lake. Effect, on the driver only.

Only this module, `table_creation`, `table_commit` and `vacuum` import deltalake. It must not be
loaded before a process forks, nor in a worker: hence the imports inside the functions.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from seglake.lake.errors import NotALakeError, TableRefusedError, UnsafeStoreError, in_one_line
from seglake.lake.lake_folder import entries_of, opening, unusable_name, why_no_lake
from seglake.lake.lake_format import refuse_newer, refuse_older
from seglake.lake.parquet_rows import naming_what_is_no_parquet, with_added
from seglake.lake.table_checks import check_whole, foreign_features
from seglake.lake.table_log import TableLog, TableState
from seglake.lake.tables import CHECKPOINTS, RECORDS, REQUIRED_TABLES, TABLES, Table
from seglake.lake.torn_logs import refuse_cut_entry, refuse_torn_log
from seglake.storage.errors import LakeFolderError, PlaceError
from seglake.storage.storage import FileInfo, Storage

if TYPE_CHECKING:
    from deltalake import DeltaTable as DeltaTable

Handle: TypeAlias = "DeltaTable"
"""Handle of delta-rs on one version of a table."""

LOG_FOLDER = "_delta_log"
OWN_FOLDER = "_seglake"


class LakeTables:
    """Tables below one folder. Every `open` and every `newest` sees the newest state."""

    def __init__(self, lake_path: str, storage: Storage) -> None:
        """Store where the lake is, and its borrowed storage; nothing is read yet."""
        self.lake_path = lake_path
        self.storage = storage
        self._are_there = False  # True once seen: nobody removes tables again
        # Handles of `newest`, by table, with the options that opened them.
        self._handles: dict[str, tuple[dict[str, str], Handle]] = {}
        self._logs: dict[str, TableLog] = {}
        self._checked_versions: dict[str, int] = {}  # versions with a checked form, by table
        self._whole_versions: dict[str, int] = {}  # versions whose log entry is not cut short
        self.own_versions: dict[str, int] = {}  # versions with only seglake's changes of rows
        self.durable_ends: dict[str, int] = {}  # known ends of the synced logs, in versions
        # Folders of files that belong to no table.
        self.work_folder = storage.join(lake_path, RECORDS.name, OWN_FOLDER)
        self.redo_folder = storage.join(self.work_folder, "redo")
        self.replay_folder = storage.join(self.work_folder, "replay")
        self._probe_folder = storage.join(self.work_folder, "probe")

    def path(self, table: Table) -> str:
        """Return the folder of a table."""
        return self.storage.join(self.lake_path, table.name)

    def log_entry_path(self, table: Table, version: int) -> str:
        """Return the path of a version's entry in a table's log."""
        return self.storage.join(self._log_folder(table), f"{version:020d}.json")

    def _log_folder(self, table: Table) -> str:
        """Return the folder of a table's log."""
        return self.storage.join(self.path(table), LOG_FOLDER)

    @property
    def options(self) -> dict[str, str]:
        """Return delta-rs's options to reach the lake."""
        return {**self.storage.delta_options(self.lake_path)}

    @property
    def scratch_folders(self) -> tuple[str, str]:
        """Return the folders whose files are useless once the process that wrote them has ended."""
        return self.replay_folder, self._probe_folder

    def source_ids(self, handle: "Handle | None" = None) -> list[str]:
        """Return the sources with ranges in the ledger, at a handle's version or now; sorted."""
        return self._named_in_ledger("source_id", handle)

    def topics(self) -> list[str]:
        """Return the topics of all sources that have ranges in the ledger, sorted."""
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
        """Require all mandatory tables.

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
        """Require storage on which only one of several runs can create a file of the log.

        Raises:
            UnsafeStoreError: the store does not guarantee it.
            LakeRefusedError: the store denies the attempt.
        """
        with opening(self.lake_path):
            if not self.storage.creates_exclusively(self._probe_folder):
                raise UnsafeStoreError(path=self.lake_path)

    def open(self, table: Table) -> Handle:
        """Return a new handle on the newest snapshot, checked to be a table that seglake may write.

        Raises:
            NotALakeError: there is no such table.
            NewerLakeError: a later version of seglake made the lake.
            OlderLakeError: an earlier version made the lake, and an upgrade is needed.
            SchemaError: the columns are not those of this library.
            TableRefusedError: the table uses features that this library does not write.
            TornLogError: a power cut has damaged a file of the log.
        """
        handle = self.unchecked(table)
        self._check(table, state_of(handle))
        # Read the log again for the new handle: somebody may have replaced the table by a copy.
        self._logs.pop(table.name, None)
        return handle

    def unchecked(self, table: Table) -> Handle:
        """Return a new handle that is not checked: any version of seglake may have made the table.

        Raises:
            NotALakeError: there is no such table.
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
        """Reject a log entry that a power cut ended between two lines: no commit may follow it."""
        if self.storage.needs_sync(self.lake_path):
            refuse_cut_entry(self.storage, self.log_entry_path(table, version))

    def state(self, table: Table) -> TableState:
        """Return the newest version's state, checked like `open` does, without its data files.

        With many files it is far cheaper than a handle. It raises the errors of `open`.
        """
        state = self.unchecked_state(table)
        self.check(table, state)
        return state

    def unchecked_state(self, table: Table) -> TableState:
        """Return a table's newest state, not checked: any version of seglake may have made it."""
        self.check_path()
        state = self._log(table).newest()
        if state is None or not _has_schema(state):
            return state_of(self._moved_on(table))
        if self._whole_versions.get(table.name) != state.version:
            self._refuse_cut_entry(table, state.version)
            self._whole_versions[table.name] = state.version
        return state

    def check(self, table: Table, state: TableState) -> None:
        """Require that a table's newest version has this library's form; see `state`."""
        if self._checked_versions.get(table.name) != state.version:
            self._check(table, state)  # only a commit changes a table's form
            self._checked_versions[table.name] = state.version

    def newest(self, table: Table) -> Handle:
        """Return a handle for reading data files; the next call for the table advances it.

        Later calls read only the new part of the log. A commit uses a handle of its own, from
        `open`: it must stay at the version whose generation was read.
        """
        handle = self._moved_on(table)
        self.check(table, state_of(handle))
        return handle

    def _moved_on(self, table: Table) -> Handle:
        """Return the kept handle of a table, advanced to the newest version."""
        options = self.options  # they change if another name node becomes active
        kept_options, handle = self._handles.get(table.name, (None, None))
        if handle is None or kept_options != options:
            handle = self.unchecked(table)
            self._handles[table.name] = options, handle
        else:
            with self.named("open the table", table):
                handle.update_incremental()
        return handle

    def forget_handles(self) -> None:
        """Discard all handles and states; tables may have been dropped and recreated."""
        self._handles.clear()
        self._logs.clear()
        self._checked_versions.clear()
        self._whole_versions.clear()
        self.own_versions.clear()
        self.durable_ends.clear()

    def open_all(self) -> dict[str, Handle]:
        """Return a handle on each table, by its name; see `open`."""
        requested = (table for table in TABLES if table in REQUIRED_TABLES or self.has(table))
        return {table.name: self.open(table) for table in requested}

    def generation(self, table: Table, handle: Handle, app: str) -> int:
        """Return the `txn` version of an app in a handle's snapshot, 0 for none."""
        with self.named("read the log of", table):
            known = self._log(table).at(handle.version())
            return (state_of(handle) if known is None else known).generation(app)

    def ledger(self, source_id: str) -> pa.Table:
        """Return the rows of `checkpoints` of one source, in no order."""
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
        """Return some columns of one source's rows, in no order; all must fit in memory.

        `columns` are those of the data files, without the partition column; `topic` is the only
        topic to read, of a table partitioned by it. `pruned_by` has column, operator and value: a
        file is skipped if its statistics exclude such rows. Other files are returned whole.
        """
        requested = [*columns] if "source_id" in columns else [*columns, "source_id"]
        paths = self.file_paths(table, topic=topic, pruned_by=pruned_by)
        whole = self.read_files(table, paths, requested)
        mine = [value == source_id for value in whole.column("source_id").to_pylist()]
        if not all(mine):  # a filter imports pyarrow.compute, 0.05 s
            whole = whole.filter(pa.array(mine, pa.bool_()))
        return whole.select(columns)

    def read_files(self, table: Table, paths: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """Return some columns of a table's data files, in the order of the paths."""
        # Not by delta-rs: its pyarrow.dataset (import, threads) costs more than a few small files.
        schema = pa.schema([table.schema.field(name) for name in columns])
        files = (self._read(path, schema) for path in paths)
        return pa.concat_tables([schema.empty_table(), *files])

    def file_paths(
        self,
        table: Table,
        *,
        topic: str | None = None,
        pruned_by: Sequence[tuple[str, str, int]] = (),
        handle: "Handle | None" = None,
    ) -> list[str]:
        """Return the paths of a table's data files at a handle's version, or at the newest one.

        `topic` and `pruned_by` select files like in `rows`.
        """
        only: list[tuple[str, str, str | int]] = [*pruned_by]
        if topic is not None:
            only.append((table.partition_by[0], "=", topic))
        handle = handle or self.newest(table)
        uris = handle.file_uris(file_pruning_predicate=only or None)
        depth = len(table.partition_by) + 1
        folder = self.storage.join(self.path(table), "")  # joined once for up to a million files
        return [folder + unquote("/".join(uri.rsplit("/", depth)[1:])) for uri in uris]

    def _named_in_ledger(self, column: str, handle: "Handle | None" = None) -> list[str]:
        """Return the distinct values of a column of the ledger, sorted."""
        paths = self.file_paths(CHECKPOINTS, handle=handle)
        rows = self.read_files(CHECKPOINTS, paths, [column])
        found = {*rows.column(column).to_pylist()}
        return sorted(value for value in found if value is not None)

    def _read(self, path: str, schema: pa.Schema) -> pa.Table:
        """Return some columns of one data file, with the types of the schema."""
        content = self.storage.read_bytes(path)
        with naming_what_is_no_parquet(path):
            rows = pq.ParquetFile(pa.BufferReader(content)).read(schema.names, use_threads=False)
        complete = with_added(rows, schema.names)
        return complete if complete.schema.equals(schema) else complete.cast(schema)  # slow import

    def has(self, table: Table) -> bool:
        """Return whether a table exists, or existed when it was last checked."""
        from deltalake import DeltaTable

        if table.name in self._checked_versions:
            return True
        with self.named("look for the table", table):
            return DeltaTable.is_deltatable(self.path(table), self.options)

    @contextlib.contextmanager
    def named(self, action: str, table: Table) -> Iterator[None]:
        """Turn errors of delta-rs into ours, except that a table does not exist.

        The original error is not kept as the cause: a store's answer in it may hold an access key.
        """
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            yield
        except TableNotFoundError:
            raise
        except (DeltaError, OSError) as error:
            raise self.failure(action, table, error) from None

    def failure(self, action: str, table: Table, error: Exception) -> PlaceError:
        """Return our error for an error of delta-rs at a table."""
        return self.storage.failure(action, self.path(table), in_one_line(error))

    def check_path(self) -> None:
        """Raise LakeFolderError for a name that delta-rs reads as another, or not at all."""
        if reason := unusable_name(self.lake_path):
            raise LakeFolderError(path=self.lake_path, reason=reason)

    def entries(self, *names: str) -> list[FileInfo]:
        """List the lake's folder or one below, if it exists; raise LakeFolderError for a file."""
        path = self.storage.join(self.lake_path, *names)
        info = self.storage.info(path)
        if info is not None and not info.is_folder:
            reason = f"{names[0]} is a file" if names else "it is a file"
            raise LakeFolderError(path=self.lake_path, reason=reason)
        entries = entries_of(self.storage, path)
        return [entry for entry in entries if not entry.name.startswith(".")]

    def _log(self, table: Table) -> TableLog:
        """Return the kept log of a table."""
        if table.name not in self._logs:
            self._logs[table.name] = TableLog(self.storage, self._log_folder(table))
        return self._logs[table.name]

    def _check(self, table: Table, state: TableState) -> None:
        """Require the form of this library's tables; see `open`."""
        from deltalake import Schema

        refuse_newer(self.lake_path, state.settings)
        schema = Schema.from_json(state.schema_text)
        reasons = foreign_features(
            table,
            protocol=state.protocol,
            partition_by=state.partition_by,
            settings=state.settings,
            columns={field.name: field.metadata for field in schema.fields},
        )
        if reasons:
            raise TableRefusedError(table=table.name, path=self.path(table), reasons=reasons)
        refuse_older(self.lake_path, table, state.column_names)
        columns = schema.to_arrow()
        check_whole(table, pa.schema(columns))  # type: ignore[arg-type]  # by Arrow's C interface


def state_of(handle: Handle) -> TableState:
    """Return the state of the version of a handle; call it before the handle advances."""
    protocol, metadata = handle.protocol(), handle.metadata()
    return TableState(
        version=handle.version(),
        protocol=(protocol.min_reader_version, protocol.min_writer_version),
        partition_by=metadata.partition_columns,
        settings=metadata.configuration,
        schema_text=handle.schema().to_json(),
        generation=lambda app: handle.transaction_version(app) or 0,
    )


def _has_schema(state: TableState) -> bool:
    """Return whether delta-rs can read the schema; if not, its own error names the fault."""
    from deltalake import Schema

    try:
        Schema.from_json(state.schema_text)
    except (ValueError, TypeError):
        return False
    return True
