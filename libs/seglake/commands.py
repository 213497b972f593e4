"""The commands with complete settings, for the command line and the API.

The engine "spark" uses the Spark that already runs in this process. If there is none, it starts one
and sets SPARK_HOME, PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON, which stay set.
"""

import json
import os
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from seglake.environment.run_settings import SettingOptions
from seglake.errors import WrongCallError
from seglake.lake.errors import NotALakeError as NotALakeError
from seglake.settings.settings import LakeFormat, Settings

if TYPE_CHECKING:
    from seglake.findings.findings import Findings
    from seglake.ingest_steps.report.ingest_summary import IngestSummary
    from seglake.ingest_steps.run_context import ScanContext
    from seglake.pipelines.lake_audit.disk_check.disk_check import CopyCheck
    from seglake.pipelines.lake_audit.lake_audit import LakeAudit
    from seglake.pipelines.lake_deserialize.decode_counts import DecodeCounts
    from seglake.pipelines.lake_deserialize.deserialize_summary import DeserializeSummary
    from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary
    from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
    from seglake.pipelines.lake_report.model import LakeReport, ThisRun
    from seglake.pipelines.lake_retake.retake_summary import RetakeSummary
    from seglake.progress.progress_views import View

_QUIET = -1


class EngineOptions(SettingOptions, total=False):
    """Options of a call besides the settings.

    Attributes:
        engine: "spark" (the default; a running session is used, and is left running) or "local".
        verbosity: -1 prints nothing (the default); 0 shows the progress on stderr, as one line on a
            terminal, else as a line each minute; 1 adds each step, 2 the debug log.
    """

    engine: Literal["spark", "local"]
    verbosity: int


class RunOptions(EngineOptions, total=False):
    """Options of commands that write.

    Attributes:
        run_id: a label of the run, written with every row; the default is a new one.
        dry_run: only plan; nothing is written.
    """

    run_id: str | None
    dry_run: bool


class RetakeOptions(RunOptions, total=False):
    """Options of `retake`.

    Attributes:
        partition: numbers of the partitions to retake; if left out, all partitions of the topics.
        all: retake whole partitions, also rows that lost no election; `topics` must be given.
    """

    partition: Sequence[int]
    all: bool


class MaintainOptions(RunOptions, total=False):
    """Options of `maintain`.

    Attributes:
        tables: names of the tables to maintain; all if left out.
        upgrade: first add tables and columns that a lake of an earlier version lacks.
    """

    tables: Sequence[str]
    upgrade: bool


class DeserializeOptions(RunOptions, total=False):
    """Options of `deserialize`.

    Attributes:
        registry: topic of the registries; `_schemas` if left out.
        schemas: a file or folder with more schemas.
        retry_rejects: decode records again whose value was rejected.
        rebuild: drop the typed tables of the selected topics, and write them anew; it needs the
            `schemas` and `values.subjects` of the earlier runs again.
    """

    registry: str
    schemas: str | Path | None
    retry_rejects: bool
    rebuild: bool


class AuditResult(NamedTuple):
    """Result of an audit.

    Attributes:
        lake: result for the tables.
        disks: result for each copy on disk; None without a source, or if the lake is empty.
    """

    lake: "LakeAudit"
    disks: "tuple[CopyCheck, ...] | None"

    @property
    def findings(self) -> "Findings":
        """Return the findings of the lake and of the disks."""
        from seglake.pipelines.lake_audit.disk_check import disk_check_report

        found = self.lake.findings
        found.add(disk_check_report.findings(self.disks or ()))
        return found

    @property
    def exit_code(self) -> int:
        """Return 0 if each offset is explained and each compared record is equal, else 3."""
        return self.findings.exit_code

    # Any: the types that JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Return the results and findings as a mapping, which `--json` prints."""
        from seglake.pipelines.lake_audit.disk_check import disk_check_report

        facts = self.lake.to_mapping() | self.findings.to_mapping()
        if self.disks is not None:
            facts |= {"disks": disk_check_report.to_mapping(self.disks)}
        return {**facts, "exit_code": self.exit_code}

    def to_json(self) -> str:
        """Return the mapping as JSON on one line."""
        return json.dumps(self.to_mapping(), sort_keys=True)

    def to_text(self, *, is_quiet: bool = False) -> str:
        """Return the result as text for a person.

        Args:
            is_quiet: show only partitions and copies with a problem.
        """
        from seglake.pipelines.lake_audit import text_report
        from seglake.pipelines.lake_audit.disk_check import disk_check_report

        text = text_report.to_text(self.lake, is_quiet=is_quiet)
        if self.disks is None:
            return text
        return f"{text}\n\n{disk_check_report.to_text(self.disks, is_quiet=is_quiet)}"


