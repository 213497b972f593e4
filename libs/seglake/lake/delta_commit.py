"""Performs the steps of the commit protocol on Delta tables. Effect, on the driver only."""

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from seglake.lake import redo_file
from seglake.lake.app_versions import AppVersions, app_id, published_steps, version_steps
from seglake.lake.commit_port import CommitPort, Generations, Steps, TableView
from seglake.lake.commit_protocol import Attempt, Outcome, commit_steps, no_hook, recover_steps
from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.log_durability import sync_log
from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.table_commit import Addition, add_files, commit_ids
from seglake.lake.table_log import TableState
from seglake.lake.tables import Table, tables_of
from seglake.lake.waves import TopicWave, check_waves, require_files

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
Ledger = Callable[[str], list[dict[str, Any]]]


def commit_wave(
    tables: LakeTables,
    attempt: Attempt,
    waves: Sequence[TopicWave],
    *,
    after: Callable[[str], None] = no_hook,
) -> Outcome:
    """Commit the topics of a wave together; on return the committed ones are published.

    A topic is lost if its generation is taken, or if the one before it is not complete: recover,
    read the ledger again and plan again. Its files may be committed under the next generation.

    Args:
        tables: the lake.
        attempt: identity and time of the commit.
        waves: the topics with their finished files, each topic once.
        after: called with the name of each finished step: redo, the topics' tables, cleaned.

    Returns:
        The committed topics and the lost ones.

    Raises:
        WaveError: the waves are not as a commit needs them; nothing was committed.
        DataFileError: a file is missing or has another size; nothing was committed.
        ForeignChangeError: another tool changed a table; nothing was committed.
        CommitUnknownError: a commit failed and may yet have happened.
    """
    check_waves(waves)
    require_files(tables, (file for wave in waves for file in wave.files))
    return _run_steps(commit_steps(_DeltaPort(tables), attempt, waves, after))


def recover(
    tables: LakeTables,
    source_id: str | None,
    topics: Iterable[str] = (),
    *,
    after: Callable[[str], None] = no_hook,
) -> tuple[str, ...]:
    """Complete decided commits that are not published; return the completed topics, sorted.

    It may run at any time, twice, and beside other drivers. It also deletes redo files that no
    commit needs any more.

    Args:
        tables: the lake.
        source_id: source whose commits are completed; None for every source with a redo file.
        topics: topics of `source_id`; these are also checked to be complete afterwards.
        after: called with "recovering" before a commit is completed, and with each table's name.

    Raises:
        TablesDisagreeError: the generations cannot come from seglake's commits; nothing was touched
            for that topic.
        DecidedFileGoneError: a data file is gone; nothing was touched for that topic.
        ForeignChangeError: another tool changed a table that `topics`, or the topics to complete,
            are committed to.
        RedoMissingError: one of `topics` cannot be completed.
    """
    named = [*topics]
    refuse_foreign_changes(tables, tables_of(named))
    completed = _run_steps(recover_steps(_DeltaPort(tables), source_id, named, after))
    for topic in completed:
        _LOG.debug("%s: completed the commit of an earlier run", topic)
    return completed


def versions(tables: LakeTables, source_id: str, topics: Iterable[str]) -> dict[str, AppVersions]:
    """Return the generations of topics from the newest snapshots; see `version_steps`."""
    return _run_steps(version_steps(_DeltaPort(tables), source_id, topics))


