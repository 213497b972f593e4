"""Looks up ingested batches for values that the ledger lacks. Reads tables."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from seglake.kafka_log.log_identity import LogBatch
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import LastBatch
from seglake.lake.delta_tables import LakeTables
from seglake.lake.parquet_rows import Within, read_rows
from seglake.lake.table_view import TableView, view_of
from seglake.lake.tables import BATCHES, GAPS, RECORDS
from seglake.log_tables.source_ledger import SourceLedger

_BATCH_COLUMNS = (
    *("source_id", "topic_id", "partition", "base_offset", "last_offset", "record_count"),
    *("magic", "codec", "delete_horizon_ms", "leader_epoch", "crc", "generation"),
    "broker_id",
)
_RECORD_COLUMNS = (*("source_id", "topic_id", "partition", "offset", "key", "value", "generation"),)
_GAP_COLUMNS = ("topic_id", "topic", "partition", "cause")


class IngestedBatches:
    """Lookups of a source's current batches and records; each table is read at one version."""

    def __init__(self, tables: LakeTables, source_id: str, ledger: SourceLedger) -> None:
        """Store the arguments; the tables are read at the first lookup.

        Args:
            tables: the lake.
            source_id: the source.
            ledger: the source's ledger, which decides which rows are current.
        """
        self._tables = tables
        self._source_id = source_id
        self._ledger = ledger

    def holding(self, key: PartitionKey, offset: int) -> LogBatch | None:
        """Return the batch that includes an offset; None if the lake has none."""
        row = self._row(key, offset)
        return None if row is None else _batch_of(row)

    def broker_at(self, key: PartitionKey, offset: int) -> int | None:
        """Return the broker from whose disk the batch at an offset came; None if unknown."""
        row = self._row(key, offset)
        return None if row is None else row["broker_id"]

    def message(self, key: PartitionKey, offset: int) -> tuple[bytes | None, bytes | None] | None:
        """Return key and value of the record at an offset; None if the lake has none."""
        only = (
            Within("partition", key.partition, key.partition),
            Within("offset", offset, offset),
        )
        row = self._first(self._records, _RECORD_COLUMNS, only, key)
        return None if row is None else (row["key"], row["value"])

    def _row(self, key: PartitionKey, offset: int) -> dict[str, Any] | None:
        """Return the row of `batches` whose batch includes an offset; None if there is none."""
        if not self._ledger.of(key).covered:  # the tables may not exist yet
            return None
        only = (
            Within("partition", key.partition, key.partition),
            Within("base_offset", at_most=offset),
            Within("last_offset", at_least=offset),
        )
        return self._first(self._batches, _BATCH_COLUMNS, only, key)

    def _first(
        self, table: TableView, columns: Sequence[str], only: Sequence[Within], key: PartitionKey
    ) -> dict[str, Any] | None:
        """Return the first current row of a partition that meets all conditions."""
        for path in [f.path for f in table.files if f.topic == key.topic and f.may_hold(only)]:
            for rows in read_rows(self._tables.storage, path, columns, only):
                for row in rows.to_pylist():
                    if row["source_id"] == self._source_id and self._is_of(row, key):
                        return row
        return None

    def has_compacted_gaps(self, key: PartitionKey) -> bool:
        """Return whether the ingested log of a partition has gaps that the cleaner made."""
        return key in self._compacted

    @cached_property
    def _compacted(self) -> frozenset[PartitionKey]:
        """Return the partitions with gaps that the cleaner made."""
        rows = self._tables.rows(GAPS, self._source_id, _GAP_COLUMNS)
        # Collect each partition once: a cleaned log may have as many gaps as batches.
        different: set[tuple[Any, ...]] = set()
        for some in rows.to_batches():
            different.update(zip(*(column.to_pylist() for column in some.columns), strict=True))
        found = (dict(zip(_GAP_COLUMNS, values, strict=True)) for values in different)
        return frozenset(
            self._ledger.key_of(row) for row in found if row["cause"] == GapCause.COMPACTED
        )

    @cached_property
    def _batches(self) -> TableView:
        """Return the snapshot of `batches`, read once."""
        return view_of(self._tables, BATCHES)

    @cached_property
    def _records(self) -> TableView:
        """Return the snapshot of `records`, read once."""
        return view_of(self._tables, RECORDS)

    def _is_of(self, row: dict[str, Any], key: PartitionKey) -> bool:
        """Return whether a row belongs to a partition and no election has superseded it."""
        offset = row["base_offset"] if "base_offset" in row else row["offset"]
        log = self._ledger.of(key)
        return log.owns(row) and log.is_current(offset, row["generation"])


def _batch_of(row: dict[str, Any]) -> LogBatch:
    """Convert a row of `batches` to a batch."""
    # A compressed old message (a wrapper) states only its last offset in its header.
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
