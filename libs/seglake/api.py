"""The commands as functions: `import seglake` hands them on. Effect.

Each does what the command of its name does, with the command's options as keywords, prints
nothing, and returns what the command would have printed as an object. The command line calls the
same functions. With the engine "spark", a Spark that runs in this process already is used; else one
is started, for which SPARK_HOME, PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON are set and stay set.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from seglake.environment.run_settings import SettingOptions, settings_of
from seglake.errors import WrongCallError
from seglake.near_names import did_you_mean
from seglake.pipelines.settings.settings import LakeFormat, Settings

if TYPE_CHECKING:
    from seglake.lake.delta_tables import DeltaTable
    from seglake.pipelines.lake_audit.disk_check.disk_check import CopyCheck
    from seglake.pipelines.lake_audit.lake_audit import LakeAudit
    from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary
    from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
    from seglake.pipelines.lake_report.model import LakeReport, ThisRun
    from seglake.pipelines.lake_retake.retake_summary import RetakeSummary
    from seglake.pipelines.progress_views import View
    from seglake.pipelines.segment_ingest.report.ingest_summary import IngestSummary
    from seglake.pipelines.segment_ingest.run_context import ScanContext

Place = str | Path
Places = Place | Iterable[Place]
_QUIET = -1


class EngineOptions(SettingOptions, total=False):
    """How a call runs, besides the settings.

    Attributes:
        engine: "spark" (the default; a running session is used, and is left running) or "local".
        verbosity: -1 says nothing (the default), 0 shows how far the call is, on stderr: a line on
            a terminal, elsewhere one a minute. 1 and 2 say more.
    """

    engine: Literal["spark", "local"]
    verbosity: int


class RunOptions(EngineOptions, total=False):
    """The same, of calls that write.

    Attributes:
        run_id: a label of the run, written with every row; made up when it is left out.
        dry_run: only plan; nothing is written.
    """

    run_id: str | None
    dry_run: bool


class RetakeOptions(RunOptions, total=False):
    """The same, of `retake`.

    Attributes:
        partition: these partitions of the topics only.
        all: whole partitions, also what lost no election; `topics` must be given.
    """

    partition: Sequence[int]
    all: bool


class MaintainOptions(RunOptions, total=False):
    """The same, of `maintain`.

    Attributes:
        tables: these only.
        retention_days: what was replaced stays so long; 7 at least.
    """

    tables: Sequence[str]
    retention_days: int


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit found; `disks` is None where no source was given, or the lake is empty."""

    lake: "LakeAudit"
    disks: "tuple[CopyCheck, ...] | None"

    @property
    def exit_code(self) -> int:
        """0 where everything is explained and equal, else 3."""
        from seglake.pipelines.lake_audit.disk_check import disk_check_report

        disks = 0 if self.disks is None else disk_check_report.exit_code(self.disks)
        return max(self.lake.exit_code, disks)

    # Any: what JSON can hold.
    def to_mapping(self) -> dict[str, Any]:
        """Everything, as `--json` prints it."""
        from seglake.pipelines.lake_audit.disk_check import disk_check_report

        facts = self.lake.to_mapping()
        if self.disks is not None:
            disks = disk_check_report.to_mapping(self.disks)
            facts |= {"exit_code": self.exit_code, "disks": disks}
        return facts

    def to_json(self) -> str:
        """One line."""
        return json.dumps(self.to_mapping(), sort_keys=True)

    def to_text(self) -> str:
        """What a person reads."""
        from seglake.pipelines.lake_audit import text_report
        from seglake.pipelines.lake_audit.disk_check import disk_check_report

        text = text_report.to_text(self.lake)
        if self.disks is None:
            return text
        return f"{text}\n\n{disk_check_report.to_text(self.disks)}"


def ingest(source: Places, lake: Place, **options: Unpack[RunOptions]) -> "IngestSummary":
    """Ingest what is new in the sources into the tables of a lake, exactly once.

    Args:
        source: log dirs, partition folders, or folders above log dirs: local paths or URIs.
        lake: the folder of the tables; made if it is missing.
        options: those of `seglake ingest`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong, and nothing was touched.
        SeglakeError: the run failed; what was committed stays, and it is safe to run again.
    """
    _check(options, RunOptions)
    return run_ingest(_places(source), str(lake), settings_of(options), options)


def replay(lake: Place, source: Places = (), **options: Unpack[RunOptions]) -> "ReplaySummary":
    """Decode quarantined bytes again, and fill gaps from other replicas.

    Args:
        source: log dirs with other replicas; none: only the bytes that the lake keeps.
        options: those of `seglake replay`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong, and nothing was touched.
        SeglakeError: the run failed; what was committed stays, and it is safe to run again.
    """
    _check(options, RunOptions)
    return run_replay(str(lake), _places(source), settings_of(options), options)


