"""Runs the steps of the commit protocol on Delta tables. Runs on the driver only."""

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from seglake.lake import redo_file
from seglake.lake.app_versions import (
    MAINTAIN_APP,
    AppVersions,
    app_id,
    published_steps,
    version_steps,
)
from seglake.lake.commit_port import CommitBase, CommitPort, Generations, Steps
from seglake.lake.commit_protocol import Attempt, Outcome, commit_steps, no_hook, recover_steps
from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.log_durability import sync_log
from seglake.lake.parquet_files import DataFile
from seglake.lake.redo_file import Redo
from seglake.lake.table_changes import allow_removals
from seglake.lake.table_commit import Addition, Removal, add_files, commit_ids
from seglake.lake.table_log import TableState
from seglake.lake.table_view import TableView, view_of
from seglake.lake.tables import LOG_TABLES, CommitTables, Table
from seglake.lake.waves import TopicWave, check_waves, require_files

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
Ledger = Callable[[str], list[dict[str, Any]]]


def commit_wave(
    tables: LakeTables,
    attempt: Attempt,
    waves: Sequence[TopicWave],
    *,
    commits_to: CommitTables = LOG_TABLES,
    after: Callable[[str], None] = no_hook,
) -> Outcome:
    """Commit the topics of a wave together; on return, the committed topics are published.

    A topic is lost (not committed) if another driver has used its generation, if the topic's
    previous commit is incomplete, or if a file to remove is no longer in the deciding table. The
    caller must then recover, read the ledger and plan again. If a lost topic removes no files, its
    files may be committed with the next generation.

    Args:
        tables: the lake.
        attempt: identity and time of the commit.
        waves: the topics with their finished files, each topic once.
        commits_to: the tables of the commit.
        after: called with the name of each finished step: "redo", each table's name, "cleaned".

    Returns:
        The committed topics, and the lost topics.

    Raises:
        WaveError: the waves are not valid. Nothing was committed.
        DataFileError: a file is missing or has another size; nothing was committed.
        ForeignChangeError: another tool changed a table; nothing was committed.
        CommitUnknownError: a commit failed, but may have happened.
    """
    check_waves(waves, commits_to)
    require_files(tables, (file for wave in waves for file in wave.files))
    if any(wave.removed for wave in waves):
        allow_removals(tables, commits_to.deciding)
    return _run_steps(commit_steps(_DeltaPort(tables, commits_to), attempt, waves, after))


def recover(
    tables: LakeTables,
    source_id: str | None,
    topics: Iterable[str] = (),
    *,
    commits_to: CommitTables = LOG_TABLES,
    after: Callable[[str], None] = no_hook,
) -> tuple[str, ...]:
    """Complete commits that are decided but not published; return their topics, sorted.

    This may run at any time, repeatedly, and while other drivers commit. Redo files that are no
    longer needed are deleted too.

    Args:
        tables: the lake.
        source_id: source whose commits are completed; None for all sources with a redo file.
        topics: topics of `source_id` that must be complete afterwards.
        commits_to: the tables of the commits.
        after: called with "recovering" before a commit is completed, and with the name of each
            table after its commit.

    Raises:
        TablesDisagreeError: the generations cannot come from seglake's commits. Nothing was changed
            for that topic.
        DecidedFileGoneError: a data file is missing. Nothing was changed for that topic.
        ForeignChangeError: another tool changed a table of `topics` or of the topics to complete.
        RedoMissingError: one of `topics` cannot be completed.
    """
    named = [*topics]
    refuse_foreign_changes(tables, commits_to.of(named))
    completed = _run_steps(recover_steps(_DeltaPort(tables, commits_to), source_id, named, after))
    for topic in completed:
        _LOG.debug("%s: completed the commit of an earlier run", topic)
    return completed


def versions(
    tables: LakeTables,
    source_id: str,
    topics: Iterable[str],
    *,
    commits_to: CommitTables = LOG_TABLES,
) -> dict[str, AppVersions]:
    """Return the generations of topics from the newest snapshots; see `version_steps`."""
    return _run_steps(version_steps(_DeltaPort(tables, commits_to), source_id, topics))


