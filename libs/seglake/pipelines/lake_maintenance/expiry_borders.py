"""Finds the offset of each partition below which all records are too old. Reads tables.

As in Kafka, a partition expires from its start up to the first record that is younger than the
limit. A record with a time in the future, or without a time, holds back the records above it.
Batches and gaps expire whole.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import (
    HIGHEST,
    NULL_NUMBER,
    Within,
    distinct_rows,
    numbers,
    read_rows,
)
from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import view_of
from seglake.lake.tables import BATCHES, GAPS, RECORDS, Table
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger

_IDS = ("topic_id", "partition")
_COLUMNS = ("source_id", *_IDS, "offset", "timestamp_ms", "batch_base_offset", "generation")


class Young(NamedTuple):
    """First record of a partition that is not too old.

    Attributes:
        base_offset: first offset of its batch.
        timestamp_ms: time of the record; -1 if it has none.
    """

    base_offset: int
    timestamp_ms: int


def first_young(
    tables: LakeTables, topic: str, source_id: str, ledger: SourceLedger, limit_ms: int
) -> dict[PartitionKey, Young]:
    """Return the first current record of each partition that is younger than a limit.

    Args:
        tables: the lake.
        topic: the topic.
        source_id: the source.
        ledger: ledger of the source.
        limit_ms: newest time that is too old, in ms since 1970.
    """
    found: dict[PartitionKey, Young] = {}
    reached: dict[int, int] = {}
    logs: dict[int, set[PartitionKey]] = {}
    for key in ledger.partitions():
        if key.topic == topic:
            logs.setdefault(key.partition, set()).add(key)
    files = [file for file in view_of(tables, RECORDS).files if file.topic == topic]
    for file in sorted(files, key=lambda file: file.bounds.get("offset", (0, 0))):
        if not _may_be_young(file, limit_ms) or _is_above(file, reached):
            continue
        for key, young in _young_in(tables, file, source_id, ledger, limit_ms):
            found[key] = min(young, found.get(key, young))
            # each log of a topic that was created again needs a young record of its own
            own = logs.get(key.partition, {key})
            if own <= found.keys():
                reached[key.partition] = max(found[each].base_offset for each in own)
    return found


def _may_be_young(file: StoredFile, limit_ms: int) -> bool:
    """Return whether a file may have a record that is young or has no time."""
    least, greatest = file.bounds.get("timestamp_ms", (NULL_NUMBER, HIGHEST))
    has_no_time = least <= NULL_NUMBER or "timestamp_ms" in file.columns_with_nulls
    return greatest > limit_ms or has_no_time


def _is_above(file: StoredFile, reached: Mapping[int, int]) -> bool:
    """Return whether all logs of a file have a young record below the file's offsets."""
    if not {"offset", "partition"} <= file.bounds.keys():
        return False
    (first, last), (start, _) = file.bounds["partition"], file.bounds["offset"]
    return last - first < len(reached) and all(
        reached.get(partition, HIGHEST) <= start for partition in range(first, last + 1)
    )


def _young_in(
    tables: LakeTables, file: StoredFile, source_id: str, ledger: SourceLedger, limit_ms: int
) -> Iterator[tuple[PartitionKey, Young]]:
    """Yield the first young current record of each log in each row group of a file."""
    for rows in read_rows(tables.storage, file.path, _COLUMNS):
        times = numbers(rows, "timestamp_ms")
        is_young = (times > limit_ms) | (times == NULL_NUMBER)
        sources = np.array(rows.column("source_id").to_pylist(), object)
        own = rows.filter(pa.array(is_young & (sources == source_id)))
        for ids in distinct_rows(own, _IDS):
            log = ledger.of_row({**ids, "topic": file.topic})
            yield from _first_of(own, ids, log)


def _first_of(
    rows: pa.Table, ids: Mapping[str, object], log: PartitionLedger
) -> Iterator[tuple[PartitionKey, Young]]:
    """Yield a log's first current row and its position; nothing without such a row."""
    offsets = numbers(rows, "offset")
    topic_ids = np.array(rows.column("topic_id").to_pylist(), object)
    is_own = (numbers(rows, "partition") == ids["partition"]) & (topic_ids == ids["topic_id"])
    is_own &= log.are_current(offsets, numbers(rows, "generation"))
    if is_own.any():
        at = int(np.flatnonzero(is_own)[np.argmin(offsets[is_own])])
        base, time = (numbers(rows, name)[at] for name in ("batch_base_offset", "timestamp_ms"))
        yield log.key, Young(int(base), int(time))


def whole_border(tables: LakeTables, source_id: str, log: PartitionLedger, border: int) -> int:
    """Return the highest offset up to a border that no batch and no gap crosses."""
    while True:
        starts = [
            *_crossing(tables, BATCHES, source_id, log, border, ("base_offset", "last_offset")),
            *_crossing(tables, GAPS, source_id, log, border, ("start_offset", "next_offset")),
        ]
        if not starts:
            return border
        border = min(starts)


def _crossing(
    tables: LakeTables,
    table: Table,
    source_id: str,
    log: PartitionLedger,
    border: int,
    edges: tuple[str, str],
) -> Iterator[int]:
    """Yield the start of each batch or gap of a log that crosses a border."""
    first, last = edges
    is_inclusive = last == "last_offset"
    within = [
        Within("partition", log.key.partition, log.key.partition),
        Within(first, at_most=border - 1),
        Within(last, at_least=border if is_inclusive else border + 1),
    ]
    pruned = [(first, "<", border), (last, ">=", border)]
    topic = log.key.topic if table.partition_by else None
    columns = ["source_id", *_IDS, *edges, *(() if table.partition_by else ("topic",))]
    for path in tables.file_paths(table, topic=topic, pruned_by=pruned):
        for rows in read_rows(tables.storage, path, columns, within):
            for row in rows.to_pylist():
                if row["source_id"] == source_id and log.owns(row):
                    yield row[first]
