"""Result of repairs and refills."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seglake.findings.findings import Finding
from seglake.ingest_steps.committing.concurrent_ranges import ConcurrentRange
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.kafka_log.replica import PartitionKey, RemoteGap
from seglake.log_tables.current_gaps import CurrentGap
from seglake.printable import show_count


@dataclass(frozen=True, slots=True)
class PlannedFill:
    """Gap that a dry run would fill from other replicas, completely or in part."""

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
    """Rows that repairs and refills added, or would add without a dry run.

    Attributes:
        rounds: filled gaps by round; a later round may fill gaps that an earlier round left.
        refills: ranges with records from older copies, which the log cleaner had removed.
        notes: messages for the user that need no action.
        unread: why copies were not used; the key is the partition if a copy is unreadable or has
            other batches than the lake, the topic if another run ingested the topic.
        absent: offsets of gaps that the given remote tier cannot provide, by partition.
        contradicted: transactions that earlier runs ingested with a wrong outcome.
        concurrent: ranges to repair that another run committed first.
        written_bytes: size of the committed files.
        planned_fills: gaps that a dry run would fill.
        expected: records that a dry run would ingest from older copies, by partition.
        left_records: for each partition, number of records that older copies still have and that
            were not ingested because `read.older_copies` is off.
        left_offsets: for each partition, number of the lake's compacted offsets that a copy's log
            cleaner has not reached yet. The copy has at most one record at each offset.
        standing: gaps of the lake after the repairs, except gaps left by the log cleaner.
        mended: number of damaged spans that this run both recorded and filled, by partition.
    """

    rounds: tuple[tuple[RangeResult, ...], ...] = ()
    refills: tuple[RangeResult, ...] = ()
    notes: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[PartitionKey, Sequence[RemoteGap]] = field(default_factory=dict)
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
