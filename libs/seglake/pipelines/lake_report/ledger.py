"""Ledgers of all clusters of a lake, for a report."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.ledger_layers import record_sum
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger

Row = Mapping[str, Any]  # Any: a row's columns have many types


class LogName(NamedTuple):
    """Identity of a log: a lake may have partitions with the same name from several clusters."""

    source_id: str
    key: PartitionKey


class Ledger:
    """The ledgers of all clusters, by log.

    Attributes:
        rows: rows by partition; rows without a topic id belong to the first known id.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        """Group the rows by log.

        Args:
            rows: all rows of `checkpoints`.
        """
        by_source = grouped((row["source_id"], row) for row in rows)
        self._sources = {source: SourceLedger(own) for source, own in by_source.items()}
        self.rows = grouped(
            (LogName(source, self._sources[source].key_of(row)), row)
            for source, own in by_source.items()
            for row in own
        )

    def of_source(self, source_id: str) -> SourceLedger:
        """Return the ledger of one cluster; empty if it has no row."""
        return self._sources.get(source_id) or SourceLedger()

    def of(self, log: LogName) -> PartitionLedger:
        """Return the ledger of one log."""
        return self.of_source(log.source_id).of(log.key)

    def records(self, log: LogName) -> int:
        """Return the number of records in the tables that no lost election superseded."""
        return record_sum(self.rows.get(log, ()))
