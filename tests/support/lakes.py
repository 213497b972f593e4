"""Runs the ingest in this process and reads the tables of a lake back, row by row."""

import atexit
import io
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pyarrow as pa
from deltalake import DeltaTable

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import OBSERVATIONS, TABLES
from seglake.pipelines.lake_maintenance.maintain import MaintenanceChoice, maintain
from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary
from seglake.pipelines.lake_replay.replay import replay
from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
from seglake.pipelines.lake_retake.retake import retake
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.pipelines.lake_retake.retake_summary import RetakeSummary
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.hadoop_properties import HadoopProperties
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storages import Storages
from seglake.task_engine.engine import Engine, LocalEngine
from support.oracle import OracleRecord

_TIMESTAMP_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}
_NO_TIMESTAMP_MS = -1
_OF_A_RUN = {
    *("run_id", "attempt_id", "quarantined_at", "committed_at"),
    *("observed_at", "waiting_since", "listing"),
}

EVERYTHING_SUPERSEDED = Selection()
WHOLE_LAKE = MaintenanceChoice()

# Any: the columns of a row have many types.
Row = dict[str, Any]


class Sections(TypedDict, total=False):
    """Sections of the settings, each with what shall differ from the defaults."""

    source: Mapping[str, object]
    select: Mapping[str, object]
    read: Mapping[str, object]
    write: Mapping[str, object]
    quarantine: Mapping[str, object]
    limits: Mapping[str, object]
    tiered: Mapping[str, object]


def local_scan(
    settings: Settings,
    engine: Engine,
    *,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
) -> ScanContext:
    """Return the context of a run on local disks that shows no progress."""
    return ScanContext(
        storage=LocalStorage(),
        settings=settings,
        engine=engine,
        reporter=RunReporter(io.StringIO()),
        is_dry_run=dry_run,
        after=after,
    )


def ingested(
    sources: Path | Iterable[Path],
    lake: Path,
    *,
    isolation: str = "read_uncommitted",
    engine: Engine | None = None,
    after: Callable[[str], None] = lambda step: None,
    dry_run: bool = False,
    makes_lake: bool = False,
    **sections: Unpack[Sections],
) -> IngestSummary:
    """Ingest the sources into the lake in this process, with the default settings.

    Args:
        engine: None runs everything in this process.
        after: called with each step of a commit.
        makes_lake: whether a lake that is not there is left to the run to make.
        sections: what shall differ from the defaults, such as `source={"source_id": "c"}`.
    """
    paths = [sources] if isinstance(sources, Path) else sources
    read = {"isolation": isolation, **sections.pop("read", {})}
    settings = Settings.from_mappings([("test", {"read": read, **sections})])
    if not dry_run and not makes_lake:
        _begin(lake)
    with LocalEngine(1) as own:
        chosen = own if engine is None else engine
        scan = local_scan(settings, chosen, dry_run=dry_run, after=after)
        return ingest([str(path) for path in paths], str(lake), scan)


def ingested_from(
    uris: Sequence[str],
    lake: Path,
    properties: HadoopProperties,
    **sections: Unpack[Sections],
) -> IngestSummary:
    """Ingest from remote storages into a local lake, in this process."""
    settings = Settings.from_mappings([("test", sections)])
    with LocalEngine(1) as engine:
        scan = replace(local_scan(settings, engine), storage=Storages(properties))
        return ingest(uris, str(lake), scan)


def _begin(lake: Path) -> None:
    """Copy an empty lake to a place without one, since making the tables is a third of a run."""
    if not lake.exists():
        shutil.copytree(_empty_lake(), lake)


