"""Finds replicas that contradict the log in the tables, and quarantines their batches.

In the offsets that a run ingests, the chosen replica is compared with the others. In the offsets
that earlier runs ingested, the replicas are compared with the lake's batches, but only from the
offset at which leader epochs diverge.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple, TypeVar

from seglake.findings.losing_tails import TAIL_COLUMNS, TailsOfPartition, tails_of
from seglake.grouping import grouped
from seglake.ingest_steps.committing.election_rows import SupersededRange, ledger_files
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.committing.wave import WaveResult, commit_files
from seglake.ingest_steps.planning.partitions import (
    JudgedPartition,
)
from seglake.ingest_steps.planning.plan import requested_ranges
from seglake.ingest_steps.replica_conflicts.conflict_requests import (
    duplicate_requests,
    lake_requests,
    replica_requests,
    tail_requests,
    undecided_requests,
)
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import common
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_files import DataFile
from seglake.lake.tables import QUARANTINE
from seglake.log_tables.erasure_rules import rules_for
from seglake.log_tables.quarantine_rows import most_raw_bytes
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_decoding.conflict_counts import ConflictCount, counted
from seglake.segment_decoding.replica_compare_values import (
    CompareRequest,
    FoundConflicts,
    Listed,
    RecordReport,
    RecordRequest,
    unlisted,
)
from seglake.segment_decoding.task_functions import find_conflicts, record_conflicts
from seglake.segment_decoding.tasks import DecodeSettings
from seglake.task_engine.packing import packed

T = TypeVar("T", CompareRequest, RecordRequest)
R = TypeVar("R")

_MOST_INLINE_BYTES = 64 << 20
_TASK_BYTES = 256 << 20
_TASK_REQUESTS = 256
_LISTED_COLUMNS = (
    *("topic", "partition", "defect_code", "last_offset"),
    *("expected_crc", "length_bytes", "raw_is_complete"),
)


class Clash(NamedTuple):
    """Copy whose batches differ from those in the tables, in a range of offsets.

    Attributes:
        compare: the comparison.
        found: the differing batches.
    """

    compare: CompareRequest
    found: FoundConflicts


def clashes_with_replicas(
    partitions: Iterable[JudgedPartition], context: RunContext
) -> list[Clash]:
    """Compare the copies of each partition in the ranges that this run ingests."""
    asked = [
        request
        for partition in filter(None, (each.ingestible for each in partitions))
        if partition.other_replicas
        for offsets in requested_ranges(partition, context.settings)
        for request in replica_requests(partition, offsets, context.storage)
    ]
    return _clashes(asked, context)


def clashes_with_lake(partitions: Iterable[JudgedPartition], context: RunContext) -> list[Clash]:
    """Compare copies with the batches of earlier runs, if their leader epochs differ.

    If a broker has two logs of a partition, these are compared with each other. A run that reads
    the logs of a dead cluster to their end also compares logs that were refused because no leader
    epoch shows the winner, and batches of losing copies above the end of the log.
    """
    judged = list(partitions)
    same = [(each, found) for each in judged if (found := each.same) is not None]
    asked = [request for _, found in same for request in lake_requests(found, context)]
    asked += [request for each in judged for request in duplicate_requests(each, context)]
    if context.settings.reads_dead_logs:
        asked += [request for each in judged for request in undecided_requests(each, context)]
        for each, found in same:
            asked += tail_requests(found, context, has_lost=each.has_lost)
    return _clashes(asked, context)


class ConflictRows:
    """Rows of `quarantine` for clashes, written when the ranges of a commit are known.

    Call `settle` after each commit.

    Attributes:
        clashes: the clashes.
        recorded: number of clashing batches that were committed so far, by partition.
    """

    def __init__(
        self, clashes: Sequence[Clash], generations: Mapping[str, int], context: RunContext
    ) -> None:
        """Store the clashes and the commit counters.

        Args:
            clashes: the clashes.
            generations: commit counter of each topic; each commit raises it.
            context: the run.
        """
        self.clashes = clashes
        self._generations = generations
        self._context = context
        # rows that are written but not committed
        self._written: list[tuple[PartitionKey, ConflictCount]] = []
        self.recorded: dict[PartitionKey, ConflictCount] = {}

    def expected(self) -> dict[PartitionKey, ConflictCount]:
        """Return the number of batches that contradict the tables, by partition."""
        return counted((clash.compare.key, clash.found.counts) for clash in self.clashes)

    def unlisted(self) -> dict[PartitionKey, ConflictCount]:
        """Return the number of clashing batches that a run would add to `quarantine`."""
        max_bytes = self._context.lake_decoding.max_raw_bytes
        found = []
        for clash in self.clashes:
            key = clash.compare.key
            most_bytes = most_raw_bytes(key.topic, max_bytes)
            found.append((key, unlisted(clash.found.batches, self._known_of(key), most_bytes)))
        return counted(found)

    def files(self, results: Sequence[RangeResult]) -> dict[str, list[DataFile]]:
        """Write the conflicts in the ranges to be committed; return the files by topic."""
        narrowed = [
            clash.compare._replace(offsets=offsets)
            for result in results
            for clash in self.clashes
            if clash.compare.key == result.key
            for offsets in common([clash.compare.offsets], result.offsets)
        ]
        return self._write(narrowed)

    def of_all(self) -> dict[str, list[DataFile]]:
        """Write all conflicts, and return the files by topic."""
        return self._write([clash.compare for clash in self.clashes])

    def settle(self, done: WaveResult) -> None:
        """Count written rows as committed, except in topics that another run committed first."""
        won = [(key, count) for key, count in self._written if key.topic not in done.lost]
        self.recorded = counted([*self.recorded.items(), *won])
        self._written.clear()

    def _write(self, compares: Sequence[CompareRequest]) -> dict[str, list[DataFile]]:
        if not compares:
            return {}
        settings = self._context.lake_decoding
        requests = [self._request(compare, settings) for compare in compares]
        reports: list[RecordReport] = _run(record_conflicts, requests, self._context)
        files: dict[str, list[DataFile]] = {}
        for compare, report in zip(compares, reports, strict=True):
            files.setdefault(compare.key.topic, []).extend(report.files)
            self._written.append((compare.key, report.written))
        return files

    def _request(self, compare: CompareRequest, settings: DecodeSettings) -> RecordRequest:
        topic = compare.key.topic
        following = {topic: self._generations[topic] + 1}
        rules = rules_for(settings.rules, [compare.key[:2]])
        settings = replace(settings, generations=following, rules=rules)
        return RecordRequest(compare, self._known_of(compare.key), settings)

    def _known_of(self, key: PartitionKey) -> frozenset[Listed]:
        return self._known.get((key.topic, key.partition), frozenset())

    @cached_property
    def _known(self) -> dict[tuple[str, int], frozenset[Listed]]:
        """Return the conflicts in quarantine, by topic and partition."""
        found: dict[tuple[str, int], set[Listed]] = {}
        tables, source_id = self._context.tables, self._context.source_id
        if not tables.has(QUARANTINE):  # a dry run may have no lake yet
            return {}
        for row in tables.rows(QUARANTINE, source_id, _LISTED_COLUMNS).to_pylist():
            if row["defect_code"] == DefectCode.REPLICA_CONFLICT:
                of_batch = (row["last_offset"], row["expected_crc"], row["length_bytes"])
                listed = Listed(*of_batch, is_complete=row["raw_is_complete"])
                found.setdefault((row["topic"], row["partition"]), set()).add(listed)
        return {of: frozenset(batches) for of, batches in found.items()}


def commit_conflicts(
    rows: ConflictRows,
    superseded: Sequence[SupersededRange],
    generations: dict[str, int],
    context: RunContext,
) -> tuple[str, ...]:
    """Commit conflicts with batches of earlier runs.

    Returns the topics that are not committed because another run committed to them first.

    Args:
        rows: the conflicts.
        superseded: ranges of the tables that lost an election to the conflicting batches.
        generations: commit counter of each topic; each commit raises it.
        context: the run.
    """
    attempt_id = str(uuid.uuid4())
    files = rows.of_all()
    for topic, ledger in ledger_files(superseded, generations, attempt_id, context).items():
        files.setdefault(topic, []).extend(ledger)
    lost = commit_files(files, attempt_id, generations, context)
    rows.settle(WaveResult(lost=frozenset(lost)))
    return lost


def _clashes(requests: Sequence[CompareRequest], context: RunContext) -> list[Clash]:
    if context.settings.read.upper_bound is not UpperBound.LOG_END:
        # An empty `before` makes a batch be listed for each copy that has it.
        requests = [request._replace(before=()) for request in requests]
    found: list[FoundConflicts] = _run(find_conflicts, requests, context)
    return [
        Clash(request, conflicts)
        for request, conflicts in zip(requests, found, strict=True)
        if conflicts.batches
    ]


def _run(
    function: Callable[[tuple[T, ...]], list[R]], requests: Sequence[T], context: RunContext
) -> list[R]:
    """Run all requests: small ones in this process, others in tasks."""
    measured = [(request.walked_bytes, request) for request in requests]
    packs = packed(measured, itemgetter(0), _TASK_BYTES, most_items=_TASK_REQUESTS)
    sizes = [sum(size_bytes for size_bytes, _ in pack) for pack in packs]
    answers = context.reporter.run_tasks(
        context.engine,
        function,
        [tuple(request for _, request in pack) for pack in packs],
        sizes=sizes,
        text="comparing replicas",
        is_small=len(packs) <= 1 and sum(sizes) <= _MOST_INLINE_BYTES,
    )
    return [answer for group in answers for answer in group]


def quarantined_tails(
    ledger: SourceLedger, context: RunContext
) -> dict[PartitionKey, TailsOfPartition]:
    """Return the quarantined batches of losing logs above the tables' end, by partition.

    A dry run returns none.

    Args:
        ledger: the ledger; it has the topic ids that some rows of `quarantine` lack.
        context: the run.
    """
    if context.is_dry_run or not context.tables.has(QUARANTINE):
        return {}
    columns = ("topic_id", "topic", "partition", *TAIL_COLUMNS)
    rows = context.tables.rows(QUARANTINE, context.source_id, columns).to_pylist()
    by_key = grouped((ledger.key_of(row), row) for row in rows)
    found = {key: tails_of(of_key) for key, of_key in by_key.items()}
    return {key: tails for key, tails in found.items() if tails}