def retake(source: Places, lake: Place, **options: Unpack[RetakeOptions]) -> "RetakeSummary":
    """Ingest again what lost an election after it was ingested, from the log that won.

    Args:
        source: log dirs with that log.
        options: those of `seglake retake`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong, and nothing was touched.
        SeglakeError: the run failed; what was committed stays, and it is safe to run again.
    """
    _check(options, RetakeOptions)
    return run_retake(_places(source), str(lake), settings_of(options), options)


def audit(lake: Place, source: Places = (), **options: Unpack[EngineOptions]) -> AuditResult:
    """Prove from the tables that every covered offset is accounted for; writes nothing.

    Args:
        source: log dirs to compare the records with, payload by payload.
        options: those of `seglake audit`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong.
        SeglakeError: the lake or a source cannot be read, or a worker failed.
    """
    _check(options, EngineOptions)
    return run_audit(str(lake), _places(source), settings_of(options), options)


def maintain(lake: Place, **options: Unpack[MaintainOptions]) -> "MaintainSummary":
    """Compact a lake's tables, and delete what dead runs and replaced versions have left.

    Args:
        lake: the folder of the tables.
        options: those of `seglake maintain`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong; nothing was touched.
        SeglakeError: the lake or a worker failed; call it again.
    """
    _check(options, MaintainOptions)
    return run_maintain(str(lake), settings_of(options), options)


