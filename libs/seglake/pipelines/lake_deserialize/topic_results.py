"""Results of decoding a topic: the rows of `typed_checkpoints`, and counts for the summary."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_files import DataFile, ParquetFile
from seglake.lake.typed_tables import TypedTable
from seglake.lake.value_tables import TYPED_CHECKPOINTS, VALUE_REJECTS
from seglake.pipelines.lake_deserialize.deserialize_summary import TopicResult
from seglake.pipelines.lake_deserialize.topic_plan import TopicWork
from seglake.value_decoding.rows_task import Attempt
from seglake.value_decoding.tasks import Counts, DecodeReport


def ledger_file(
    tables: LakeTables,
    work: TopicWork,
    counts: Mapping[Attempt, Counts],
    run_id: str,
    attempt_id: str,
) -> DataFile:
    """Write a topic's new rows of `typed_checkpoints` to a file, and return it."""
    # Any: columns have values of many types.
    rows: list[dict[str, Any]] = [
        {
            "source_id": work.source.source_id,
            "topic_id": attempt.topic_id,
            "partition": attempt.partition,
            "record_generation": attempt.generation,
            "records": found.records,
            "typed_rows": found.typed_rows,
            "value_rejects": found.value_rejects,
            "key_rejects": found.key_rejects,
            "run_id": run_id,
            "attempt_id": attempt_id,
            "committed_at": time.time_ns() // 1000,
            "generation": work.generation,
        }
        for attempt, found in counts.items()
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=TYPED_CHECKPOINTS.file_schema)
    where = tables.storage, tables.lake_path
    with ParquetFile(*where, TYPED_CHECKPOINTS, work.topic) as file:
        file.write(batch)
        done = file.close()
    if done is None:
        raise ValueError(f"no attempt of {work.topic} was decoded")
    return done


def result_of(
    work: TopicWork, made: Sequence[TypedTable], reports: Sequence[DecodeReport]
) -> TopicResult:
    """Return the counts of a topic, and whether its files have the same number of rows."""
    total, reasons, written = Counts(), Counter[str](), Counter[str]()
    is_balanced = True
    for report in reports:
        for found in report.counts.values():
            total.add(found)
            is_balanced &= found.records == found.typed_rows + found.value_rejects
        reasons.update({f"{part} {why}": n for (part, why), n in report.reasons.items()})
        for file in report.files:
            written[file.table] += file.row_count
    typed = sum(written[each.table.name] for each in made)
    is_balanced &= typed == total.typed_rows
    # Decoding a record again writes a reject's row with a resolution, which counts below 0.
    rejects = abs(total.value_rejects) + abs(total.key_rejects)
    is_balanced &= written[VALUE_REJECTS.name] == rejects
    return TopicResult(
        source_id=work.source.source_id,
        topic=work.topic,
        tables=[each.table.name for each in made],
        records=total.records,
        typed_rows=total.typed_rows,
        value_rejects=total.value_rejects,
        key_rejects=total.key_rejects,
        reasons=dict(reasons.most_common()),
        is_balanced=is_balanced,
    )
