"""The order of a maintenance. Effect.

First, commits that dead runs left unfinished are completed. Then, for each table, small files are
merged, files that no version needs are deleted, and a checkpoint shortens the log for readers. At
last, unneeded scratch files are deleted. Each step is complete by itself: if one dies, the next
maintenance repeats it.
"""

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seglake.errors import WrongCallError
from seglake.lake.compaction import Merge, TableView, merge_task, replace_files, view_of
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.lake_folder import opening, require_writable
from seglake.lake.log_durability import write_checkpoint
from seglake.lake.merged_files import merge
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_creation import create_missing, pending_upgrade, upgrade_notes
from seglake.lake.tables import REQUIRED_TABLES, TABLES, Table
from seglake.lake.vacuum import scratch_deleted, vacuumed
from seglake.log_tables.ledger_digest import LedgerDigest
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary, TableMaintenance
from seglake.pipelines.lake_maintenance.merge_plan import merges_of
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import check_selection
from seglake.storage.storage import Storage
from seglake.task_engine.engine import Engine
from seglake.task_engine.packing import packed


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceChoice:
    """Requested kinds of maintenance.

    Attributes:
        tables: names of tables; empty for all.
        dry_run: only report what would be done.
        upgrade: first add tables and columns that a lake of an earlier version lacks.

    Raises:
        WrongCallError: there is no such table.
    """

    tables: tuple[str, ...] = ()
    dry_run: bool = False
    upgrade: bool = False

    def __post_init__(self) -> None:
        """Raise WrongCallError if there is no such table."""
        names = [table.name for table in TABLES]
        for name in self.tables:
            if name not in names:
                raise WrongCallError(
                    f"no table to maintain has the name {name}{did_you_mean(name, names)}"
                )

    @property
    def chosen(self) -> list[Table]:
        """Return the chosen tables, in the order of `TABLES`."""
        return [table for table in TABLES if not self.tables or table.name in self.tables]


def maintain(
    lake: str,
    storage: Storage,
    engine: Engine,
    reporter: RunReporter,
    settings: Settings,
    *,
    choice: MaintenanceChoice,
    run_id: str | None = None,
) -> MaintainSummary:
    """Complete dead runs' commits, compact, write checkpoints, and delete unneeded files.

    It may run beside ingests, readers, and another maintenance.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        engine: merges the files.
        reporter: shows the steps.
        settings: they select topics, and set the sizes of files.
        choice: the requested kinds of maintenance.
        run_id: label of the run, in its commits; made up if None.

    Raises:
        LakeFolderError, UnsafeStoreError: a wrong call; nothing was touched.
        SeglakeError: the lake or a worker failed; run it again.
    """
    started = time.monotonic()
    tables = _opened_lake(lake, storage, settings, choice)
    run = _Maintenance(tables, engine, reporter, settings, choice, run_id or uuid.uuid4().hex)
    summary = MaintainSummary(run.run_id, tables.lake_path, choice.dry_run)
    if choice.upgrade and not run.upgraded(summary):
        return summary
    refuse_foreign_changes(tables, REQUIRED_TABLES)
    _note_missing_topics(tables, settings, summary)
    if not choice.dry_run:
        reporter.step("completing what earlier runs began")
        summary.recovered = list(recover(tables, None))
    # A table that an older lake lacks is made by its next run.
    there = [t for t in choice.chosen if t in REQUIRED_TABLES or tables.has(t)]
    summary.tables = [run.of(table) for table in there]
    if not choice.dry_run:
        ledger = LedgerDigest(tables)
        ledger.read()
        ledger.store(if_due=False)
    if not choice.tables:
        scratch = scratch_deleted(tables, time.time_ns() // 1_000_000, dry_run=choice.dry_run)
        summary.scratch_files, summary.scratch_bytes = scratch
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _opened_lake(
    lake: str, storage: Storage, settings: Settings, choice: MaintenanceChoice
) -> LakeTables:
    """Return the tables of a lake, once it is known that the run may change them."""
    tables = LakeTables(storage.locate(lake), storage)
    with opening(tables.lake_path):
        tables.require()
    if not choice.dry_run:
        require_writable(storage, tables.lake_path, tables.work_folder)
    if not (choice.dry_run or settings.write.single_writer):
        tables.require_safe_commits()
    return tables


def _note_missing_topics(tables: LakeTables, settings: Settings, summary: MaintainSummary) -> None:
    """Add selected topics that the lake lacks to the summary."""
    if settings.select.topics:
        found = check_selection(tables.topics(), settings.select, place="lake")
        summary.left_out |= found.missing
        summary.notes += found.notes


@dataclass(frozen=True, slots=True)
class _Maintenance:
    tables: LakeTables
    engine: Engine
    reporter: RunReporter
    settings: Settings
    choice: MaintenanceChoice
    run_id: str

    def upgraded(self, summary: MaintainSummary) -> bool:
        """Add tables that an earlier version's lake lacks, with a note; False if only planned."""
        if self.choice.dry_run:
            pending = pending_upgrade(self.tables)
            if pending:
                added = ", ".join(pending)
                summary.notes = [f"would be added: {added}; what follows is known after that"]
            return not pending
        single = self.settings.write.single_writer
        summary.notes = upgrade_notes(create_missing(self.tables, is_single_writer=single))
        return True

    def of(self, table: Table) -> TableMaintenance:
        started = time.monotonic()
        view = view_of(self.tables, table)
        done = TableMaintenance(table.name, *_count(view.files))
        if self.choice.dry_run:
            merges = self._merges(view)
            done.merged_files, done.new_files = _file_count(merges), len(merges)
        else:
            view = self._compact(view, done)
        done.deleted_files, done.deleted_bytes = vacuumed(
            self.tables, table, view.handle, run_id=self.run_id, dry_run=self.choice.dry_run
        )
        if not self.choice.dry_run:
            done.files_after, done.bytes_after = _count(view.files)
            write_checkpoint(self.tables, table, view.handle)
        done.seconds = round(time.monotonic() - started, 3)
        return done

    def _merges(self, view: TableView) -> list[Merge]:
        selects = self.settings.select
        return [
            merge
            for merge in merges_of(view, self.settings.write.target_file_bytes)
            if not selects.topics or (merge.topic and selects.selects_topic(merge.topic))
        ]

    def _compact(self, view: TableView, done: TableMaintenance) -> TableView:
        """Merge files until none is left to merge, in commits of at most the size of a wave."""
        while merges := self._merges(view):
            write = self.settings.write
            wave = packed(merges, lambda each: each.size_bytes, write.wave_bytes)[0]
            files = self.reporter.run_tasks(
                self.engine,
                merge,
                [merge_task(self.tables, view.table, m, write.compression_level) for m in wave],
                sizes=[each.size_bytes for each in wave],
                text=f"compacting {view.table.name}",
            )
            now_ms = time.time_ns() // 1_000_000
            done.failure = replace_files(
                self.tables, view, wave, files, run_id=self.run_id, now_ms=now_ms
            )
            view = view_of(self.tables, view.table)
            if done.failure:
                break
            done.merged_files += _file_count(wave)
            done.new_files += len(wave)
        return view


def _count(files: Sequence[StoredFile]) -> tuple[int, int]:
    return len(files), sum(file.size_bytes for file in files)


def _file_count(merges: Iterable[Merge]) -> int:
    return sum(len(each.files) for each in merges)