def inspect(
    path: Place,
    *,
    records: bool = False,
    offset: int | None = None,
    from_offset: int | None = None,
    limit: int | None = None,
    only_defects: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield what a segment, an index or side file, a partition folder or log dirs hold.

    Args:
        records: records too, not only batches.
        offset: only the batch or record with this offset, found by way of the index.
        from_offset: the first offset that is yielded (`--from`).
        limit: at most so many batches, or records if they are yielded; then one object of the type
            `rest` counts the others.
        only_defects: only damage.

    Yields:
        The objects that `seglake inspect --json` prints, one a line.

    Raises:
        WrongCallError: nothing is there, or it cannot be inspected.
    """
    from seglake.environment.storages import open_storages
    from seglake.pipelines.segment_inspect.run import inspected
    from seglake.pipelines.segment_inspect.shown_part import Part

    part = Part(from_offset=from_offset, limit=limit, only_defects=only_defects)
    lines = inspected(str(path), open_storages(()), records=records, offset=offset, part=part)
    return chain([next(lines)], lines)  # begun, so that a wrong call fails here


def report(lake: Place, output: Place, **options: Unpack[SettingOptions]) -> "LakeReport":
    """Write a lake as one HTML page to look at, and return what the page says.

    Args:
        output: the file, a local path or a URI; an older one is replaced.

    Raises:
        WrongCallError: there is no lake, its storage refuses access, or the output is a folder.
        SeglakeError: a table cannot be read, or the page cannot be written.
    """
    _check(options, SettingOptions)
    settings = settings_of(options)
    check_report_place(str(output), settings)
    return run_report(str(lake), str(output), settings)


def tables(lake: Place, **options: Unpack[SettingOptions]) -> "dict[str, DeltaTable]":
    """Open the tables of a lake, by name, each at its newest version.

    Raises:
        WrongCallError: there is no lake, or its storage refuses access.
    """
    from seglake.environment.storages import open_storages
    from seglake.lake.delta_tables import LakeTables
    from seglake.lake.lake_folder import opening

    _check(options, SettingOptions)
    storage = open_storages(settings_of(options).spark.properties)
    path = storage.locate(str(lake))
    with opening(path):
        return LakeTables(path, storage).open_all()


def run_ingest(
    sources: Sequence[str],
    lake: str,
    settings: Settings,
    options: RunOptions,
    view: "View | None" = None,
) -> "IngestSummary":
    """`ingest` with settings that are made already."""
    from seglake.pipelines.segment_ingest.ingest import ingest as into_tables
    from seglake.pipelines.segment_ingest.parquet_export import convert

    run = convert if settings.write.format is LakeFormat.PARQUET else into_tables
    run_id, dry_run = options.get("run_id"), options.get("dry_run", False)
    with _scanning(settings, options, view) as scan:
        return run(sources, lake, scan, run_id=run_id, dry_run=dry_run)


def run_replay(
    lake: str,
    sources: Sequence[str],
    settings: Settings,
    options: RunOptions,
    view: "View | None" = None,
) -> "ReplaySummary":
    """`replay` with settings that are made already."""
    from seglake.pipelines.lake_replay.replay import replay as replayed

    run_id, dry_run = options.get("run_id"), options.get("dry_run", False)
    with _scanning(settings, options, view) as scan:
        return replayed(lake, sources, scan, run_id=run_id, dry_run=dry_run)


def run_retake(
    sources: Sequence[str],
    lake: str,
    settings: Settings,
    options: RetakeOptions,
    view: "View | None" = None,
) -> "RetakeSummary":
    """`retake` with settings that are made already."""
    from seglake.pipelines.lake_retake.retake import retake as retaken
    from seglake.pipelines.lake_retake.retake_plan import Selection

    selection = Selection(frozenset(options.get("partition", ())), options.get("all", False))
    if selection.is_whole and not settings.select.topics:
        raise WrongCallError("to ingest whole partitions again, name their topics: --topics")
    run_id, dry_run = options.get("run_id"), options.get("dry_run", False)
    with _scanning(settings, options, view) as scan:
        return retaken(sources, lake, scan, selection=selection, run_id=run_id, dry_run=dry_run)


def run_maintain(
    lake: str, settings: Settings, options: MaintainOptions, view: "View | None" = None
) -> "MaintainSummary":
    """`maintain` with settings that are made already."""
    from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice
    from seglake.pipelines.lake_maintenance.maintain import maintain as maintained

    choice = MaintenanceChoice(
        tables=tuple(options.get("tables", ())),
        retention_days=options.get("retention_days", 7),
        dry_run=options.get("dry_run", False),
    )
    with _scanning(settings, options, view) as scan:
        return maintained(
            lake,
            scan.storage,
            scan.engine,
            scan.reporter,
            settings,
            choice=choice,
            run_id=options.get("run_id"),
        )


def run_audit(
    lake: str,
    sources: Sequence[str],
    settings: Settings,
    options: EngineOptions,
    view: "View | None" = None,
) -> AuditResult:
    """`audit` with settings that are made already."""
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_audit.disk_check.disk_check import check_disks, find_disks
    from seglake.pipelines.lake_audit.run import audit as audited

    storage = open_storages(settings.spark.properties)
    disks = find_disks(sources, storage, settings) if sources else None
    with _scanning(settings, options, view) as scan:
        found = audited(lake, scan.storage, scan.engine, scan.reporter)
        if disks is None or found.is_empty:
            return AuditResult(found, None)
        found = replace(found, notes=(*found.notes, *disks.notes))
        checks = check_disks(disks, lake, scan.storage, settings, scan.engine, scan.reporter)
    return AuditResult(found, tuple(checks))


def check_report_place(output: str, settings: Settings) -> None:
    """See that a page may be written to a place, as far as can be seen before it is.

    Raises:
        WrongCallError: there is a folder, or the URI is none that is known.
    """
    from seglake.environment.storages import open_storages

    storage = open_storages(settings.spark.properties)
    found = storage.info(storage.locate(output))
    if found is not None and found.is_folder:
        raise WrongCallError(f"the report cannot be written to {output}: it is a folder")


def run_report(
    lake: str, output: str, settings: Settings, this_run: "ThisRun | None" = None
) -> "LakeReport":
    """`report` with settings that are made already, and the run after which it is made."""
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_report.page import to_html
    from seglake.pipelines.lake_report.run import report as reported

    storage = open_storages(settings.spark.properties)
    stuck_after = settings.limits.stuck_after
    found = reported(lake, storage, stuck_after=stuck_after, this_run=this_run)
    storage.write_bytes(storage.locate(output), to_html(found))
    return found


@contextmanager
def _scanning(
    settings: Settings, options: EngineOptions, view: "View | None"
) -> "Iterator[ScanContext]":
    from seglake.environment.engines import open_engine
    from seglake.environment.storages import open_storages
    from seglake.environment.warm_up import compilation_hint
    from seglake.pipelines.progress import RunReporter
    from seglake.pipelines.segment_ingest.run_context import ScanContext

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
        )


def _check(options: Mapping[str, object], known: type) -> None:
    """Refuse what is no option, as Python does where the names stand in the signature."""
    names = known.__annotations__  # inherited ones included
    unknown = sorted(options.keys() - names.keys())
    if unknown:
        near = did_you_mean(unknown[0], names)
        raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}{near}")


def _places(given: Places) -> list[str]:
    return [str(given)] if isinstance(given, str | Path) else [str(place) for place in given]