@cache
def _empty_lake() -> Path:
    """Return a lake as a run leaves it that dies before its first commit."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    lake = Path(folder, "lake")
    create_missing(LakeTables(str(lake), LocalStorage()))
    return lake


def replayed(
    lake: Path,
    *sources: Path,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
    **sections: Any,
) -> ReplaySummary:
    """Replay what is quarantined in the lake, and what the sources have of it."""
    settings = Settings.from_mappings([("test", sections)])
    paths = [str(source) for source in sources]
    with LocalEngine(1) as engine:
        scan = local_scan(settings, engine, dry_run=dry_run, after=after)
        return replay(str(lake), paths, scan)


def retaken(
    lake: Path,
    *sources: Path,
    selection: Selection = EVERYTHING_SUPERSEDED,
    dry_run: bool = False,
    engine: Engine | None = None,
    after: Callable[[str], None] = lambda step: None,
    **sections: Any,
) -> RetakeSummary:
    """Ingest again what the lake has lost by elections."""
    settings = Settings.from_mappings([("test", sections)])
    with LocalEngine(1) as own:
        chosen = own if engine is None else engine
        scan = local_scan(settings, chosen, dry_run=dry_run, after=after)
        return retake([str(source) for source in sources], str(lake), scan, selection=selection)


def maintained(
    lake: Path,
    choice: MaintenanceChoice = WHOLE_LAKE,
    *,
    processes: int = 1,
    engine: Engine | None = None,
    dry_run: bool = False,
    after: Callable[[str], None] = lambda step: None,
    **sections: Any,
) -> MaintainSummary:
    """Maintain a lake, with sections of settings."""
    settings = Settings.from_mappings([("test", sections)])
    with LocalEngine(processes) as own:
        chosen = own if engine is None else engine
        scan = local_scan(settings, chosen, dry_run=dry_run, after=after)
        return maintain(str(lake), scan, choice=choice)


def ingested_in_pieces(
    source: Path,
    lake: Path,
    isolation: str,
    *,
    split_bytes: int,
    wave_bytes: int,
    engine: Engine | None = None,
    after: Callable[[str], None] = lambda step: None,
) -> IngestSummary:
    """Ingest with tasks and commits below the least that settings allow, internal topics too."""
    layer = {"read": {"isolation": isolation}, "select": {"internal_topics": True}}
    settings = Settings.from_mappings([("test", layer)])
    object.__setattr__(settings.read, "split_bytes", split_bytes)
    object.__setattr__(settings.write, "wave_bytes", wave_bytes)
    with LocalEngine(1) as own:
        chosen = own if engine is None else engine
        scan = local_scan(settings, chosen, after=after)
        return ingest([str(source)], str(lake), scan)


def content(lake: Path, table: str) -> list[str]:
    """A table's rows, sorted, without what every run makes anew.

    In how many commits rows came is for the ledger to say.
    """
    left_out = _OF_A_RUN if table == "checkpoints" else {*_OF_A_RUN, "generation"}
    return sorted(
        repr({name: value for name, value in row.items() if name not in left_out})
        for row in read_table(lake, table)
    )


def read_table(lake: Path, table: str) -> list[Row]:
    """All rows of one table, in no order; empty before the lake has tables."""
    rows: list[Row] = read_arrow(lake, table).to_pylist()
    return rows


def by_partition(lake: Path, table: str) -> dict[int, list[Row]]:
    """Rows of one table of a lake with one topic; a partition without rows has an empty list."""
    found: dict[int, list[Row]] = defaultdict(list)
    for row in read_table(lake, table):
        found[row["partition"]].append(row)
    return found


def read_arrow(lake: Path, table: str) -> pa.Table:
    """Return all rows of one table as Arrow; empty before the lake has tables."""
    known = {each.name: each for each in TABLES}
    if table not in known:
        raise ValueError(f"no table is named {table!r}")
    path = str((lake / table).absolute())
    if not DeltaTable.is_deltatable(path):
        return known[table].schema.empty_table()
    return DeltaTable(path).to_pyarrow_table()


def versions(lake: Path) -> dict[str, int]:
    """The version of each table; empty before the lake has tables."""
    paths = {table.name: str(lake / table.name) for table in TABLES}
    return {
        name: DeltaTable(path).version()
        for name, path in paths.items()
        if DeltaTable.is_deltatable(path)
    }


def row_versions(lake: Path) -> dict[str, int]:
    """Return the versions of the tables with rows of logs; observations do not count."""
    return {name: version for name, version in versions(lake).items() if name != OBSERVATIONS.name}


def oracle_record(row: Row) -> OracleRecord:
    """A row of `records` as Kafka's consumer would have given it."""
    time_ms = row["timestamp_ms"]
    return OracleRecord.of(
        row["offset"],
        _NO_TIMESTAMP_MS if time_ms is None else time_ms,
        _TIMESTAMP_TYPES[row["timestampType"]],
        row["key"],
        row["value"],
        [(header["key"], header["value"]) for header in row["headers"] or ()],
    )
