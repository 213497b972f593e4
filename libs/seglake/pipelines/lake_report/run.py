"""Steps of a report. Reads the lake.

Memory grows with the ledger. It does not grow with records, batches, gaps or damage, because DuckDB
adds these up.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from string import Template

from seglake.findings.unread_places import recovery_with
from seglake.grouping import grouped
from seglake.kafka_log.observation import Observation, UnreadPlace
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.delta_tables import LakeTables
from seglake.lake.lake_folder import opening
from seglake.lake.parquet_rows import Within, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import TableView, read_snapshots
from seglake.lake.tables import BATCHES, CHECKPOINTS, GAPS, QUARANTINE, SALVAGED_RECORDS
from seglake.log_tables.ledger_layers import REMOVALS
from seglake.log_tables.observation_rows import NewestPlaces, every_observation
from seglake.pipelines.lake_report.damage import partition_damage
from seglake.pipelines.lake_report.erasures import erasures_of
from seglake.pipelines.lake_report.findings import unread_findings
from seglake.pipelines.lake_report.latest_states import latest_states
from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.pipelines.lake_report.model import LakeReport, ThisRun
from seglake.pipelines.lake_report.partitions import MOST_PLACES, LogFacts, partition_reports
from seglake.pipelines.lake_report.published import published_generations
from seglake.pipelines.lake_report.runs import RunTally
from seglake.pipelines.lake_report.strips import MOST_RANGES
from seglake.pipelines.lake_report.typed import read_typed
from seglake.proof.engines import SMALL_BYTES, DuckDBProof, answered
from seglake.proof.queries import Query, queries, with_derived
from seglake.storage.storage import Storage

_SHARED_FACTS = frozenset({"logs", "losing_batches"})
_OPEN = "open_transactions"
_LEDGER_COLUMNS = tuple(
    name
    for name in CHECKPOINTS.schema.names
    if name not in {"offset_sum", "key_bytes", "value_bytes", "bytes"}
)


def report(
    lake: str,
    storage: Storage,
    *,
    spill_folder: str,
    stuck_after: timedelta | None = None,
    this_run: ThisRun | None = None,
    now: datetime | None = None,
) -> LakeReport:
    """Read a lake, and build its report.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        spill_folder: folder for data that exceeds DuckDB's memory.
        stuck_after: longest time of an unchanged bound while its log grows; None for no limit.
        this_run: the run that requested the report; None if there is none.
        now: time of the report; the current time if None.

    Raises:
        LakeFolderError: there is no lake, or its storage denies access.
        SeglakeError: a table cannot be read.
    """
    made_at = now or datetime.now(UTC)
    tables = LakeTables(storage.locate(lake), storage)
    salvaged, snapshots, ledger = _read(tables)
    runs, places = RunTally(), dict[str, NewestPlaces]()
    seen = _newest(tables, ledger, runs, places)
    open_logs = _open_logs(ledger, seen)
    files, asked = _queried_files(snapshots, open_logs), _queries(ledger, snapshots, open_logs)
    with _proof(tables, ledger, files, spill_folder) as proof:
        answers = answered(proof, asked, _paths(files, salvaged))
        typed = read_typed(tables, proof)
    runs.committed(ledger, answers["recorded_gaps"])
    unread = _unread(places, ledger)
    facts = _facts(answers, ledger, seen, open_logs, unread)
    found = [*(this_run.findings if this_run else ()), *unread_findings(unread)]
    partitions = partition_reports(facts, found, now=made_at, stuck_after=stuck_after)
    return LakeReport(
        lake=tables.lake_path,
        made_at=made_at,
        partitions=partitions,
        recovery=recovery_with([each.recovery for each in partitions], unread),
        runs=runs.runs(),
        this_run=this_run,
        upper_bound=_newest_bound(ledger),
        erasures=erasures_of(tables),
        latest=latest_states(tables, ledger),
        typed=typed,
    )


def _proof(
    tables: LakeTables,
    ledger: Ledger,
    files: Mapping[str, Sequence[StoredFile]],
    spill_folder: str,
) -> DuckDBProof:
    """Return the engine of the proof, with fewer resources if the files are small."""
    is_small = sum(file.size_bytes for found in files.values() for file in found) < SMALL_BYTES
    topics = (log.key.topic for log in ledger.rows)
    return DuckDBProof(tables, topics, spill_folder=spill_folder, is_small=is_small)


def _paths(files: Mapping[str, Sequence[StoredFile]], salvaged: list[str]) -> dict[str, list[str]]:
    """Return the paths of each table's files, with those of salvaged records."""
    paths = {name: [file.path for file in found] for name, found in files.items()}
    return {**paths, SALVAGED_RECORDS.name: salvaged}


