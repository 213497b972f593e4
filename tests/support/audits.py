"""Audits a lake, counts the same things with another engine, and falsifies lakes."""

import io
import json
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.tables import BATCHES, CHECKPOINTS, GAPS, QUARANTINE, RECORDS, TABLES, Table
from seglake.pipelines.lake_audit.disk_check.disk_check import CopyCheck, check_disks, find_disks
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.run import audit
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import Engine, LocalEngine
from support.lakes import Row, read_arrow

_TABLES = {table.name: table for table in (RECORDS, BATCHES, QUARANTINE, GAPS, CHECKPOINTS)}
_EVERY_TABLE = {table.name: table for table in TABLES}
_LOG_NAME = "{:020d}.json"


def audited(lake: Path, *, engine: Engine | None = None, small_bytes: int = 64 << 20) -> LakeAudit:
    """Audit the lake; None for the engine runs everything in this process."""
    reporter = RunReporter(io.StringIO())
    with LocalEngine(1) as own:
        return audit(
            str(lake),
            LocalStorage(),
            own if engine is None else engine,
            reporter,
            spill_folder=str(lake.parent / "spilled"),
            small_bytes=small_bytes,
        )


def checked(
    sources: Path | Iterable[Path], lake: Path, *, engine: Engine | None = None, **read: int
) -> list[CopyCheck]:
    """Compare the lake with the disks; `read` are settings of reading.

    Args:
        engine: None runs everything in this process.
    """
    paths = [sources] if isinstance(sources, Path) else sources
    settings = Settings.from_mappings([("test", {"read": read})])
    reporter = RunReporter(io.StringIO())
    disks = find_disks([str(path) for path in paths], str(lake), LocalStorage(), settings)
    with LocalEngine(1) as own:
        return check_disks(
            disks, str(lake), LocalStorage(), settings, own if engine is None else engine, reporter
        )


def kinds(audit: LakeAudit) -> set[str]:
    """The kinds of problems of all partitions."""
    return {str(problem.kind) for partition in audit.partitions for problem in partition.problems}


def count_by_partition(lake: Path) -> dict[tuple[str, int], Row]:
    """Each partition's numbers, counted in SQL from the tables, without the ledger's help.

    For lakes of one source, whose topics keep their ids, and without repairs.
    """
    with duckdb.connect(":memory:") as connection:
        connection.execute("set threads = 1")
        for name in _TABLES:
            connection.register(name, read_arrow(lake, name))
        answer = connection.execute(_NUMBERS)
        columns = [column[0] for column in answer.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]
    return {(row.pop("topic"), row.pop("partition")): row for row in rows}


_NUMBERS = """
with taken as (
    select topic, partition, sum(next_offset - start_offset) as covered from checkpoints
    group by all),
own_records as (
    select topic, partition, count(*) as records, sum("offset") as offset_sum,
        sum(coalesce(octet_length(key), 0)) as key_bytes,
        sum(coalesce(octet_length(value), 0)) as value_bytes,
        min(timestamp_ms) filter (timestamp_ms <> -1) as min_timestamp_ms,
        max(timestamp_ms) filter (timestamp_ms <> -1) as max_timestamp_ms
    from records group by all),
own_batches as (
    select topic, partition, count(*) as batches, sum(size_bytes) as batch_bytes,
        sum(last_offset + 1 - base_offset) filter (state <> 'decoded') as other_span,
        sum(last_offset + 1 - base_offset - row_count) filter (state = 'decoded') as lacking
    from batches group by all),
by_cause as (
    select topic, partition, cause, count(*) as n, sum(next_offset - start_offset) as offsets
    from gaps group by all),
own_gaps as (
    select topic, partition, sum(offsets)::bigint as gap_span,
        map(list(cause order by cause), list([n, offsets] order by cause)) as gaps
    from by_cause group by all),
damage as (
    select topic, partition, count(*) as spans, sum(length_bytes) as size_bytes
    from quarantine where resolution is null and defect_code <> 'replica_conflict' group by all)
select topic, partition, covered::bigint as covered, coalesce(records, 0) as records,
    coalesce(offset_sum, 0)::bigint as offset_sum, coalesce(key_bytes, 0)::bigint as key_bytes,
    coalesce(value_bytes, 0)::bigint as value_bytes, min_timestamp_ms, max_timestamp_ms,
    coalesce(batches, 0) as batches, coalesce(batch_bytes, 0)::bigint as batch_bytes,
    coalesce(other_span, 0)::bigint as other_span, coalesce(lacking, 0)::bigint as lacking,
    coalesce(gap_span, 0) as gap_span, gaps, coalesce(spans, 0) as spans,
    coalesce(size_bytes, 0)::bigint as size_bytes
from taken left join own_records using (topic, partition)
    left join own_batches using (topic, partition) left join own_gaps using (topic, partition)
    left join damage using (topic, partition)
"""


