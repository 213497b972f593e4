"""Finds offsets of ingested batches that have no record, as after a compaction.

Memory: 16 bytes per range of missing records of a partition; during the search, about 40 bytes per
record and range.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from seglake.kafka_log.range_arrays import RangeArray, intersected, merged_ranges, range_array
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import HIGHEST, LOWEST, numbers
from seglake.lake.tables import BATCHES, RECORDS
from seglake.log_tables.batch_rows import BatchState
from seglake.log_tables.current_rows import current_rows
from seglake.log_tables.partition_ledger import PartitionLedger

_COLUMNS = ("last_offset", "row_count", "state")
_READ = (BatchState.DECODED, BatchState.EMPTY)


def lacking_rows(ledger: PartitionLedger, tables: LakeTables, source_id: str) -> RangeArray:
    """Return the offsets that are in data batches but have no record.

    The ranges are sorted and disjoint.

    Data batches include those that the log cleaner has emptied, but not control batches or batches
    of aborted transactions.

    Args:
        ledger: ledger of the partition.
        tables: the lake.
        source_id: source of the partition.
    """
    spans, row_count = _batch_spans(current_rows(ledger, tables, source_id, BATCHES, _COLUMNS))
    if row_count >= int((spans[:, 1] - spans[:, 0]).sum()):
        return range_array([])
    records = current_rows(ledger, tables, source_id, RECORDS, ())
    edges = [np.array([LOWEST, HIGHEST]), *(numbers(rows, "offset") for rows in records)]
    offsets = np.sort(np.concatenate(edges))
    is_hole = offsets[1:] - 1 > offsets[:-1]
    return intersected(spans, np.stack((offsets[:-1][is_hole] + 1, offsets[1:][is_hole]), axis=1))


def _batch_spans(batches: Iterable[pa.Table]) -> tuple[RangeArray, int]:
    """Return the merged offset ranges of the batches with data, and their number of rows."""
    import pyarrow.compute as pc  # imported only when needed, since the import takes 0.05 s

    spans = [range_array([])]
    row_count = 0
    states = pa.array([str(state) for state in _READ])
    for rows in batches:
        read = rows.filter(pc.is_in(rows.column("state").cast(pa.string()), value_set=states))
        stops = numbers(read, "last_offset") + 1
        spans.append(np.stack((numbers(read, "base_offset"), stops), axis=1))
        row_count += int(numbers(read, "row_count").sum())
    return merged_ranges(np.concatenate(spans)), row_count