def run_ingest(
    sources: Sequence[str],
    lake: str,
    settings: Settings,
    options: RunOptions,
    view: "View | None" = None,
) -> "IngestSummary":
    """Run `ingest` with complete settings, and return its summary."""
    if settings.write.format is LakeFormat.PARQUET:
        from seglake.pipelines.segment_ingest.parquet_export import convert as run
    else:
        from seglake.pipelines.segment_ingest.ingest import ingest as run
    with scanning(settings, options, view) as scan:
        return run(sources, lake, scan)


def run_replay(
    lake: str,
    sources: Sequence[str],
    settings: Settings,
    options: RunOptions,
    view: "View | None" = None,
) -> "ReplaySummary":
    """Run `replay` with complete settings, and return its summary."""
    from seglake.pipelines.lake_replay.replay import replay as replayed

    with scanning(settings, options, view) as scan:
        return replayed(lake, sources, scan)


def run_retake(
    sources: Sequence[str],
    lake: str,
    settings: Settings,
    options: RetakeOptions,
    view: "View | None" = None,
) -> "RetakeSummary":
    """Run `retake` with complete settings, and return its summary.

    Raises:
        WrongCallError: whole partitions are requested without naming topics.
    """
    from seglake.pipelines.lake_retake.retake import retake as retaken
    from seglake.pipelines.lake_retake.retake_plan import Selection

    selection = Selection(frozenset(options.get("partition", ())), options.get("all", False))
    if selection.is_whole and not settings.select.topics:
        raise WrongCallError("to ingest whole partitions again, name their topics: --topics")
    with scanning(settings, options, view) as scan:
        return retaken(sources, lake, scan, selection=selection)


def run_maintain(
    lake: str, settings: Settings, options: MaintainOptions, view: "View | None" = None
) -> "MaintainSummary":
    """Run `maintain` with complete settings, and return its summary."""
    from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice
    from seglake.pipelines.lake_maintenance.maintain import maintain as maintained

    tables = tuple(options.get("tables", ()))
    choice = MaintenanceChoice(tables=tables, upgrade=options.get("upgrade", False))
    with scanning(settings, options, view) as scan:
        return maintained(lake, scan, choice=choice)


def run_deserialize(
    lake: str, settings: Settings, options: DeserializeOptions, view: "View | None" = None
) -> "DeserializeSummary | DecodeCounts":
    """Run `deserialize` with complete settings, and return its summary, or a dry run's counts."""
    if options.get("dry_run", False):
        return _counted(lake, settings, options, view)
    from seglake.pipelines.lake_deserialize.deserialize import deserialize as deserialized
    from seglake.pipelines.lake_deserialize.deserialize_choice import Again, DeserializeChoice

    choice = DeserializeChoice(
        topic=options.get("registry", "_schemas"),
        source_id=settings.source.source_id,
        schemas=_schemas_of(options),
        again=Again(options.get("retry_rejects", False), options.get("rebuild", False)),
    )
    with scanning(settings, options, view) as scan:
        return deserialized(
            lake,
            scan.storage,
            scan.engine,
            scan.reporter,
            settings,
            choice=choice,
            run_id=scan.run_id,
        )


