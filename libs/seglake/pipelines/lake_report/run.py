"""The order of a report, and nothing else. Effect: reads the lake, writes one page.

Memory grows with the ledger, the damage and the gaps, not with records or batches.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from seglake.findings.unread_places import recovery_with
from seglake.kafka_log.observation import Observation, UnreadPlace
from seglake.lake.delta_tables import LakeTables
from seglake.lake.lake_folder import opening
from seglake.lake.parquet_rows import plain_texts, read_rows
from seglake.lake.snapshots import Snapshot, read_snapshots
from seglake.lake.tables import BATCHES, CHECKPOINTS, GAPS, QUARANTINE, SALVAGED_RECORDS, Table
from seglake.log_tables.observation_rows import NewestPlaces, every_observation
from seglake.pipelines.lake_report.damage import COLUMNS as DAMAGE_COLUMNS
from seglake.pipelines.lake_report.damage import SALVAGED_COLUMNS, damage_by_log
from seglake.pipelines.lake_report.findings import unread_findings
from seglake.pipelines.lake_report.gap_pieces import gap_pieces
from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.pipelines.lake_report.model import LakeReport, ThisRun
from seglake.pipelines.lake_report.open_rows import open_records
from seglake.pipelines.lake_report.partitions import LogFacts, partition_reports
from seglake.pipelines.lake_report.runs import RunTally
from seglake.storage.storage import Storage

_LEDGER_COLUMNS = tuple(
    name
    for name in CHECKPOINTS.schema.names
    if name not in {"offset_sum", "key_bytes", "value_bytes", "bytes"}
)


def report(
    lake: str,
    storage: Storage,
    *,
    stuck_after: timedelta | None = None,
    this_run: ThisRun | None = None,
    now: datetime | None = None,
) -> LakeReport:
    """Read a lake, and say what is to be seen in it.

    Args:
        stuck_after: for how long a bound may stand still while its log grows; None for ever.
        this_run: the run after which the report is made, if there is one.
        now: of the report.

    Raises:
        LakeFolderError: there is no lake, or its storage does not let us in.
        SeglakeError: a table cannot be read.
    """
    path, made_at = storage.locate(lake), now or datetime.now(UTC)
    tables = LakeTables(path, storage)
    with opening(path):
        tables.require()
        salvaged = _salvaged(tables)  # before its damage, so that each row of it is there
        snapshots = read_snapshots(tables, (BATCHES, QUARANTINE, GAPS, CHECKPOINTS))
    rows = _rows(storage, snapshots, CHECKPOINTS, _LEDGER_COLUMNS)
    ledger = Ledger(rows, snapshots[CHECKPOINTS.name].generation)
    gaps = gap_pieces(storage, snapshots[GAPS.name].files, ledger)
    runs = RunTally()
    places: dict[str, NewestPlaces] = {}
    seen = _newest(tables, ledger, runs, places)
    runs.committed(ledger)
    runs.recorded(gaps, ledger)
    damaged_rows = _rows(storage, snapshots, QUARANTINE, DAMAGE_COLUMNS)
    damage = damage_by_log(damaged_rows, ledger, salvaged)
    waiting = open_records(storage, snapshots[BATCHES.name].files, seen, ledger)
    unread = _unread(places, ledger)
    facts = LogFacts(ledger, gaps, seen, damage, waiting, unread)
    told = [*(this_run.findings if this_run else ()), *unread_findings(unread)]
    partitions = partition_reports(facts, told, now=made_at, stuck_after=stuck_after)
    return LakeReport(
        lake=path,
        made_at=made_at,
        partitions=partitions,
        recovery=recovery_with([each.recovery for each in partitions], unread),
        runs=runs.runs(),
        this_run=this_run,
        upper_bound=_newest_bound(ledger),
    )


def _unread(newest: Mapping[str, NewestPlaces], ledger: Ledger) -> tuple[UnreadPlace, ...]:
    """Return the unread places of all clusters whose offsets the lake does not have."""
    return tuple(
        place
        for source_id, found in newest.items()
        for place in ledger.of_source(source_id).uncovered(found.places)
    )


def _newest_bound(ledger: Ledger) -> str | None:
    rows = [row for of_log in ledger.rows.values() for row in of_log if row["upper_bound"]]
    newest = max(rows, key=lambda row: row["committed_at"], default=None)
    return None if newest is None else newest["upper_bound"]


def _salvaged(tables: LakeTables) -> Counter[tuple[Any, ...]]:
    """Count the salvaged records of each damaged batch; a lake may lack the table."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for path in tables.file_paths(SALVAGED_RECORDS) if tables.has(SALVAGED_RECORDS) else ():
        for found in read_rows(tables.storage, path, SALVAGED_COLUMNS):
            grouped = plain_texts(found).group_by([*SALVAGED_COLUMNS], use_threads=False)
            for batch in grouped.aggregate([([], "count_all")]).to_pylist():
                counts[tuple(batch[name] for name in SALVAGED_COLUMNS)] += batch["count_all"]
    return counts


def _rows(
    storage: Storage, snapshots: dict[str, Snapshot], table: Table, columns: tuple[str, ...]
) -> Iterator[Row]:
    for file in snapshots[table.name].files:
        for found in read_rows(storage, file.path, columns):
            yield from found.to_pylist()


def _newest(
    tables: LakeTables, ledger: Ledger, runs: RunTally, places: dict[str, NewestPlaces]
) -> dict[LogName, Observation]:
    """Return each partition as it was seen last, after all that was seen went into the tally."""
    found: dict[LogName, Observation] = {}
    for source_id, observation in every_observation(tables, ledger.of_source, places):
        log = LogName(source_id, observation.key)
        runs.saw(log, observation)
        before = found.setdefault(log, observation)
        if observation.observed_at > before.observed_at:
            found[log] = observation
    return found
