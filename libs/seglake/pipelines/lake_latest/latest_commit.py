"""Commits the newest records of a topic's keys to its table, in one commit."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa

from seglake.lake.app_versions import app_id
from seglake.lake.delta_tables import Handle, LakeTables
from seglake.lake.duckdb_sql import literal
from seglake.lake.errors import CommitUnknownError
from seglake.lake.parquet_files import DataFile, ParquetFile, row_groups
from seglake.lake.table_commit import Addition, add_files, sync_files
from seglake.lake.table_merge import MergeCounts, MergeOutcome, MergeRules, merge_rows
from seglake.lake.tables import Table
from seglake.pipelines.lake_latest.latest_plan import LatestWork, Log
from seglake.settings.settings import WriteSettings

Rows = Callable[[], pa.RecordBatchReader]
_IS_WHOLE = "is_whole"
_GROUP_BYTES = 16 << 20
_SAME_KEY = (
    "old.source_id = new.source_id AND (old.topic_id IS NOT DISTINCT FROM new.topic_id)"
    " AND old.partition = new.partition AND old.key = new.key"
)
_REPLACES = (
    'new."offset" > old."offset" OR (new.is_whole AND'
    ' (new."offset" <> old."offset" OR new.generation <> old.generation))'
)


def committed(
    tables: LakeTables,
    work: LatestWork,
    whole: Iterable[Log],
    rows: Rows,
    *,
    write: WriteSettings,
    commit_info: Mapping[str, str],
) -> MergeCounts | None:
    """Commit newest records to the table of their topic; return None if another run was faster.

    Args:
        tables: the lake.
        work: the topic.
        whole: partitions of which `rows` has all keys.
        rows: returns the newest records, anew for each try.
        write: settings of data files.
        commit_info: keys and values for the commit's info.

    Raises:
        CommitUnknownError: a commit failed, but may have happened.
    """
    table = work.latest.table
    app = app_id(work.source_id, work.topic)
    failure, counts = "", MergeCounts(0, 0, 0)
    pauses_s = tables.storage.pauses_s(tables.lake_path)
    for pause_s in pauses_s:
        time.sleep(pause_s)
        handle = tables.open(table)
        found = tables.generation(table, handle, app)
        if found != work.applied:
            # After a failure, this generation comes from that commit or has the same rows.
            return counts if failure and found == work.published else None
        commit = _appended if work.is_first else partial(_merged, whole=whole)
        failure, counts = commit(
            tables,
            work,
            handle,
            rows,
            write=write,
            commit_info=commit_info,
            now_ms=time.time_ns() // 1_000_000,
        )
        if not failure:
            return counts
    raise CommitUnknownError(table=table.name, attempt_count=len(pauses_s), reason=failure)


def _appended(
    tables: LakeTables,
    work: LatestWork,
    handle: Handle,
    rows: Rows,
    *,
    write: WriteSettings,
    commit_info: Mapping[str, str],
    now_ms: int,
) -> MergeOutcome:
    """Append the first rows of a cluster to the table, which needs no merge."""
    table = work.latest.table
    files = [*_written(tables, table, work.topic, rows(), write)]
    sync_files(tables, table, (file.path for file in files))
    failure = add_files(
        tables,
        table,
        handle,
        [Addition(file, now_ms) for file in files],
        now_ms=now_ms,
        commit_info=commit_info,
        generations={app_id(work.source_id, work.topic): work.published},
    )
    return MergeOutcome(failure, MergeCounts(sum(file.row_count for file in files), 0, 0))


def _merged(
    tables: LakeTables,
    work: LatestWork,
    handle: Handle,
    rows: Rows,
    *,
    whole: Iterable[Log],
    write: WriteSettings,
    commit_info: Mapping[str, str],
    now_ms: int,
) -> MergeOutcome:
    """Merge newest records into the table, by partition, topic id and key."""
    table = work.latest.table
    schema = table.schema.append(pa.field(_IS_WHOLE, pa.bool_()))
    rules = MergeRules(
        on=_SAME_KEY,
        update_if="TRUE" if work.is_rebuilt else _REPLACES,
        delete_if=_unsupported(work, [*whole]),
        columns=tuple(table.schema.names),
    )
    return merge_rows(
        tables,
        table,
        handle,
        pa.RecordBatchReader.from_batches(schema, _cast(rows(), schema)),
        rules,
        generations={app_id(work.source_id, work.topic): work.published},
        commit_info=commit_info,
        now_ms=now_ms,
    )


def _unsupported(work: LatestWork, whole: list[Log]) -> str | None:
    """Return which old rows are deleted if no new row replaces them, in SQL; None for none."""
    of_source = f"old.source_id = {literal(work.source_id)}"
    if work.is_rebuilt:
        return of_source
    logs = [*whole, *(Log(None, partition) for partition in sorted(work.unnamed))]
    of_logs = (
        f"(old.partition = {partition} AND old.topic_id"
        f" {'IS NULL' if known_id is None else f'= {literal(known_id)}'})"
        for known_id, partition in logs
    )
    return f"{of_source} AND ({' OR '.join(of_logs)})" if logs else None


def _written(
    tables: LakeTables,
    table: Table,
    topic: str,
    rows: pa.RecordBatchReader,
    write: WriteSettings,
) -> Iterator[DataFile]:
    """Write newest records to data files, and yield each finished file."""
    batches = (batch.select(table.schema.names) for batch in rows)
    pieces = (pa.Table.from_batches([batch]) for batch in _cast(batches, table.schema))
    groups = row_groups(pieces, _GROUP_BYTES)
    group = next(groups, None)
    while group is not None:
        with ParquetFile(
            tables.storage, tables.lake_path, table, topic, write.compression_level
        ) as file:
            while group is not None and file.written_bytes < write.target_file_bytes:
                file.write(group)
                group = next(groups, None)
            done = file.close()
        if done is not None:
            yield done


def _cast(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield record batches with their columns cast to the types of the schema."""
    for batch in batches:
        yield batch.cast(schema)