# Any: values of columns of many types.
def published(
    tables: LakeTables, source_id: str, topics: Iterable[str], ledger: Ledger
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Return the published generation of each topic, and then the rows of the ledger.

    The ledger is read last, so that a plan from an older ledger cannot be committed.

    Args:
        tables: the lake.
        source_id: the source.
        topics: its topics to ask about.
        ledger: returns the rows that a run needs of one source's ledger, in its newest version.

    Raises:
        TablesDisagreeError: the generations cannot come from seglake's commits.
    """
    return _run_steps(published_steps(_DeltaPort(tables, ledger), source_id, topics))


def _run_steps(steps: Steps[_T]) -> _T:
    """Take all steps one after the other, and return the outcome."""
    while True:
        try:
            pause_s = next(steps)
        except StopIteration as end:
            outcome: _T = end.value
            return outcome
        if pause_s:
            time.sleep(pause_s)


class _DeltaGenerations(NamedTuple):
    """Generations of a version of a Delta table, without a handle."""

    tables: LakeTables
    table: Table
    state: TableState

    def generation(self, app: str) -> int:
        """Return the last `txn` version of an app in the Delta log, 0 for none."""
        with self.tables.named("read the log of", self.table):  # delta-rs may be asked
            return self.state.generation(app)


class _DeltaView(NamedTuple):
    """A version of a Delta table, and the handle that commits to it."""

    tables: LakeTables
    table: Table
    handle: Handle

    def generation(self, app: str) -> int:
        """Return the last `txn` version of an app in the Delta log, 0 for none."""
        return self.tables.generation(self.table, self.handle, app)

    def file_names(self, topics: Sequence[str]) -> set[str]:
        """Return the names, without folders, of the topics' data files."""
        [partition] = self.table.partition_by
        uris = self.handle.file_uris(file_pruning_predicate=[(partition, "in", [*topics])])
        return {uri.rpartition("/")[2] for uri in uris}


class _DeltaPort(CommitPort):
    """Port to Delta tables, and to redo files beside them."""

    def __init__(self, tables: LakeTables, ledger: Ledger | None = None) -> None:
        """Store the tables; `ledger` replaces the reading of the whole ledger."""
        self._tables = tables
        self._storage = tables.storage
        self._ledger = ledger or (lambda source_id: tables.ledger(source_id).to_pylist())

    @property
    def pauses_s(self) -> Sequence[float]:
        """Return the seconds to wait before each try of a commit."""
        return self._storage.pauses_s(self._tables.lake_path)

    @property
    def redo_folder(self) -> str:
        """Return the path of the redo files' folder."""
        return self._tables.redo_folder

    def new_commit_id(self) -> str:
        """Return a random id."""
        return uuid.uuid4().hex

    def newest(self, table: Table) -> Generations:
        """Return the newest version's generations, without a handle."""
        return _DeltaGenerations(self._tables, table, self._tables.state(table))

    def opened(self, table: Table) -> _DeltaView:
        """Return the newest version with a new handle."""
        return _DeltaView(self._tables, table, self._tables.open(table))

    def commit_ids(self, table: Table, after: TableView | None = None) -> set[str | None]:
        """Return the commit ids that the log still has; with `after`, only those after it."""
        handle = self._tables.open(table)
        count = None  # all commits: a run may have died long ago
        if after is not None:
            count = handle.version() - cast("_DeltaView", after).handle.version()
        return commit_ids(self._tables, table, handle, count)

    def require_own_rows(self, topics: Iterable[str]) -> None:
        """Raise ForeignChangeError if another tool has changed rows of the topics' tables."""
        refuse_foreign_changes(self._tables, tables_of(topics))

    def commit(self, table: Table, view: TableView, redo: Redo, topics: Sequence[str]) -> str:
        """Add the topics' files of the table, and their generations, in one commit."""
        handle = cast("_DeltaView", view).handle  # this port made the view
        files = [f for f in redo.files if f.table == table.name and f.topic in topics]
        info = {
            "attempt_id": redo.attempt_id,
            "commit_id": redo.commit_id,
            "run_id": redo.run_id,
        }
        failure = add_files(
            self._tables,
            table,
            handle,
            [Addition(file, redo.created_at_ms) for file in files],
            now_ms=redo.created_at_ms,
            commit_info=info,
            generations={app_id(redo.source_id, t): redo.generations[t] for t in topics},
        )
        if failure:
            self._tables.forget_handles()
        return failure

    def make_durable(self, table: Table) -> None:
        """Sync the table's log, if the storage needs that."""
        if self._storage.needs_sync(self._tables.lake_path):
            sync_log(self._tables, table, self._tables.state(table).version)

    def redo_files(self) -> list[Redo]:
        """Return all redo files of the lake."""
        return redo_file.read_all(self._storage, self.redo_folder)

    def write_redo(self, redo: Redo) -> None:
        """Write a redo file, durable on return."""
        redo_file.write(self._storage, self.redo_folder, redo)

    def delete_redo(self, redo: Redo) -> None:
        """Delete a redo file, if it exists."""
        redo_file.delete(self._storage, self.redo_folder, redo)

    def require_files(self, files: Iterable[DataFile]) -> None:
        """Require that data files exist with their sizes, and make them durable."""
        require_files(self._tables, files)

    def ledger(self, source_id: str) -> list[dict[str, Any]]:
        """Return the rows of one source's ledger."""
        return self._ledger(source_id)
