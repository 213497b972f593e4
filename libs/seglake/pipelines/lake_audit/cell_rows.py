"""The rows of one cell, partition by partition. Runs in tasks. Effect: reads data files."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_rows import Within, numbers, read_rows
from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS
from seglake.pipelines.lake_audit.cells import Cell
from seglake.pipelines.lake_audit.ledger import LakePartition
from seglake.pipelines.lake_audit.texts import text_values
from seglake.pipelines.lake_audit.topic_files import OFFSET_COLUMNS
from seglake.storage.errors import StorageError
from seglake.task_engine.task_progress import advance

_KEY_COLUMNS = ("source_id", "topic_id", "partition")
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    RECORDS.name: (
        *("batch_base_offset", "offset", "key", "value", "timestamp_ms"),
        "generation",
    ),
    BATCHES.name: (
        *("base_offset", "last_offset", "row_count", "size_bytes", "state"),
        *("producer_id", "control_type", "transaction_state", "generation"),
    ),
    GAPS.name: ("topic", "start_offset", "next_offset", "cause", "detail", "attempt_id"),
    QUARANTINE.name: (
        *("topic", "broker_id", "segment", "position", "raw_sha256", "length_bytes"),
        *("defect_code", "resolution", "previous_offset", "next_offset", "generation"),
        *("defect_detail", "base_offset", "last_offset", "record_count", "expected_crc"),
    ),
}


class CellReader:
    """Reads a cell's files; what cannot be read is remembered and left out."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self.unreadable: list[str] = []

    def rows(self, table: str) -> Iterator[tuple[LakePartition, pa.Table]]:
        """Yield the rows of a table that touch the cell, each group of one partition."""
        columns = [*_KEY_COLUMNS, *_COLUMNS[table]]
        for path in self._cell.files.get(table, ()):
            try:
                for rows in read_rows(self._cell.storage, path, columns, self._only(table)):
                    yield from self._by_partition(rows)
                    advance(rows.num_rows)
            except StorageError as error:
                self.unreadable.append(str(error))

    def _only(self, table: str) -> Sequence[Within]:
        low, high = self._cell.offsets
        partitions = Within("partition", *self._cell.partitions)
        if table not in OFFSET_COLUMNS:
            return (partitions,)
        first, last = OFFSET_COLUMNS[table]
        if first == last:
            return partitions, Within(first, low, high)
        return partitions, Within(first, at_most=high), Within(last, at_least=low)

    def _by_partition(self, rows: pa.Table) -> Iterator[tuple[LakePartition, pa.Table]]:
        if "topic" in rows.schema.names:
            topics, codes = text_values(rows, "topic")
            belongs = np.array([(topic or "") == self._cell.topic for topic in topics])[codes]
            rows = rows.filter(pa.array(belongs))
        if not rows.num_rows:
            return
        sources, source_codes = text_values(rows, "source_id")
        ids, id_codes = text_values(rows, "topic_id")
        keys = np.stack([source_codes, id_codes, numbers(rows, "partition")])
        if (keys == keys[:, :1]).all():
            yield self._partition(sources, ids, keys[:, 0].tolist()), rows
            return
        different, which = np.unique(keys, axis=1, return_inverse=True)
        for index in range(different.shape[1]):
            alike = rows.filter(pa.array(which.ravel() == index))
            yield self._partition(sources, ids, different[:, index].tolist()), alike

    def _partition(
        self, sources: Sequence[str | None], ids: Sequence[str | None], codes: Sequence[int]
    ) -> LakePartition:
        source_code, id_code, partition = codes
        source_id = sources[source_code] or ""
        topic_id = ids[id_code] or self._cell.first_ids.get(source_id)
        return LakePartition(source_id, PartitionKey(self._cell.topic, partition, topic_id))