def falsified(
    lake: Path,
    table: str,
    change: Callable[[list[Row]], list[Row]],
    *,
    operation: str | None = None,
) -> None:
    """Put other rows in the place of a table's, with sound files and a sound commit.

    The tables only take appends, so the log entry is written by hand, as a vandal would.

    Args:
        change: is given all rows, in no order, and gives those that shall be there.
        operation: what the commit says it did; a name that no tool has when None.
    """
    rows = change(read_arrow(lake, table).to_pylist())
    storage = LocalStorage()
    path = storage.locate(str(lake))
    topics = sorted({row["topic"] for row in rows})
    files = []
    for topic in topics:
        own = [row for row in rows if row["topic"] == topic]
        with ParquetFile(storage, path, _EVERY_TABLE[table], topic) as file:
            file.write(pa.RecordBatch.from_pylist(own, schema=_EVERY_TABLE[table].file_schema))
            done = file.close()
        if done is not None:
            files.append(done)
    replace_files(lake, _EVERY_TABLE[table], files, operation=operation)


def replace_files(
    lake: Path, table: Table, files: list[DataFile], *, operation: str | None = None
) -> None:
    """Put files in the place of a table's."""
    handle = DeltaTable(str(lake / table.name))
    before = pa.table(handle.get_add_actions(flatten=True)).column("path").to_pylist()
    actions: list[dict[str, Any]] = [
        {"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1}} for path in before
    ]
    actions += [
        {
            "add": {
                "path": file.path,
                "partitionValues": dict.fromkeys(table.partition_by, file.topic),
                "size": file.size_bytes,
                "modificationTime": 1,
                "dataChange": True,
                "stats": file.statistics_json,
            }
        }
        for file in files
    ]
    actions.append({"commitInfo": {"timestamp": 1, "operation": operation or str(uuid.uuid4())}})
    entry = lake / table.name / "_delta_log" / _LOG_NAME.format(handle.version() + 1)
    entry.write_text("\n".join(map(json.dumps, actions)) + "\n")


def assert_agrees(found: LakeAudit, lake: Path) -> None:
    """The numbers of a lake's audit are those of other queries."""
    expected = count_by_partition(lake)
    assert {partition.partition.key[:2] for partition in found.partitions} == set(expected)
    for partition in found.partitions:
        numbers = expected[partition.partition.key[:2]]
        assert partition.covered_offsets == partition.totals.accounted == numbers["covered"]
        for name, value in partition.totals._asdict().items():
            assert value == numbers.get(name, value), name
        assert {cause: [*gaps[:2]] for cause, gaps in partition.gaps.items()} == (
            numbers["gaps"] or {}
        )
        assert (partition.quarantine.spans, partition.quarantine.size_bytes) == (
            numbers["spans"],
            numbers["size_bytes"],
        )


CHANGED_OFFSET = 17  # of the record that is changed


def change_record(lake: Path, **values: Callable[[Row], object]) -> None:
    """Change some values of one record of the lake."""

    def change(rows: list[Row]) -> list[Row]:
        return [
            row | {name: value(row) for name, value in values.items()}
            if row["offset"] == CHANGED_OFFSET
            else row
            for row in rows
        ]

    falsified(lake, "records", change)


def only_copy(checks: list[CopyCheck]) -> CopyCheck:
    (check,) = checks
    return check
