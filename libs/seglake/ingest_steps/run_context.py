"""Values that all steps of a run share, and functions that make them."""

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Self, TypeVar

from seglake.kafka_log.known_sources import NO_SOURCES, KnownSources
from seglake.kafka_log.read_policy import Isolation
from seglake.lake import delta_commit
from seglake.lake.commit_protocol import Attempt, no_hook
from seglake.lake.delta_tables import LakeTables
from seglake.lake.lake_folder import require_writable
from seglake.lake.lake_opening import opened_to_commit
from seglake.lake.snapshots import StoredFile
from seglake.log_dirs.discovery import Discovery, discover
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_tables.erasure_rules import rules_of
from seglake.log_tables.known_sources import LakeSources
from seglake.log_tables.ledger_digest import LedgerDigest
from seglake.log_tables.source_ledger import SourceLedger
from seglake.progress.run_reporter import RunReporter
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.settings.settings import Settings
from seglake.settings.topic_selection import check_selection, unmatched_globs
from seglake.storage.storage import Storage
from seglake.task_engine.engine import Engine

_LOG = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanContext:
    """Context of a call that reads logs: storage, settings, workers, and how a run is done.

    Attributes:
        run_id: label of the run.
        is_dry_run: whether the run writes nothing.
        after: function to call after each step of a commit, with the step's name; tests stop a run
            in it.
    """

    storage: Storage
    settings: Settings
    engine: Engine
    reporter: RunReporter
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    is_dry_run: bool = False
    after: Callable[[str], None] = no_hook

    def decoding(
        self, source_id: str, *, lake_path: str = "", run_id: str = "", started_at_us: int = 0
    ) -> DecodeSettings:
        """Return the settings of tasks that decode logs, for a lake or for a query.

        Args:
            source_id: cluster of the logs.
            lake_path: the lake to write to; empty for a query.
            run_id: label of the rows.
            started_at_us: time of the rows, in microseconds; 0 for now.
        """
        settings = self.settings
        return DecodeSettings(
            storage=self.storage,
            lake_path=lake_path,
            source_id=source_id,
            run_id=run_id,
            attempt_id="",
            started_at_us=started_at_us or time.time_ns() // 1000,
            reads_aborted=settings.read.isolation is Isolation.READ_UNCOMMITTED,
            reads_undecided=settings.reads_undecided,
            window_bytes=settings.read.window_bytes,
            decoded_bytes=settings.read.decoded_bytes,
            max_decompressed_batch_bytes=settings.limits.max_decompressed_batch_bytes,
            max_raw_bytes=settings.quarantine.max_raw_bytes,
            target_file_bytes=settings.write.target_file_bytes,
            compression_level=settings.write.compression_level,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext(ScanContext):
    """Context of a run that reads logs and writes to a lake.

    Attributes:
        tables: the lake's tables.
        ledger: the lake's ledger, read once.
        source_id: the cluster.
        started_at_us: time of the run's start, in microseconds since the epoch.
    """

    tables: LakeTables
    ledger: LedgerDigest
    source_id: str
    started_at_us: int

    @classmethod
    def begun(cls, scan: ScanContext, tables: LakeTables, source_id: str) -> Self:
        """Return the context of a run that begins now."""
        return cls(
            **{each.name: getattr(scan, each.name) for each in fields(ScanContext)},
            tables=tables,
            ledger=LedgerDigest(tables),
            source_id=source_id,
            started_at_us=time.time_ns() // 1000,
        )

    @property
    def settled_places(self) -> tuple[str, ...]:
        """Return the setting `select.settled`: unread files and folders that a person accepts."""
        return tuple(map(self.storage.locate, self.settings.select.settled))

    def with_isolation(self, isolation: Isolation) -> Self:
        """Return the context for topics whose first run had this isolation level."""
        settings = self.settings
        settings = replace(settings, read=replace(settings.read, isolation=isolation))
        return replace(self, settings=settings)

    @property
    def lake_decoding(self) -> DecodeSettings:
        """Return the settings of the run's tasks; each commit attempt adds its own id.

        The settings have the newest erasure rules. Read the topics' generations before calling
        this: an erasure stores its rules and then advances the generations, so that runs without
        these rules fail to commit.
        """
        settings = self.decoding(
            self.source_id,
            lake_path=self.tables.lake_path,
            run_id=self.run_id,
            started_at_us=self.started_at_us,
        )
        return replace(settings, rules=rules_of(self.tables))

    def of_files(
        self, function: Callable[[StoredFile], R], files: Sequence[StoredFile], text: str
    ) -> dict[str, R]:
        """Run a function over data files of the lake, in tasks; return the results by path.

        Args:
            function: runs in a worker, with one file as its argument.
            files: the files.
            text: the step's name.
        """
        sizes = [file.size_bytes for file in files]
        found = self.reporter.run_tasks(self.engine, function, files, sizes=sizes, text=text)
        return {file.path: each for file, each in zip(files, found, strict=True)}

    def attempt(self, attempt_id: str) -> Attempt:
        """Return an attempt of this run to commit, which begins now."""
        return Attempt(
            source_id=self.source_id,
            attempt_id=attempt_id,
            run_id=self.run_id,
            now_ms=time.time_ns() // 1_000_000,
        )

    def require_writable(self) -> None:
        """Require write access to the lake, before work that ends in a commit.

        Raises:
            LakeRefusedError: the storage denies writing, before anything was changed.
        """
        tables = self.tables
        require_writable(tables.storage, tables.lake_path, tables.work_folder)


def list_sources(
    sources: Sequence[str],
    scan: ScanContext,
    *,
    unnamed_id: str | None = None,
    known: KnownSources = NO_SOURCES,
) -> Discovery:
    """Return the partitions of the sources that the settings select; see `discover`."""
    settings = scan.settings
    discovery = discover(
        sources,
        scan.storage,
        selects_topic=settings.select.selects_topic,
        source_id=settings.source.source_id,
        unnamed_id=unnamed_id,
        known=known,
        tier_policy=settings.tier_policy,
    )
    counts = (len(discovery.partitions), len(discovery.replicas), len(discovery.unreadable))
    _LOG.debug("listed %s: partitions=%d copies=%d unreadable=%d", discovery.source_id, *counts)
    return discovery


def list_of_lake(sources: Sequence[str], scan: ScanContext, tables: LakeTables) -> Discovery:
    """List the sources of a run on an existing lake.

    Disks without a cluster id are assumed to belong to the lake's only cluster.

    Args:
        sources: log dirs, partition folders, or folders above log dirs: paths or URIs.
        scan: lists the folders.
        tables: the lake's tables.

    Raises:
        WrongSourceError: no ingest has joined the disks' cluster id with the given name.
    """
    known = LakeSources(tables)
    discovery = list_sources(sources, scan, unnamed_id=known.only, known=known)
    cluster_id = discovery.cluster_id
    if is_unjoined(discovery, known):
        raise WrongSourceError(
            f"the lake has not joined cluster {cluster_id} with {discovery.source_id} yet: run "
            f"seglake ingest --source-id {discovery.source_id} first, if both have the same logs"
        )
    return discovery


def is_unjoined(discovery: Discovery, known: KnownSources) -> bool:
    """Return whether the lake has not yet joined the given cluster name to the cluster's id."""
    cluster_id = discovery.cluster_id
    return cluster_id not in (None, discovery.source_id) and cluster_id not in known.joined


def list_selected(
    sources: Sequence[str],
    scan: ScanContext,
    *,
    unnamed_id: str | None = None,
    known: KnownSources = NO_SOURCES,
) -> Discovery:
    """List the sources, with notes on globs that select nothing.

    Args:
        sources: log dirs, partition folders, or folders above log dirs: paths or URIs.
        scan: lists the folders.
        unnamed_id: name of the cluster for disks without a cluster id; None refuses such disks.
        known: sources of the lake.

    Raises:
        NothingSelectedError: no topic of the sources is selected.
    """
    discovery = list_sources(sources, scan, unnamed_id=unnamed_id, known=known)
    select = scan.settings.select
    # A folder that cannot be listed may have the missing topic.
    check = check_selection if discovery.has_all_topics else unmatched_globs
    missing, notes = check(discovery.topics, select, place="sources")
    return replace(discovery, notes=(*discovery.notes, *notes), missing_topics=missing)


def check_apart(discovery: Discovery, storage: Storage, lake_path: str) -> None:
    """Require that the lake is not inside a source, since sources are never written to.

    If the sources are single partition folders, the lake may be in their parent folder.

    Raises:
        WrongSourceError: the lake is inside a source.
    """
    place = storage.without_links(lake_path)
    found = [("folder of a remote tier", folder) for folder in discovery.tier_folders]
    for log_dir in discovery.log_dirs:
        names = log_dir.partition_folders
        if log_dir.is_parent_only:
            found += [("partition folder", storage.join(log_dir.path, name)) for name in names]
        else:
            found.append(("log dir", log_dir.path))
    for kind, folder in found:
        if f"{place}/".startswith(f"{storage.without_links(folder)}/"):
            raise WrongSourceError(
                f"the lake {lake_path} is inside the {kind} {folder}: give another folder, "
                "sources are never written to"
            )


def opened_lake(lake: str, scan: ScanContext) -> LakeTables:
    """Open an existing lake for a run that commits to it; see `opened_to_commit`."""
    single_writer, is_dry = scan.settings.write.single_writer, scan.is_dry_run
    return opened_to_commit(lake, scan.storage, is_single_writer=single_writer, dry_run=is_dry)


def published(context: RunContext, topics: Sequence[str]) -> tuple[dict[str, int], SourceLedger]:
    """Return the published commit counter (generation) of each topic, and the ledger.

    A commit that is based on these counters fails if another run commits in the meantime, even if
    that other commit is not in the ledger yet.
    """
    tables = context.tables
    if not tables.exists():
        return dict.fromkeys(topics, 0), SourceLedger()
    generations, ledger = delta_commit.published(
        tables, context.source_id, topics, context.ledger.rows
    )
    return generations, SourceLedger(ledger)