def _counted(
    lake: str, settings: Settings, options: DeserializeOptions, view: "View | None"
) -> "DecodeCounts":
    """Count what `deserialize` would decode; no engine is needed."""
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_deserialize.dry_run import count_decodable
    from seglake.progress.run_reporter import RunReporter

    verbosity = options.get("verbosity", _QUIET)
    with RunReporter(sys.stderr, verbosity=verbosity, view=view) as reporter:
        return count_decodable(
            lake,
            open_storages(settings.spark.properties),
            reporter,
            settings.select,
            options.get("registry", "_schemas"),
            settings.source.source_id,
            _schemas_of(options),
            dict(settings.values.subjects),
        )


def _schemas_of(options: DeserializeOptions) -> str | None:
    given = options.get("schemas")
    return None if given is None else str(given)


def run_audit(
    lake: str,
    sources: Sequence[str],
    settings: Settings,
    options: EngineOptions,
    view: "View | None" = None,
) -> AuditResult:
    """Run `audit` with complete settings, and return its result."""
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_audit.disk_check.disk_check import check_disks, find_disks
    from seglake.pipelines.lake_audit.run import audit as audited

    storage = open_storages(settings.spark.properties)
    disks = find_disks(sources, lake, storage, settings) if sources else None
    with (
        scanning(settings, options, view) as scan,
        TemporaryDirectory(prefix="seglake-") as spill_folder,
    ):
        found = audited(lake, scan.storage, scan.engine, scan.reporter, spill_folder=spill_folder)
        if disks is None or found.is_empty:
            return AuditResult(found, None)
        found = found._replace(notes=(*found.notes, *disks.notes))
        checks = check_disks(disks, lake, scan.storage, settings, scan.engine, scan.reporter)
    return AuditResult(found, tuple(checks))


def run_report(
    lake: str, output: str, settings: Settings, this_run: "ThisRun | None" = None
) -> "LakeReport":
    """Run `report` with complete settings, and return the report that was written.

    Args:
        lake: the folder of the tables, a path or a URI.
        output: where the page is written, a path or a URI.
        settings: settings with access to the storage, and with the time after which a bound is
            stuck.
        this_run: the run that the page describes too, if the report follows one.
    """
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_report.page import to_html
    from seglake.pipelines.lake_report.run import report as reported

    storage = open_storages(settings.spark.properties)
    stuck_after = settings.limits.stuck_after
    with TemporaryDirectory(prefix="seglake-") as spill_folder:
        found = reported(
            lake, storage, spill_folder=spill_folder, stuck_after=stuck_after, this_run=this_run
        )
    storage.write_bytes(storage.locate(output), to_html(found))
    return found


# Any: options have values of many types.
@contextmanager
def scanning(
    settings: Settings, options: Mapping[str, Any], view: "View | None"
) -> "Iterator[ScanContext]":
    """Open storage, engine and progress for a command, and close them after it.

    Args:
        settings: complete settings.
        options: options with names as in `RunOptions`.
        view: form of the progress; None for one that fits stderr.
    """
    from seglake.environment.compilation_hint import compilation_hint
    from seglake.environment.engines import open_engine
    from seglake.environment.storages import open_storages
    from seglake.ingest_steps.run_context import ScanContext
    from seglake.progress.run_reporter import RunReporter

    verbosity = options.get("verbosity", _QUIET)
    hint = compilation_hint(os.environ)
    with (
        RunReporter(sys.stderr, verbosity=verbosity, view=view, hint=hint) as reporter,
        open_engine(
            options.get("engine", "spark"),
            settings,
            verbosity=verbosity,
            preloaded=["seglake.segment_decoding.loaded"],
        ) as engine,
    ):
        yield ScanContext(
            storage=open_storages(settings.spark.properties),
            settings=settings,
            engine=engine,
            reporter=reporter,
            run_id=options.get("run_id") or uuid.uuid4().hex,
            is_dry_run=options.get("dry_run", False),
        )
