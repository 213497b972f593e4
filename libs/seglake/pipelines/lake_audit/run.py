"""The order of an audit, and nothing else. Effect: reads the lake, writes nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import merged
from seglake.lake.delta_tables import LakeTables
from seglake.lake.lake_folder import opening
from seglake.lake.snapshots import Snapshot
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.pipelines.lake_audit.cell_audit import CellFinding, PartitionFinding, audit_cells
from seglake.pipelines.lake_audit.cells import Cell, TopicFile, cells_of
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.lake_state import LakeState, read_state
from seglake.pipelines.lake_audit.ledger import LakePartition, PartitionLedger, partition_ledger
from seglake.pipelines.lake_audit.left_logs import left_logs, unread
from seglake.pipelines.lake_audit.partition_audit import PartitionAudit, audit_partition
from seglake.pipelines.lake_audit.quarantine_checks import CONFLICT
from seglake.pipelines.lake_audit.recovered import recovery_of
from seglake.pipelines.lake_audit.salvage_checks import salvage_findings
from seglake.pipelines.lake_audit.topic_files import files_by_topic, look, look_tasks
from seglake.pipelines.progress import RunReporter, Unit
from seglake.storage.storage import Storage
from seglake.task_engine.engine import Engine
from seglake.task_engine.packing import packed

_MOST_ROWS = 1_000_000  # of records, batches and gaps in a task: some 100 MB
_MOST_NAMES = 3


def audit(
    lake: str,
    storage: Storage,
    engine: Engine,
    reporter: RunReporter,
    *,
    most_rows: int = _MOST_ROWS,
) -> LakeAudit:
    """Prove from the tables alone that every covered offset is accounted for, or say what is not.

    Args:
        engine: runs the tasks; the caller opens and closes it.
        most_rows: how many rows a task may hold, about.

    Raises:
        LakeFolderError: there is no lake, or its storage does not let us in.
        SeglakeError: its ledger cannot be read, or a worker failed.
    """
    path = storage.locate(lake)
    reporter.step("reading the ledger")
    tables = LakeTables(path, storage)
    with opening(path):
        tables.require()
        state = read_state(tables)
    topics, unreadable = _topic_files(storage, state, engine, reporter)
    cells = _cells(storage, state, topics, most_rows)
    findings = _findings(cells, engine, reporter, most_rows)
    unreadable += [reason for finding in findings for reason in finding.unreadable]
    partitions = tuple(_partitions(state, findings))
    damage = [file.path for file in state.snapshots[QUARANTINE.name].files]
    salvaged, wrong = salvage_findings(storage, state.salvaged_files, damage)
    problems = [*dict.fromkeys(unreadable), *_lake_problems(state, partitions), *wrong]
    if not unreadable:
        problems += _hidden_rows(state.snapshots, findings)
    return LakeAudit(
        path,
        partitions,
        tuple(problems),
        tuple(state.unsettled.values()),
        recovery_of(partitions, state.seen, state.unread),
        salvaged,
    )


def _lake_problems(state: LakeState, partitions: Collection[PartitionAudit]) -> Iterator[str]:
    """Yield the problems of the lake as a whole, and of logs that it lacks."""
    covered = {
        audit.partition: merged([*audit.covered, *audit.superseded.ranges]) for audit in partitions
    }
    yield from state.broken.values()
    yield from _empty_lake(state)
    yield from _damage_alone(partitions) if state.rows else ()
    yield from left_logs(state.seen, covered)
    yield from unread(state.unread)


def _topic_files(
    storage: Storage, state: LakeState, engine: Engine, reporter: RunReporter
) -> tuple[dict[str, list[TopicFile]], list[str]]:
    topics = files_by_topic(state.snapshots)
    tasks = look_tasks(storage, state.snapshots)
    unreadable: list[str] = []
    reports = reporter.run_tasks(
        engine,
        look,
        tasks,
        sizes=[len(task.paths) for task in tasks],
        text="looking into gaps and quarantine",
        unit=Unit.FILES,
    )
    for report in reports:
        unreadable += report.unreadable
        for topic, file in report.files:
            topics.setdefault(topic, []).append(file)
    for partition in state.rows:
        topics.setdefault(partition.key.topic, [])
    return topics, unreadable


def _findings(
    cells: Iterable[Cell], engine: Engine, reporter: RunReporter, most_rows: int
) -> list[CellFinding]:
    """Audit the cells, packed into tasks."""
    tasks = [tuple(pack) for pack in packed(cells, lambda cell: cell.row_count, most_rows)]
    found = reporter.run_tasks(
        engine,
        audit_cells,
        tasks,
        sizes=[sum(cell.row_count for cell in task) for task in tasks],
        text="auditing the tables",
        unit=Unit.ROWS,
    )
    return [finding for of_task in found for finding in of_task]


def _cells(
    storage: Storage,
    state: LakeState,
    topics: Mapping[str, Sequence[TopicFile]],
    most_rows: int,
) -> Iterable[Cell]:
    by_topic: dict[str, list[PartitionLedger]] = {}
    for partition, rows in state.rows.items():
        by_topic.setdefault(partition.key.topic, []).append(partition_ledger(partition, rows))
    first_ids: dict[str, dict[str, str]] = {}
    for (source_id, topic), topic_id in state.first_ids.items():
        first_ids.setdefault(topic, {})[source_id] = topic_id
    for topic, files in sorted(topics.items()):
        ledgers = by_topic.get(topic, ())
        yield from cells_of(storage, topic, files, ledgers, first_ids.get(topic, {}), most_rows)


def _partitions(state: LakeState, findings: Iterable[CellFinding]) -> Iterable[PartitionAudit]:
    by_partition: dict[LakePartition, list[PartitionFinding]] = {
        partition: [] for partition in state.rows
    }
    for cell in findings:
        for finding in cell.partitions:
            by_partition.setdefault(finding.partition, []).append(finding)
    for partition, found in by_partition.items():
        rows = state.rows.get(partition, ())
        is_settled = (partition.source_id, partition.key.topic) not in state.unsettled
        seen = state.seen.get(partition)
        yield audit_partition(partition, rows, found, seen, is_settled=is_settled)


def _damage_alone(partitions: Iterable[PartitionAudit]) -> Iterator[str]:
    """Name the partitions of which the lake has only damaged bytes."""
    names = [str(each.partition) for each in partitions if _is_damage_alone(each)]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield f"no record was ingested of {', '.join(names[:_MOST_NAMES])}{more}: all is damaged"


def _is_damage_alone(audit: PartitionAudit) -> bool:
    """Return whether there is damage and it accounts for all covered offsets."""
    codes = audit.quarantine.by_code.keys() - {CONFLICT}
    hidden = audit.gaps.get(GapCause.QUARANTINED)
    return bool(codes) and audit.covered_offsets == (0 if hidden is None else hidden.offsets)


def _empty_lake(state: LakeState) -> Iterable[str]:
    """Yield the problem of a lake without a row in its ledger."""
    if state.rows:
        return
    begun = state.begun or any(snapshot.files for snapshot in state.snapshots.values())
    yield "nothing was ingested: the ledger has no row; " + (
        "a run began, and died before its first commit was complete: run seglake ingest again"
        if begun
        else "no run has committed anything: run seglake ingest, and see what it says"
    )


def _hidden_rows(
    snapshots: Mapping[str, Snapshot], findings: Iterable[CellFinding]
) -> Iterable[str]:
    """Yield the problem of rows that no cell found: false statistics hide them from readers."""
    counted = [found.row_counts for cell in findings for found in cell.partitions]
    for table in (RECORDS, BATCHES, QUARANTINE, GAPS):
        in_files = [file.row_count for file in snapshots[table.name].files]
        expected = sum(count for count in in_files if count is not None)
        found = sum(row_counts[table.name] for row_counts in counted)
        if None not in in_files and expected != found:
            yield (
                f"{table.name} has {expected} rows by the log of the table, and {found} are found "
                "where the statistics of its files say: readers that trust them miss rows"
            )
