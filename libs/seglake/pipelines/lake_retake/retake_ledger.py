"""The ledger's own rows of a retake: what it supersedes itself, and what it sets free. Effect."""

import uuid
from collections.abc import Collection, Sequence

from seglake.kafka_log.offset_ranges import OffsetRange, common, without
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_files import DataFile
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.lake_retake.kept_rows import widened
from seglake.pipelines.lake_retake.retake_plan import PartitionRetake, free_ranges
from seglake.pipelines.segment_ingest.committing.election_rows import (
    ReleasedRange,
    SupersededRange,
    ledger_files,
)
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.committing.wave import commit_files
from seglake.pipelines.segment_ingest.replica_conflicts.elections import (
    current_batches,
    spans_of,
    superseded,
)
from seglake.pipelines.segment_ingest.run_context import RunContext


class RetakeLedger:
    """Asked for its files in each wave, and told by `settle` what became of the commit.

    Args:
        generations: of each topic, counted up by each commit.
        whole: partitions of which also what counts is superseded, with what is ingested in its
            place, and where that is left to do; what is done is taken out.
    """

    def __init__(
        self,
        retakes: Sequence[PartitionRetake],
        coverage: Coverage,
        generations: dict[str, int],
        context: RunContext,
        *,
        whole: dict[PartitionKey, list[OffsetRange]],
    ) -> None:
        self._retakes = {retake.key: retake for retake in retakes}
        self._coverage = coverage
        self._generations = generations
        self._context = context
        self._whole = whole
        self._replaced: list[RangeResult] = []  # by the commit that is being made
        self._released: list[ReleasedRange] = []

    def files(self, results: Sequence[RangeResult]) -> dict[str, list[DataFile]]:
        """The files to be committed with these ranges, by topic."""
        self._replaced = [result for result in results if result.plan.key in self._whole]
        left = dict(self._whole)
        lost: list[SupersededRange] = []
        for result in self._replaced:
            lost += self._lost(result, left[result.plan.key])
            left[result.plan.key] = _less(left[result.plan.key], result)
        self._released = [free for result in results for free in self._free(result)]
        attempt_id = str(uuid.uuid4())
        found = ledger_files(lost, self._generations, attempt_id, self._context)
        free = ledger_files(self._released, self._generations, attempt_id, self._context)
        for topic, files in free.items():
            found.setdefault(topic, []).extend(files)
        return found

    def release(self) -> tuple[str, ...]:
        """Commit what nothing is ingested with; the topics that another run took meanwhile."""
        alone = [of for of in self._retakes.values() if not of.plans]
        self._released = [ReleasedRange(of.key, free) for of in alone for free in of.free]
        attempt_id = str(uuid.uuid4())
        files = ledger_files(self._released, self._generations, attempt_id, self._context)
        return commit_files(files, attempt_id, self._generations, self._context)

    def settle(self, lost: Collection[str]) -> list[ReleasedRange]:
        """The commit is done, but for topics that another run took; the ranges that it set free."""
        for result in self._replaced:
            key = result.plan.key
            if key.topic not in lost:
                self._whole[key] = _less(self._whole[key], result)
        released = [free for free in self._released if free.key.topic not in lost]
        self._replaced, self._released = [], []
        return released

    def _lost(self, result: RangeResult, left: Sequence[OffsetRange]) -> list[SupersededRange]:
        """What counts where a range is ingested again. A row that reaches out of it goes whole, but
        for what this run has ingested again beside it.

        Args:
            left: what is left to do of the partition.
        """
        key = result.plan.key
        batches = current_batches(key, self._coverage, self._context)
        spans = spans_of(key, batches, self._coverage, self._context)
        wide = widened(_offsets(result), spans)
        counting = common(self._coverage.current_ranges(key), wide)
        return [superseded(key, lost, batches) for each in left for lost in common(counting, each)]

    def _free(self, result: RangeResult) -> list[ReleasedRange]:
        """What lies above the end of the log, with the last range that it has."""
        retake = self._retakes[result.plan.key]
        if not retake.free or result.plan is not retake.plans[-1]:
            return []
        free = free_ranges(retake.key, result.next_offset, self._coverage)
        return [ReleasedRange(retake.key, offsets) for offsets in free]


def _offsets(result: RangeResult) -> OffsetRange:
    return result.plan.start_offset, result.next_offset


def _less(ranges: Sequence[OffsetRange], result: RangeResult) -> list[OffsetRange]:
    return without(ranges, _offsets(result))