# Any: values of columns of many types.
def published(
    tables: LakeTables, source_id: str, topics: Iterable[str], ledger: Ledger
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Return the published generation of each topic, and the ledger's rows.

    The ledger is read after the generations, so a plan made from an outdated ledger cannot be
    committed.

    Args:
        tables: the lake.
        source_id: the source.
        topics: the topics of the source.
        ledger: reads the rows of a source's ledger that the run needs, in their newest version.

    Raises:
        TablesDisagreeError: the generations cannot come from seglake's commits.
    """
    return _run_steps(published_steps(_DeltaPort(tables, LOG_TABLES, ledger), source_id, topics))


def _run_steps(steps: Steps[_T]) -> _T:
    """Run all steps with the pauses that they yield, and return the result."""
    while True:
        try:
            pause_s = next(steps)
        except StopIteration as end:
            outcome: _T = end.value
            return outcome
        if pause_s:
            time.sleep(pause_s)


class _DeltaGenerations(NamedTuple):
    """Generations in a version of a Delta table, read without a handle."""

    tables: LakeTables
    table: Table
    state: TableState

    def generation(self, app: str) -> int:
        """Return the `txn` version of an application id in the table's log; 0 if it has none."""
        with self.tables.named("read the log of", self.table):  # may call delta-rs
            return self.state.generation(app)


class _DeltaPort(CommitPort):
    """Implementation of the port with Delta tables and redo files."""

    def __init__(
        self, tables: LakeTables, commits_to: CommitTables, ledger: Ledger | None = None
    ) -> None:
        """Store the tables, and the function that reads the ledger; by default the whole ledger."""
        self._tables = tables
        self._commits_to = commits_to
        self._storage = tables.storage
        self._ledger = ledger or (lambda source_id: tables.ledger(source_id).to_pylist())

    @property
    def commits_to(self) -> CommitTables:
        """Return the tables to which a wave is committed, in their order."""
        return self._commits_to

    @property
    def pauses_s(self) -> Sequence[float]:
        """Return the seconds to wait before each try of a commit."""
        return self._storage.pauses_s(self._tables.lake_path)

    @property
    def redo_folder(self) -> str:
        """Return the path of the redo files' folder."""
        return self._tables.redo_folder_of(self._commits_to)

    def new_commit_id(self) -> str:
        """Return a random id for a commit."""
        return uuid.uuid4().hex

    def newest(self, table: Table) -> Generations:
        """Return the newest version's generations, read without a handle."""
        return _DeltaGenerations(self._tables, table, self._tables.state(table))

    def opened(self, table: Table) -> TableView:
        """Return the newest version of a table, opened anew, as the base of a commit."""
        return view_of(self._tables, table)

    def commit_ids(self, table: Table, after: CommitBase | None = None) -> set[str | None]:
        """Return the commit ids in the log; with `after`, only ids of later versions."""
        view = view_of(self._tables, table)
        count = None  # no limit: the run may have died long ago
        if after is not None:
            count = view.version - cast(TableView, after).version
        return commit_ids(view, count)

    def require_own_rows(self, topics: Iterable[str]) -> None:
        """Raise ForeignChangeError if another tool has changed rows of the topics' tables."""
        refuse_foreign_changes(self._tables, self._commits_to.of(topics))

    def commit(self, table: Table, view: CommitBase, redo: Redo, topics: Sequence[str]) -> str:
        """Add, and in the deciding table remove, files of some topics, and set their generations.

        A removal also advances the generation of compactions, whose files it may remove.
        """
        files = [f for f in redo.files if f.table == table.name and f.topic in topics]
        info = {
            "attempt_id": redo.attempt_id,
            "commit_id": redo.commit_id,
            "run_id": redo.run_id,
        }
        generations = {app_id(redo.source_id, t): redo.generations[t] for t in topics}
        removed = redo.removed if table == self._commits_to.deciding else ()
        if removed:
            generations[MAINTAIN_APP] = view.generation(MAINTAIN_APP) + 1
        failure = add_files(
            cast(TableView, view),  # the view comes from this port
            [Addition(file, redo.created_at_ms) for file in files],
            now_ms=redo.created_at_ms,
            commit_info=info,
            generations=generations,
            removals=[Removal(file, loses_rows=True) for file in removed],
        )
        if failure:
            self._tables.forget_handles()
        return failure

    def make_durable(self, table: Table) -> None:
        """Sync the table's log, if the storage needs it."""
        if self._storage.needs_sync(self._tables.lake_path):
            sync_log(self._tables, table, self._tables.state(table).version)

    def redo_files(self) -> list[Redo]:
        """Return all redo files of the lake."""
        return redo_file.read_all(self._storage, self.redo_folder)

    def write_redo(self, redo: Redo) -> None:
        """Write a redo file, durable on return."""
        redo_file.write(self._storage, self.redo_folder, redo)

    def delete_redo(self, redo: Redo) -> None:
        """Delete a redo file, which no run needs any more; it may be gone."""
        redo_file.delete(self._storage, self.redo_folder, redo)

    def require_files(self, files: Iterable[DataFile]) -> None:
        """Require that data files exist with their sizes, and make them durable."""
        require_files(self._tables, files)

    def ledger(self, source_id: str) -> list[dict[str, Any]]:
        """Return the rows of one source's ledger, in any order."""
        return self._ledger(source_id)
