"""Reads a partition's current rows: those that no lost election has superseded."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import HIGHEST, LOWEST, Within, numbers, read_rows
from seglake.lake.tables import RECORDS, Table
from seglake.log_tables.partition_ledger import PartitionLedger

_KEY_COLUMNS = ("source_id", "topic_id", "partition", "generation")


def current_rows(
    ledger: PartitionLedger,
    tables: LakeTables,
    source_id: str,
    table: Table,
    columns: Sequence[str],
    only: Sequence[Within] = (),
) -> Iterator[pa.Table]:
    """Yield the current rows of a partition, one row group at a time.

    Args:
        ledger: the partition's ledger.
        tables: the lake's tables.
        source_id: the cluster.
        table: `batches` or `records`.
        columns: columns to read, besides the columns that identify the rows.
        only: conditions that each row must meet.
    """
    import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

    key, place = ledger.key, "offset" if table is RECORDS else "base_offset"
    within = [Within("partition", key.partition, key.partition), *only]
    pruned = [(of.column, ">=", of.at_least) for of in within if of.at_least > LOWEST]
    pruned += [(of.column, "<=", of.at_most) for of in within if of.at_most < HIGHEST]
    names = tuple(dict.fromkeys((*_KEY_COLUMNS, place, *columns)))
    sources = pa.array([source_id])
    ids = pa.array([key.topic_id, *([None] * ledger.owns_unnamed)], pa.string())
    for path in tables.file_paths(table, topic=key.topic, pruned_by=pruned):
        for rows in read_rows(tables.storage, path, names, within):
            is_own = pc.is_in(rows.column("source_id").cast(pa.string()), value_set=sources)
            is_of = pc.is_in(rows.column("topic_id").cast(pa.string()), value_set=ids)
            own = rows.filter(pc.and_(is_own, is_of))
            offsets, generations = numbers(own, place), numbers(own, "generation")
            yield own.filter(pa.array(ledger.are_current(offsets, generations)))
