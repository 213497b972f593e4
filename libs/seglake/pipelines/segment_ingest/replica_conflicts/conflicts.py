"""Replicas that contradict the log in the tables, and their rows of `quarantine`. Effect.

The chosen replica is compared with the others over the offsets that a run ingests. What earlier
runs ingested is compared by way of the lake's batches, and only from where leader epochs diverge.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_files import DataFile
from seglake.lake.tables import QUARANTINE
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.segment_ingest.committing.election_rows import (
    SupersededRange,
    superseded_files,
)
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.committing.wave import commit_files
from seglake.pipelines.segment_ingest.planning.plan import wanted_ranges
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.pipelines.segment_ingest.replica_conflicts.conflict_requests import (
    lake_requests,
    replica_requests,
)
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import (
    CompareRequest,
    ConflictCount,
    FoundConflicts,
    RecordReport,
    RecordRequest,
    Winner,
    find_conflicts,
    record_conflicts,
)
from seglake.pipelines.segment_ingest.run_context import RunContext, decode_settings
from seglake.segment_codec.errors import DefectCode
from seglake.task_engine.packing import packed

T = TypeVar("T")
R = TypeVar("R")

_MOST_INLINE_BYTES = 64 << 20
_TASK_BYTES = 256 << 20
_TASK_REQUESTS = 256
_PLACE_COLUMNS = (
    "topic",
    "partition",
    "broker_id",
    "segment",
    "position",
    "raw_sha256",
    "defect_code",
)

Place = tuple[str, int, str]  # segment, position, hash


@dataclass(frozen=True, slots=True)
class Clash:
    """A copy with batches that are not those of the tables, in a range of offsets.

    Attributes:
        winner: where its batches won an election against what earlier runs took.
    """

    key: PartitionKey
    compare: CompareRequest
    found: ConflictCount
    winner: Winner | None


def clashes_with_replicas(
    partitions: Iterable[SurveyedPartition], context: RunContext
) -> list[Clash]:
    """Compare the copies of each partition where this run takes something."""
    asked = [
        (partition.key, request)
        for partition in partitions
        if partition.other_replicas
        for offsets in wanted_ranges(partition, context.settings)
        for request in replica_requests(partition, offsets, context.storage)
    ]
    return _clashes(asked, context)


def clashes_with_lake(
    partitions: Iterable[SurveyedPartition], coverage: Coverage, context: RunContext
) -> list[Clash]:
    """Compare copies with what earlier runs took, where their leader epochs differ."""
    asked = [
        (partition.key, request)
        for partition in partitions
        for request in lake_requests(partition.choice, coverage, context)
    ]
    return _clashes(asked, context)


class ConflictRows:
    """Writes the rows of clashes when it is known what a commit covers.

    `recorded` counts, by partition, what was committed: `settle` is told of each commit.

    Args:
        generations: of each topic, counted up by each commit.
    """

    def __init__(
        self, clashes: Sequence[Clash], generations: Mapping[str, int], context: RunContext
    ) -> None:
        self._clashes = clashes
        self._generations = generations
        self._context = context
        self._known: dict[tuple[str, int, int | None], frozenset[Place]] | None = None
        self._written: dict[PartitionKey, ConflictCount] = {}  # and not committed yet
        self.recorded: dict[PartitionKey, ConflictCount] = {}

    def expected(self) -> dict[PartitionKey, ConflictCount]:
        """What there is to be recorded, where nothing is written."""
        found: dict[PartitionKey, ConflictCount] = {}
        for clash in self._clashes:
            found[clash.key] = found.get(clash.key, ConflictCount()).plus(clash.found)
        return found

    def of_ranges(self, results: Sequence[RangeResult]) -> dict[str, list[DataFile]]:
        """The files, by topic, of conflicts that begin in ranges about to be committed."""
        narrowed = [
            replace(clash, compare=replace(clash.compare, offsets=common))
            for result in results
            for clash in self._clashes
            if clash.key == result.plan.key
            and (common := _common(clash.compare.offsets, result)) is not None
        ]
        return self._write(narrowed)

    def of_all(self) -> dict[str, list[DataFile]]:
        """The same of all conflicts."""
        return self._write(self._clashes)

    def settle(self, lost: Collection[str]) -> None:
        """What was written is committed, but for the topics that another run took."""
        for key, count in self._written.items():
            if key.topic not in lost:
                self.recorded[key] = self.recorded.get(key, ConflictCount()).plus(count)
        self._written.clear()

    def _write(self, clashes: Sequence[Clash]) -> dict[str, list[DataFile]]:
        if not clashes:
            return {}
        requests = [self._request(clash) for clash in clashes]
        reports: list[RecordReport] = _run(
            record_conflicts, requests, [request.compare for request in requests], self._context
        )
        files: dict[str, list[DataFile]] = {}
        for clash, report in zip(clashes, reports, strict=True):
            files.setdefault(clash.key.topic, []).extend(report.files)
            before = self._written.get(clash.key, ConflictCount())
            self._written[clash.key] = before.plus(report.written)
        return files

    def _request(self, clash: Clash) -> RecordRequest:
        if self._known is None:
            self._known = _known_places(self._context)
        place = (clash.key.topic, clash.key.partition, clash.compare.theirs.broker_id)
        following = {clash.key.topic: self._generations[clash.key.topic] + 1}
        settings = replace(decode_settings(self._context), generations=following)
        known = self._known.get(place, frozenset())
        return RecordRequest(clash.compare, clash.key, known, settings)


def commit_conflicts(
    rows: ConflictRows,
    superseded: Sequence[SupersededRange],
    generations: dict[str, int],
    context: RunContext,
) -> tuple[str, ...]:
    """Commit conflicts of what was covered before; the topics that another run took meanwhile.

    Args:
        superseded: what lost an election by these conflicts.
        generations: of each topic; one committed here is counted up.
    """
    attempt_id = str(uuid.uuid4())
    files = rows.of_all()
    for topic, ledger in superseded_files(superseded, generations, attempt_id, context).items():
        files.setdefault(topic, []).extend(ledger)
    lost = commit_files(files, attempt_id, generations, context)
    rows.settle(lost)
    return lost


def _common(offsets: OffsetRange, result: RangeResult) -> OffsetRange | None:
    start = max(offsets[0], result.plan.start_offset)
    stop = min(offsets[1], result.next_offset)
    return (start, stop) if start < stop else None


def _clashes(
    asked: Sequence[tuple[PartitionKey, CompareRequest]], context: RunContext
) -> list[Clash]:
    requests = [request for _, request in asked]
    found: list[FoundConflicts] = _run(find_conflicts, requests, requests, context)
    return [
        Clash(key, request, conflicts.counts, conflicts.winner)
        for (key, request), conflicts in zip(asked, found, strict=True)
        if any(conflicts.counts)
    ]


def _run(
    function: Callable[[tuple[T, ...]], list[R]],
    requests: Sequence[T],
    compares: Sequence[CompareRequest],
    context: RunContext,
) -> list[R]:
    """All requests at once here where they are small, else packed into tasks."""
    pairs = list(zip(requests, (compare.walked_bytes for compare in compares), strict=True))
    packs = packed(pairs, lambda pair: pair[1], _TASK_BYTES, most_items=_TASK_REQUESTS)
    sizes = [sum(size for _, size in pack) for pack in packs]
    answers = context.reporter.run_tasks(
        context.engine,
        function,
        [tuple(request for request, _ in pack) for pack in packs],
        sizes=sizes,
        text="comparing replicas",
        is_small=len(packs) <= 1 and sum(sizes) <= _MOST_INLINE_BYTES,
    )
    return [answer for group in answers for answer in group]


def _known_places(context: RunContext) -> dict[tuple[str, int, int | None], frozenset[Place]]:
    """The conflicts that are recorded, by topic, partition and broker."""
    found: dict[tuple[str, int, int | None], set[Place]] = {}
    rows = context.tables.rows(QUARANTINE, context.source_id, _PLACE_COLUMNS).to_pylist()
    for row in rows:
        if row["defect_code"] == DefectCode.REPLICA_CONFLICT:
            place = (row["segment"], row["position"], row["raw_sha256"])
            found.setdefault((row["topic"], row["partition"], row["broker_id"]), set()).add(place)
    return {key: frozenset(places) for key, places in found.items()}
