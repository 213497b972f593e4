"""Steps of a maintenance.

First, commits that dead runs left unfinished are completed. Then, for each table, small files are
merged, files that no version needs are deleted, and a checkpoint shortens the log for readers.
Finally, unneeded scratch files are deleted. Each step is complete by itself: if a run dies in a
step, the next maintenance repeats the step.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.run_context import RunContext, ScanContext, opened_lake
from seglake.lake.compaction import Merge, merge_task, replace_files
from seglake.lake.delta_commit import recover
from seglake.lake.delta_tables import LakeTables
from seglake.lake.foreign_changes import refuse_foreign_changes
from seglake.lake.latest_tables import LATEST_FOLDER, latest_tables
from seglake.lake.log_durability import write_checkpoint
from seglake.lake.merged_files import merge
from seglake.lake.rule_table import ERASURES
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_creation import create_missing, pending_upgrade, upgrade_notes
from seglake.lake.table_view import TableView, view_of
from seglake.lake.tables import REQUIRED_TABLES, TABLES, Table
from seglake.lake.topic_drop import complete_drops
from seglake.lake.typed_tables import TYPED_FOLDER, commit_tables, typed_tables
from seglake.lake.vacuum import scratch_deleted, vacuumed
from seglake.lake.value_tables import VALUE_REJECTS, VALUE_TABLES
from seglake.near_names import did_you_mean
from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary, TableMaintenance
from seglake.pipelines.lake_maintenance.merge_plan import merges_of
from seglake.pipelines.lake_maintenance.retention import Retention
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import check_selection
from seglake.task_engine.packing import packed

_NAMES = [table.name for table in (*TABLES, *VALUE_TABLES, ERASURES)]
_OF_TOPICS = (f"{TYPED_FOLDER}/", f"{LATEST_FOLDER}/")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceChoice:
    """Requested kinds of maintenance.

    Attributes:
        tables: names of tables, such as `records`, `typed/orders` or `latest/orders`; empty for
            all.
        upgrade: whether first to add tables and columns that a lake of an older version lacks.

    Raises:
        WrongCallError: there is no such table.
    """

    tables: tuple[str, ...] = ()
    upgrade: bool = False

    def __post_init__(self) -> None:
        """Raise WrongCallError if `--tables` names a table that no lake has."""
        _require_known((each for each in self.tables if not each.startswith(_OF_TOPICS)), _NAMES)

    def of(self, tables: LakeTables) -> list[Table]:
        """Return the chosen tables that a lake has, in the order of commits.

        Raises:
            WrongCallError: the lake has no such table of a topic.
        """
        typed = [each.table for each in typed_tables(tables)]
        latest = [each.table for each in latest_tables(tables)]
        names = [*_NAMES, *(table.name for table in (*typed, *latest))]
        _require_known(self.tables, names)
        # The next ingest creates a table that an older lake lacks.
        return [
            table
            for table in (*TABLES, VALUE_REJECTS, *typed, *VALUE_TABLES[1:], *latest, ERASURES)
            if (not self.tables or table.name in self.tables)
            and (table in REQUIRED_TABLES or tables.has(table))
        ]


def _require_known(requested: Iterable[str], names: Sequence[str]) -> None:
    for name in requested:
        if name not in names:
            raise WrongCallError(
                f"no table to maintain has the name {name}{did_you_mean(name, names)}"
            )


def maintain(lake: str, scan: ScanContext, *, choice: MaintenanceChoice) -> MaintainSummary:
    """Complete dead runs' commits, compact, write checkpoints, and delete unneeded files.

    It may run beside ingests, readers, and another maintenance.

    Args:
        lake: the lake's path or URI.
        scan: context with the lake's storage, with settings that select topics and set the sizes of
            files, and with the engine that merges files; the caller closes it. A dry run only
            reports what would be done.
        choice: the requested kinds of maintenance.

    Raises:
        LakeFolderError, UnsafeStoreError: the call is wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed. Run it again.
    """
    started = time.monotonic()
    tables = opened_lake(lake, scan)
    run = RunContext.begun(scan, tables, "")
    maintenance = _Maintenance(run, choice)
    summary = MaintainSummary(run.run_id, tables.lake_path, run.is_dry_run)
    if choice.upgrade and not maintenance.upgraded(summary):
        return summary
    refuse_foreign_changes(tables, REQUIRED_TABLES)
    _note_missing_topics(tables, scan.settings, summary)
    if not run.is_dry_run:
        scan.reporter.step("completing what earlier runs began")
        summary.recovered = [*recover(tables, None), *_typed_recovered(tables)]
    maintenance.expire(summary)
    for table in choice.of(tables):
        summary.add_table(maintenance.of(table))
    if not run.is_dry_run:
        run.ledger.read()
        run.ledger.store(if_due=False)
    if not choice.tables:
        scratch = scratch_deleted(tables, time.time_ns() // 1_000_000, dry_run=run.is_dry_run)
        summary.scratch_files, summary.scratch_bytes = scratch
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _typed_recovered(tables: LakeTables) -> list[str]:
    """Complete the commits and drops of decoded values that dead runs left; return their topics.

    A drop that has removed nothing yet is left to the next `deserialize`, which decodes anew.
    """
    if not tables.has(VALUE_REJECTS):
        return []
    dropped = complete_drops(tables, only_decided=True)
    return [*dropped, *recover(tables, None, commits_to=commit_tables(typed_tables(tables)))]


def _note_missing_topics(tables: LakeTables, settings: Settings, summary: MaintainSummary) -> None:
    """Add selected topics that the lake lacks to the summary."""
    if settings.select.topics:
        found = check_selection(tables.topics(), settings.select, place="lake")
        summary.findings.add_reasons(FindingKind.LEFT_OUT, found.missing)
        summary.findings.add_texts(FindingKind.NOTE, found.notes)


class _Maintenance(NamedTuple):
    run: RunContext
    choice: MaintenanceChoice

    def upgraded(self, summary: MaintainSummary) -> bool:
        """Add the tables that an older lake lacks.

        Returns False if a dry run only plans to add some.
        """
        if self.run.is_dry_run:
            pending = pending_upgrade(self.run.tables)
            if pending:
                added = ", ".join(pending)
                note = f"would be added: {added}; the rest of the plan depends on it"
                summary.findings.add_texts(FindingKind.NOTE, [note])
            return not pending
        single = self.run.settings.write.single_writer
        notes = upgrade_notes(create_missing(self.run.tables, is_single_writer=single))
        summary.findings.add_texts(FindingKind.NOTE, notes)
        return True

    def expire(self, summary: MaintainSummary) -> None:
        """Remove records that are older than the settings allow, if all tables are chosen."""
        if self.choice.tables or not self.run.settings.retention.records:
            return
        for source_id in sorted(self.run.ledger.sources()):
            Retention(replace(self.run, source_id=source_id), summary).run()

    def of(self, table: Table) -> TableMaintenance:
        started = time.monotonic()
        view = view_of(self.run.tables, table)
        done = TableMaintenance(table.name, *_count(view.files))
        if self.run.is_dry_run:
            merges = self._merges(view)
            done.merged_files, done.new_files = _file_count(merges), len(merges)
        else:
            view = self._compact(view, done)
        done.deleted_files, done.deleted_bytes = vacuumed(
            self.run.tables, table, view.handle, run_id=self.run.run_id, dry_run=self.run.is_dry_run
        )
        if not self.run.is_dry_run:
            done.files_after, done.bytes_after = _count(view.files)
            write_checkpoint(self.run.tables, table, view.handle)
        done.seconds = round(time.monotonic() - started, 3)
        return done

    def _merges(self, view: TableView) -> list[Merge]:
        selects, target_bytes = self.run.settings.select, self.run.settings.write.target_file_bytes
        only = view.table.topics or ()
        return [
            merge
            for merge in merges_of(view.table, view.files, target_bytes)
            if not selects.topics
            or any(map(selects.selects_topic, [merge.topic] if merge.topic else only))
        ]

    def _compact(self, view: TableView, done: TableMaintenance) -> TableView:
        """Merge files, in commits of limited size, until none is left to merge."""
        while merges := self._merges(view):
            write = self.run.settings.write
            wave = packed(merges, lambda each: each.size_bytes, write.wave_bytes)[0]
            files = self.run.reporter.run_tasks(
                self.run.engine,
                merge,
                [merge_task(self.run.tables, view.table, m, write.compression_level) for m in wave],
                sizes=[each.size_bytes for each in wave],
                text=f"compacting {view.table.name}",
            )
            done.failure = replace_files(view, wave, files, run_id=self.run.run_id)
            view = view_of(self.run.tables, view.table)
            if done.failure:
                break
            done.merged_files += _file_count(wave)
            done.new_files += len(wave)
        return view


def _count(files: Sequence[StoredFile]) -> tuple[int, int]:
    return len(files), sum(file.size_bytes for file in files)


def _file_count(merges: Iterable[Merge]) -> int:
    return sum(len(each.files) for each in merges)
