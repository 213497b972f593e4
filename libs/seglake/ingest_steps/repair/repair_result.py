"""Result of repairs and refills. A value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seglake.findings.findings import Finding
from seglake.ingest_steps.committing.concurrent_ranges import ConcurrentRange
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.current_gaps import CurrentGap
from seglake.progress.run_reporter import show_count


@dataclass(frozen=True, slots=True)
class PlannedFill:
    """A gap that would be filled; `filled_offsets` of it are in other replicas' batches."""

    partition: str
    start_offset: int
    next_offset: int
    filled_offsets: int

    def __str__(self) -> str:
        """Return the gap and the number of filled offsets as text."""
        filled = show_count(self.filled_offsets, "offset")
        return f"{self.partition} [{self.start_offset}, {self.next_offset}): {filled}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """Rows that repairs added, or would add in a dry run.

    Attributes:
        rounds: filled gaps by round; later rounds may fill what earlier ones left.
        refills: ranges with records from older copies that the cleaner had removed.
        notes: notes for a person.
        unread: reasons by partition with an unreadable copy or one with other batches than the
            lake, and by topic that another run ingested.
        contradicted: transactions that earlier runs ingested with another outcome.
        concurrent: ranges of the topics to repair that another run committed first.
        written_bytes: size of the committed files.
        planned_fills: gaps that a dry run would fill.
        expected: records that a dry run would ingest from older copies, by partition.
        left_records: unrequested records that older copies still have, by partition.
        left_offsets: compacted offsets of the lake that a copy's cleaner has not reached, by
            partition: the copy has at most so many records there.
        standing: gaps of the lake after the repairs, without the cleaner's.
        mended: damage that this run recorded and whose offsets it filled, by partition.
    """

    rounds: tuple[tuple[RangeResult, ...], ...] = ()
    refills: tuple[RangeResult, ...] = ()
    notes: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    contradicted: tuple[Finding, ...] = ()
    concurrent: tuple[ConcurrentRange, ...] = ()
    written_bytes: int = 0
    planned_fills: tuple[PlannedFill, ...] = ()
    expected: Mapping[str, int] = field(default_factory=dict)
    left_records: Mapping[str, int] = field(default_factory=dict)
    left_offsets: Mapping[str, int] = field(default_factory=dict)
    standing: Mapping[PartitionKey, Sequence[CurrentGap]] = field(default_factory=dict)
    mended: Mapping[str, int] = field(default_factory=dict)

    @property
    def results(self) -> tuple[RangeResult, ...]:
        """Return the filled gaps of all rounds."""
        return tuple(result for done in self.rounds for result in done)
