"""Creates, opens and reads the Delta tables of a lake. Effect, on the driver only.

With `table_commit` and `vacuum` the only importer of deltalake, which must not be loaded before a
process forks and has no place in a worker: hence the imports inside the functions.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from seglake.lake.errors import NotALakeError, TableRefusedError, UnsafeStoreError, in_one_line
from seglake.lake.lake_folder import holds_conversion, opening
from seglake.lake.parquet_rows import naming_what_is_no_parquet
from seglake.lake.table_checks import check_whole, column_features, foreign_features
from seglake.lake.table_generations import TableGenerations
from seglake.lake.tables import (
    CHECKPOINTS,
    RECORDS,
    REQUIRED_TABLES,
    TABLES,
    Table,
)
from seglake.lake.torn_logs import refuse_torn_log
from seglake.storage.errors import LakeFolderError, NotFoundError, PlaceError
from seglake.storage.storage import FileInfo, Storage

if TYPE_CHECKING:
    from deltalake import DeltaTable as DeltaTable

LOG_FOLDER = "_delta_log"
_OWN_FOLDER = "_seglake"


class LakeTables:
    """The tables below one folder. Every `open` and every `newest` sees the newest state."""

    def __init__(self, lake_path: str, storage: Storage) -> None:
        self.lake_path = lake_path
        self.storage = storage
        self._are_there = False  # once seen: nobody takes them away again
        # Those of `newest`, each with the options it was opened with.
        self._handles: dict[str, tuple[dict[str, str], DeltaTable]] = {}
        self._generations: dict[str, TableGenerations] = {}  # of tables that were opened
        self.durable_ends: dict[str, int] = {}  # of logs, in versions; as far as known

    def path(self, table: Table) -> str:
        return self.storage.join(self.lake_path, table.name)

    def log_entry_path(self, table: Table, version: int) -> str:
        return self.storage.join(self._log_folder(table), f"{version:020d}.json")

    def _log_folder(self, table: Table) -> str:
        return self.storage.join(self.path(table), LOG_FOLDER)

    @property
    def _options(self) -> dict[str, str]:
        return {**self.storage.delta_options(self.lake_path)}

    def delete_log(self, table: Table) -> None:
        """Make a table a folder of Parquet files that has no history any more."""
        self.storage.delete_folder(self._log_folder(table))

    @property
    def work_folder(self) -> str:
        """Where files may lie that belong to no table."""
        return self.storage.join(self.path(RECORDS), _OWN_FOLDER)

    @property
    def redo_folder(self) -> str:
        return self.storage.join(self.work_folder, "redo")

    @property
    def running_folder(self) -> str:
        return self.storage.join(self.work_folder, "running")

    def source_ids(self) -> list[str]:
        """Return the sources that the ledger has ranges of, sorted."""
        return self._named_in_ledger("source_id")

    def topics(self) -> list[str]:
        """Return the topics of all sources that the ledger has ranges of, sorted."""
        return self._named_in_ledger("topic")

    def exists(self) -> bool:
        """Say whether all tables are there that a lake cannot be without.

        Raises:
            LakeRefusedError: the storage does not let us look.
        """
        if not self._are_there:
            with opening(self.lake_path):
                self._are_there = all(map(self.has, REQUIRED_TABLES))
        return self._are_there

    def require(self) -> None:
        """See that all tables are there that a lake cannot be without.

        Raises:
            NotALakeError: they are not.
            LakeRefusedError: the storage does not let us look.
        """
        self._check_path()
        with opening(self.lake_path):
            missing = [table.name for table in REQUIRED_TABLES if not self.has(table)]
            if missing:
                is_conversion = self._entries() and holds_conversion(self.storage, self.lake_path)
                conversion = "it holds a conversion to Parquet, for readers of Parquet"
                reason = conversion if is_conversion else f"it has no table {missing[0]}"
                raise NotALakeError(path=self.lake_path, reason=reason)
        self._are_there = True

    def require_safe_commits(self) -> None:
        """See that of several runs that write one file of the log only one can.

        Raises:
            UnsafeStoreError: the store does not see to it.
            LakeRefusedError: the store does not let us try.
        """
        folder = self.storage.join(self.work_folder, "probe")
        with opening(self.lake_path):
            if not self.storage.creates_exclusively(folder):
                raise UnsafeStoreError(path=self.lake_path)

    def create_missing(self, *, is_single_writer: bool = False) -> None:
        """Create the tables that are not there yet, and check those that are.

        Two drivers may do this at once: both succeed.

        Args:
            is_single_writer: somebody sees to it that only one driver writes at a time, so that
                the store need not.

        Raises:
            LakeFolderError: the place is a file, or holds something else, or has lost a table.
            LakeRefusedError: the storage does not let us in.
            UnsafeStoreError: the store could lose commits.
            SchemaError, TableRefusedError: a table is not as this library made it.
        """
        self._check_path()
        with opening(self.lake_path):
            self._create_missing(is_single_writer=is_single_writer)
        self._are_there = True

    def _create_missing(self, *, is_single_writer: bool) -> None:
        self.forget_handles()  # what is there is opened and checked as for the first time
        present = self._present()
        has_commits = any(self.newest(table).version() > 0 for table in present)
        # Looked for after the versions: all tables are created before the first commit to any.
        missing = [table for table in TABLES if table not in present and not self.has(table)]
        lost = [table for table in missing if table in REQUIRED_TABLES]
        if lost and has_commits:
            names = ", ".join(table.name for table in lost)
            raise LakeFolderError(path=self.lake_path, reason=f"it has lost the table {names}")
        if missing:
            self._check_folder(missing)
        if not is_single_writer:
            self.require_safe_commits()
        with ThreadPoolExecutor(len(TABLES)) as pool:  # far away each takes a while
            list(pool.map(self._create, missing))
        for table in missing:
            self.newest(table)

    def open(self, table: Table) -> "DeltaTable":
        """Return a new handle on the newest snapshot, checked to be a table that we may write.

        Raises:
            NotALakeError: there is no such table.
            SchemaError, TableRefusedError: the table is not as this library made it.
            TornLogError: a power cut has left a file that is in the way.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        self._check_path()
        try:
            with self.named("open the table", table):
                handle = DeltaTable(self.path(table), storage_options=self._options)
        except TableNotFoundError as error:
            reason = f"it has no table {table.name}"
            raise NotALakeError(path=self.lake_path, reason=reason) from error
        except PlaceError:
            if self.storage.needs_sync(self.lake_path):
                refuse_torn_log(self.storage, self._log_folder(table))
            raise
        self._check(table, handle)
        # Made anew with the handle: somebody may have put a copy in the table's place.
        self._generations[table.name] = TableGenerations(self.storage, self._log_folder(table))
        return handle

    def newest(self, table: Table) -> "DeltaTable":
        """Return the same for reading: a handle that the next call for the table moves on.

        Calls after the first read only what is new in the log. A commit takes a handle of its own,
        by `open`: it must stay where the generation was looked at.
        """
        options = self._options  # another name node may be active now, which the handle cannot find
        kept_options, handle = self._handles.get(table.name, (None, None))
        if handle is None or kept_options != options:
            handle = self.open(table)
            self._handles[table.name] = options, handle
            return handle
        checked = handle.version()
        with self.named("open the table", table):
            handle.update_incremental()
        if handle.version() != checked:  # only a commit changes what a table is
            self._check(table, handle)
        return handle

    def forget_handles(self) -> None:
        """Open each table anew for the next reading, as after a table was dropped and remade."""
        self._handles.clear()
        self.durable_ends.clear()

    def open_all(self) -> "dict[str, DeltaTable]":
        """Return a handle on each table, by its name; see `open`."""
        wanted = (table for table in TABLES if table in REQUIRED_TABLES or self.has(table))
        return {table.name: self.open(table) for table in wanted}

    def generation(self, table: Table, handle: "DeltaTable", app: str) -> int:
        """Return the version of an app in a handle's snapshot, 0 for none."""
        with self.named("read the log of", table):
            known = self._generations[table.name].at(handle.version())
            return handle.transaction_version(app) or 0 if known is None else known.get(app, 0)

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
        """Return some columns of one source's rows, in no order; for what a driver can hold.

        Args:
            columns: of the data files: not the one that the table is partitioned by.
            topic: of a table partitioned by it, the only one to be read.
            pruned_by: column, operator and value; a file whose statistics tell that it has no such
                row is not read. The others are given whole.
        """
        wanted = [*columns] if "source_id" in columns else [*columns, "source_id"]
        paths = self.file_paths(table, topic=topic, pruned_by=pruned_by)
        whole = self.read_files(table, paths, wanted)
        mine = [value == source_id for value in whole.column("source_id").to_pylist()]
        if not all(mine):  # a filter imports pyarrow.compute, 0.05 s
            whole = whole.filter(pa.array(mine, pa.bool_()))
        return whole.select(columns)

    def read_files(self, table: Table, paths: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """Return some columns of data files of a table, in their order."""
        # File by file: delta-rs' own reader goes through pyarrow.dataset, whose import and threads
        # cost more than these few small files.
        empty = pa.schema([table.schema.field(name) for name in columns]).empty_table()
        return pa.concat_tables([empty, *(self._read(table, path, columns) for path in paths)])

    def file_paths(
        self,
        table: Table,
        *,
        topic: str | None = None,
        pruned_by: Sequence[tuple[str, str, int]] = (),
    ) -> list[str]:
        """Return the paths of a table's data files; the arguments are those of `rows`."""
        only: list[tuple[str, str, str | int]] = [*pruned_by]
        if topic is not None:
            only.append((table.partition_by[0], "=", topic))
        uris = self.newest(table).file_uris(file_pruning_predicate=only or None)
        depth = len(table.partition_by) + 1
        folder = self.storage.join(self.path(table), "")  # once: there may be a million files
        return [folder + unquote("/".join(uri.rsplit("/", depth)[1:])) for uri in uris]

    def _named_in_ledger(self, column: str) -> list[str]:
        rows = self.read_files(CHECKPOINTS, self.file_paths(CHECKPOINTS), [column])
        found = {*rows.column(column).to_pylist()}
        return sorted(value for value in found if value is not None)

    def _read(self, table: Table, path: str, columns: Sequence[str]) -> pa.Table:
        """Return columns of a data file."""
        content = self.storage.read_bytes(path)
        with naming_what_is_no_parquet(path):
            rows = pq.ParquetFile(pa.BufferReader(content)).read([*columns], use_threads=False)
        schema = pa.schema([table.schema.field(name) for name in columns])
        wanted = rows.select([*columns])
        return wanted if wanted.schema.equals(schema) else wanted.cast(schema)  # as a filter

    def _present(self) -> list[Table]:
        """Name the tables that have a log, in their order."""
        return [table for table in TABLES if self.has(table)]

    def has(self, table: Table) -> bool:
        """Say whether a table is there."""
        from deltalake import DeltaTable

        with self.named("look for the table", table):
            return DeltaTable.is_deltatable(self.path(table), self._options)

    @contextlib.contextmanager
    def named(self, action: str, table: Table) -> Iterator[None]:
        """Turn delta-rs' errors into ours; that there is no table is for the caller.

        Theirs is no cause: the answer of a store in it may hold an access key.
        """
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            yield
        except TableNotFoundError:
            raise
        except (DeltaError, OSError) as error:
            raise self.failure(action, table, error) from None

    def failure(self, action: str, table: Table, error: Exception) -> PlaceError:
        """Our error for what delta-rs met at a table."""
        return self.storage.failure(action, self.path(table), in_one_line(error))

    def _check_path(self) -> None:
        """Refuse a name that delta-rs takes for another: it decodes percent signs, at times."""
        if "%" in self.lake_path:
            raise LakeFolderError(path=self.lake_path, reason="its name has a percent sign")

    def _check_folder(self, missing: Iterable[Table]) -> None:
        """Refuse to create tables in a place that is not an empty folder or a young lake."""
        missing_names = {table.name for table in missing}
        strange = [e.name for e in self._entries() if e.name not in {t.name for t in TABLES}]
        if strange and len(missing_names) == len(TABLES):
            is_conversion = holds_conversion(self.storage, self.lake_path)
            reason = "a conversion to Parquet" if is_conversion else strange[0]
            raise LakeFolderError(path=self.lake_path, reason=f"it holds {reason}")
        for table in missing:
            left = [e.name for e in self._entries(table.name)]
            left = [name for name in left if name not in (LOG_FOLDER, _OWN_FOLDER)]
            if left:
                reason = f"{table.name} holds {left[0]} and is not a table"
                raise LakeFolderError(path=self.lake_path, reason=reason)

    def _entries(self, *names: str) -> list[FileInfo]:
        path = self.storage.join(self.lake_path, *names)
        info = self.storage.info(path)
        if info is not None and not info.is_folder:
            reason = f"{names[0]} is a file" if names else "it is a file"
            raise LakeFolderError(path=self.lake_path, reason=reason)
        try:
            entries = self.storage.list_folder(path)
        except NotFoundError:
            return []
        return [entry for entry in entries if not entry.name.startswith(".")]

    def _create(self, table: Table) -> None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
        from deltalake.transaction import CommitProperties

        configuration: dict[str, str | None] = {
            "delta.appendOnly": "true",
            "delta.dataSkippingStatsColumns": ",".join(table.statistics_columns),
        }
        try:
            DeltaTable.create(
                self.path(table),
                schema=table.schema,
                mode="error",
                partition_by=list(table.partition_by),
                configuration=configuration,
                # A retry would put a second definition on top of a table that came between.
                commit_properties=CommitProperties(max_commit_retries=0),
                storage_options=self._options,
            )
        except (DeltaError, OSError) as error:
            if not self.has(table):
                raise self.failure("create the table", table, error) from None
        self.storage.sync([self.log_entry_path(table, 0)])

    def _check(self, table: Table, handle: "DeltaTable") -> None:
        protocol, metadata, schema = handle.protocol(), handle.metadata(), handle.schema()
        reasons = foreign_features(
            table,
            protocol=(protocol.min_reader_version, protocol.min_writer_version),
            partition_by=metadata.partition_columns,
            settings=metadata.configuration,
        )
        reasons += column_features({field.name: field.metadata for field in schema.fields})
        if reasons:
            raise TableRefusedError(table=table.name, path=self.path(table), reasons=reasons)
        columns = schema.to_arrow()
        check_whole(table, pa.schema(columns))  # type: ignore[arg-type]  # by Arrow's C interface
