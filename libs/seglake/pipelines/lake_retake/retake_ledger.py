"""Superseded and released ranges of a retake, as rows of the ledger."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seglake.ingest_steps.committing.election_rows import (
    ReleasedRange,
    SupersededRange,
    ledger_files,
)
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.committing.wave import WaveResult, commit_files
from seglake.ingest_steps.replica_conflicts.elections import (
    current_batches,
    erased_offsets,
    spans_of,
    superseded,
)
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import OffsetRange, common, without
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_files import DataFile
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_retake.kept_rows import widened
from seglake.pipelines.lake_retake.retake_plan import PartitionRetake, free_ranges


@dataclass(slots=True)
class RetakeLedger:
    """Ledger rows of a retake besides those of its waves; committed together with the waves.

    Attributes:
        retakes: the planned work by partition.
        ledger: the ledger when the round began.
        generations: number of each topic's newest commit; each commit increments it.
        context: the run.
        whole: offsets still to ingest, for each partition whose current rows are replaced, too. The
            commit that ingests these offsets supersedes the current rows.
        released: ranges whose release was committed.
    """

    retakes: Mapping[PartitionKey, PartitionRetake]
    ledger: SourceLedger
    generations: dict[str, int]
    context: RunContext
    whole: dict[PartitionKey, list[OffsetRange]]
    released: list[ReleasedRange] = field(default_factory=list)
    # ranges of the commit in preparation that are ingested again
    _replaced: list[RangeResult] = field(default_factory=list)
    _released: list[ReleasedRange] = field(default_factory=list)

    def files(self, results: Sequence[RangeResult]) -> dict[str, list[DataFile]]:
        """Return the ledger files to commit with these ranges, by topic."""
        self._replaced = [result for result in results if result.key in self.whole]
        left = dict(self.whole)
        rows: list[SupersededRange | ReleasedRange] = []
        for result in self._replaced:
            rows += self._lost(result, left[result.key])
            left[result.key] = without(left[result.key], result.offsets)
        self._released = [free for result in results for free in self._free(result)]
        rows += self._released
        return ledger_files(rows, self.generations, str(uuid.uuid4()), self.context)

    def release(self) -> tuple[str, ...]:
        """Commit the released ranges of partitions from which nothing is ingested.

        Returns:
            The topics that are not committed because another run committed to them first.
        """
        alone = [of for of in self.retakes.values() if not of.plans]
        self._released = [ReleasedRange(of.key, free) for of in alone for free in of.free]
        attempt_id = str(uuid.uuid4())
        files = ledger_files(self._released, self.generations, attempt_id, self.context)
        lost = commit_files(files, attempt_id, self.generations, self.context)
        self.settle(WaveResult(lost=frozenset(lost)))
        return lost

    def settle(self, done: WaveResult) -> None:
        """Record a commit's ranges as done, except in topics that another run committed first."""
        for result in self._replaced:
            key = result.key
            if key.topic not in done.lost:
                self.whole[key] = without(self.whole[key], result.offsets)
        self.released += [free for free in self._released if free.key.topic not in done.lost]
        self._replaced, self._released = [], []

    def _lost(self, result: RangeResult, left: Sequence[OffsetRange]) -> list[SupersededRange]:
        """Return the ranges of current rows that a re-ingested range replaces.

        A row that is partly in the range is superseded completely, except offsets that this run has
        already ingested again.

        Args:
            result: the re-ingested range.
            left: remaining offsets of the partition.
        """
        ledger = self.ledger.of(result.key)
        batches = current_batches(ledger, self.context)
        spans = spans_of(ledger, batches, self.context)
        wide = widened(result.offsets, spans)
        counting = common(ledger.replaceable, wide)
        erased = erased_offsets(ledger, self.context)
        return [
            superseded(ledger.key, lost, batches, erased)
            for each in left
            for lost in common(counting, each)
        ]

    def _free(self, result: RangeResult) -> list[ReleasedRange]:
        """Return the superseded offsets above the log's end, which the commit releases.

        Only the log's last range releases offsets.
        """
        retake = self.retakes[result.key]
        if not retake.free or result.plan is not retake.plans[-1]:
            return []
        free = free_ranges(self.ledger.of(retake.key), result.next_offset)
        return [ReleasedRange(retake.key, offsets) for offsets in free]
