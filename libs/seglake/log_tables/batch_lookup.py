"""Batches that the lake has, looked up where the ledger does not tell. Effect: reads tables."""

from functools import cached_property
from typing import Any

from seglake.kafka_log.log_identity import LogBatch
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import LastBatch
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import Within, read_rows
from seglake.lake.snapshots import Snapshot, read_snapshots
from seglake.lake.tables import BATCHES, GAPS
from seglake.log_tables.coverage import Coverage

_BATCH_COLUMNS = (
    *("source_id", "topic_id", "partition", "base_offset", "last_offset", "record_count"),
    *("magic", "codec", "delete_horizon_ms", "leader_epoch", "crc", "generation"),
)
_GAP_COLUMNS = ("topic_id", "topic", "partition", "cause")


class IngestedBatches:
    """The rows of `batches` of one source that count, as they are when the first is asked for."""

    def __init__(self, tables: LakeTables, source_id: str, coverage: Coverage) -> None:
        self._tables = tables
        self._source_id = source_id
        self._coverage = coverage

    def holding(self, key: PartitionKey, offset: int) -> LogBatch | None:
        """The batch that an offset lies in, None where the lake has none."""
        only = (
            Within("partition", key.partition, key.partition),
            Within("base_offset", at_most=offset),
            Within("last_offset", at_least=offset),
        )
        files = self._snapshot.files
        for path in [f.path for f in files if f.topic == key.topic and f.may_hold(only)]:
            for rows in read_rows(self._tables.storage, path, _BATCH_COLUMNS, only):
                for row in rows.to_pylist():
                    if row["source_id"] == self._source_id and self._is_of(row, key):
                        return _taken(row)
        return None

    def has_compacted_gaps(self, key: PartitionKey) -> bool:
        """Whether the cleaner had been at what was ingested of a partition."""
        return key in self._compacted

    @cached_property
    def _compacted(self) -> frozenset[PartitionKey]:
        rows = self._tables.rows(GAPS, self._source_id, _GAP_COLUMNS)
        different: set[tuple[Any, ...]] = set()  # rows may be as many as the cleaner's batches
        for some in rows.to_batches():
            different.update(zip(*(column.to_pylist() for column in some.columns), strict=True))
        found = (dict(zip(_GAP_COLUMNS, values, strict=True)) for values in different)
        return frozenset(
            self._key(row, row["topic"]) for row in found if row["cause"] == GapCause.COMPACTED
        )

    @cached_property
    def _snapshot(self) -> Snapshot:
        return read_snapshots(self._tables, [BATCHES])[BATCHES.name]

    def _is_of(self, row: dict[str, Any], key: PartitionKey) -> bool:
        """Whether a row is of a partition, and no election went against it."""
        if self._key(row, key.topic) != key:
            return False
        return self._coverage.is_current(key, row["base_offset"], row["generation"])

    def _key(self, row: dict[str, Any], topic: str) -> PartitionKey:
        key = PartitionKey(topic, row["partition"], row["topic_id"])
        return self._coverage.joined_key(key)


def _taken(row: dict[str, Any]) -> LogBatch:
    # The ledger and a walk know an old wrapper by its last offset, the only one in its header.
    is_wrapper = row["magic"] < 2 and row["codec"] != "none"
    offset = row["last_offset"] if is_wrapper else row["base_offset"]
    span = row["last_offset"] - row["base_offset"] + 1
    return LogBatch(
        header=LastBatch(offset, row["crc"], row["leader_epoch"]),
        first_offset=row["base_offset"],
        last_offset=row["last_offset"],
        magic=row["magic"],
        is_wrapper=is_wrapper,
        is_whole=row["record_count"] == span and row["delete_horizon_ms"] is None,
    )