def _read(tables: LakeTables) -> tuple[list[str], dict[str, TableView], Ledger]:
    """List the files of salvaged records, then the tables' files; return both, and the ledger."""
    with opening(tables.lake_path):
        tables.require()
        salvaged = tables.file_paths(SALVAGED_RECORDS) if tables.has(SALVAGED_RECORDS) else []
        snapshots = read_snapshots(tables, (BATCHES, QUARANTINE, GAPS, CHECKPOINTS))
    ledger = Ledger(_rows(tables.storage, snapshots[CHECKPOINTS.name].files))
    return salvaged, snapshots, ledger


def _queried_files(
    snapshots: Mapping[str, TableView], open_logs: Sequence[LogName]
) -> dict[str, tuple[StoredFile, ...]]:
    """Return each table's files, except files of `batches` that no log in `open_logs` needs."""
    files = {name: found.files for name, found in snapshots.items()}
    files[BATCHES.name] = tuple(f for f in files[BATCHES.name] if _may_be_of(f, open_logs))
    return files


def _facts(
    answers: Mapping[str, Sequence[Row]],
    ledger: Ledger,
    seen: Mapping[LogName, Observation],
    open_logs: Sequence[LogName],
    unread: Sequence[UnreadPlace],
) -> LogFacts:
    """Group the rows that the report's queries returned by log."""
    logs = {row["log"]: _log_of(row) for row in answers["logs"]}
    gaps, damaged, losing, waiting = (
        _by_log(logs, answers.get(name, ()))
        for name in ("gap_ranges", "damaged_places", "losing_batches", _OPEN)
    )
    damage = {log: partition_damage(rows, losing.get(log, ())) for log, rows in damaged.items()}
    open_records = {log: sum(row["records"] for row in waiting.get(log, ())) for log in open_logs}
    return LogFacts(ledger, gaps, seen, damage, open_records, unread)


def _unread(newest: Mapping[str, NewestPlaces], ledger: Ledger) -> tuple[UnreadPlace, ...]:
    """Return the unread files and folders of all clusters, with offsets that the lake lacks."""
    return tuple(
        place
        for source_id, found in newest.items()
        for place in ledger.of_source(source_id).uncovered(found.places)
    )


def _newest_bound(ledger: Ledger) -> str | None:
    rows = [
        row
        for of_log in ledger.rows.values()
        for row in of_log
        if row["upper_bound"] and row["kind"] not in REMOVALS
    ]
    newest = max(rows, key=lambda row: row["committed_at"], default=None)
    return None if newest is None else newest["upper_bound"]


def _rows(storage: Storage, files: Sequence[StoredFile]) -> Iterator[Row]:
    for file in files:
        for found in read_rows(storage, file.path, _LEDGER_COLUMNS):
            yield from found.to_pylist()


def own_queries() -> list[Query]:
    """Return the queries of report.sql, which only the report uses."""
    most = {"most_ranges": MOST_RANGES, "most_places": MOST_PLACES}
    found = queries(__package__, "report.sql")
    return [query._replace(sql=Template(query.sql).substitute(most)) for query in found]


def _queries(
    ledger: Ledger, snapshots: Mapping[str, TableView], open_logs: Sequence[LogName]
) -> tuple[Query, ...]:
    """Return the queries of a report.

    Queries of open transactions are omitted if no transaction can be open.
    """
    shared = {*_SHARED_FACTS, *([_OPEN] if open_logs else [])}
    named = with_derived([*own_queries(), *(each for each in queries() if each.name in shared)])
    return published_generations(ledger, snapshots[CHECKPOINTS.name]), *named


def _open_logs(ledger: Ledger, seen: Mapping[LogName, Observation]) -> list[LogName]:
    """Return the logs with covered offsets above their last stable offset.

    Only above this offset, a transaction may be open.
    """
    found = []
    for log, observation in seen.items():
        covered, stable = ledger.of(log).covered, observation.last_stable_offset
        if stable is not None and covered and covered[-1][1] > stable:
            found.append(log)
    return found


def _may_be_of(file: StoredFile, logs: Sequence[LogName]) -> bool:
    """Return whether a data file of `batches` may have rows of these logs."""
    return any(
        file.topic in (None, log.key.topic)
        and file.may_hold([Within("partition", log.key.partition, log.key.partition)])
        for log in logs
    )


def _by_log(logs: Mapping[int, LogName], rows: Sequence[Row]) -> dict[LogName, list[Row]]:
    return grouped((logs[row["log"]], row) for row in rows)


def _log_of(row: Row) -> LogName:
    return LogName(row["source_id"], PartitionKey(row["topic"], row["partition"], row["topic_id"]))


def _newest(
    tables: LakeTables, ledger: Ledger, runs: RunTally, places: dict[str, NewestPlaces]
) -> dict[LogName, Observation]:
    """Return the newest observation of each partition, and count all of them in `runs`."""
    found: dict[LogName, Observation] = {}
    for source_id, observation in every_observation(tables, ledger.of_source, places):
        log = LogName(source_id, observation.key)
        runs.saw(log, observation)
        before = found.setdefault(log, observation)
        if observation.observed_at > before.observed_at:
            found[log] = observation
    return found
