"""The ledger of all sources of a lake, ready to be asked for a report. Pure."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.ledger_layers import ENDS_GAPS, RangeKind
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger

Row = Mapping[str, Any]  # Any: the columns of a row have many types


class LogName(NamedTuple):
    """Identity of a log: several clusters may have a partition of one name in a lake."""

    source_id: str
    key: PartitionKey


class Ledger:
    """The rows of `checkpoints`.

    Args:
        generation_of: newest generation in `checkpoints` by source and topic. A commit of batches
            in quarantine alone adds no row.

    Attributes:
        rows: rows by partition; those without a topic id belong to the first known one.
    """

    def __init__(self, rows: Iterable[Row], generation_of: Callable[[str, str], int]) -> None:
        self._generation_of = cache(generation_of)
        by_source: dict[str, list[Row]] = {}
        for row in rows:
            by_source.setdefault(row["source_id"], []).append(row)
        self._sources = {source: SourceLedger(own) for source, own in by_source.items()}
        self.rows: dict[LogName, list[Row]] = {}
        self._run_ids: dict[str, str] = {}
        for source, own in by_source.items():
            for row in own:
                self.rows.setdefault(self.name_of(source, row), []).append(row)
                self._run_ids[row["attempt_id"]] = row["run_id"]

    def of_source(self, source_id: str) -> SourceLedger:
        """Return the ledger of one source, empty if it has no row."""
        return self._sources.get(source_id) or SourceLedger()

    def of(self, log: LogName) -> PartitionLedger:
        """Return the ledger of one partition."""
        return self.of_source(log.source_id).of(log.key)

    def name_of(self, source_id: str, row: Row) -> LogName:
        """Return the name of the log that a row of any table belongs to."""
        return LogName(source_id, self.of_source(source_id).key_of(row))

    def run_of(self, attempt_id: str) -> str | None:
        """Return the run of an attempt; None where its commit is not in the ledger yet."""
        return self._run_ids.get(attempt_id)

    def has_generation(self, source_id: str, topic: str, generation: int) -> bool:
        """Return whether a topic's commit is in the ledger; else it is still being committed."""
        return generation <= self._generation_of(source_id, topic)

    def gap_ends(self, log: LogName) -> list[OffsetRange]:
        """Return the ranges in which repairs or elections may have ended gaps."""
        return [
            (row["start_offset"], row["next_offset"])
            for row in self.rows.get(log, ())
            if row["kind"] in ENDS_GAPS
        ]

    def records(self, log: LogName) -> int:
        """Count the records in the tables, without those that lost an election."""
        return sum(
            (-1 if row["kind"] == RangeKind.SUPERSEDED else 1) * (row["records"] or 0)
            for row in self.rows.get(log, ())
        )
