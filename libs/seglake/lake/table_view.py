"""Opens a version of a table, on which a commit is based. Runs on the driver only."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.log_durability import sync_log
from seglake.lake.snapshots import StoredFile, stored_files
from seglake.lake.tables import Table


@dataclass(frozen=True)
class TableView:
    """A version of a table, and the handle for commits to it; a commit does not advance it."""

    tables: LakeTables
    table: Table
    handle: Handle

    @cached_property
    def files(self) -> tuple[StoredFile, ...]:
        """Return the data files of this version."""
        return tuple(stored_files(self.tables, self.table, self.handle))

    @property
    def version(self) -> int:
        """Return the version's number."""
        return self.handle.version()

    @property
    def table_id(self) -> str:
        """Return Delta's id of the table."""
        return str(self.handle.metadata().id)

    def file_names(self, topics: Sequence[str]) -> set[str]:
        """Return the names of the topics' data files, without folders."""
        [partition] = self.table.partition_by
        uris = self.handle.file_uris(file_pruning_predicate=[(partition, "in", [*topics])])
        return {uri.rpartition("/")[2] for uri in uris}

    def generation(self, app: str) -> int:
        """Return the `txn` version of an application id in the table's log; 0 if it has none."""
        return self.tables.generation(self.table, self.handle, app)

    def advanced(self, *apps: str) -> dict[str, int]:
        """Return the next generation of each application id."""
        return {app: self.generation(app) + 1 for app in apps}

    def make_durable(self) -> None:
        """Sync the table's log up to this version, so that a power cut loses no entry of it."""
        sync_log(self.tables, self.table, self.version)


def view_of(tables: LakeTables, table: Table) -> TableView:
    """Return the newest version of a table."""
    return TableView(tables, table, tables.open(table))


def read_snapshots(tables: LakeTables, requested: Sequence[Table]) -> dict[str, TableView]:
    """Return a snapshot of each table, by its name.

    The tables are read in the reverse order of commits, `checkpoints` first. So the other snapshots
    have all rows of the offsets that the snapshot of `checkpoints` covers.

    Args:
        tables: the lake.
        requested: tables in the order in which they are committed.

    Raises:
        LakeFolderError: a table does not exist.
        SchemaError: the columns differ from this version's.
        TableRefusedError: a table uses features that seglake does not support.
    """
    return {table.name: view_of(tables, table) for table in reversed(requested)}
