"""Finds out whether each log is still the one that the lake has. Effect: reads a few batches.

Where a folder and the ledger name the topic id, that is known: nothing is read, but where the log
has grown, the batch that was taken last, to see whether an election went against it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.segment_ingest.execute import RunContext
from pipelines.segment_ingest.planning.coverage import Coverage, Frontier
from pipelines.segment_ingest.planning.plan import SurveyedPartition, wanted_ranges
from pipelines.segment_ingest.same_logs.batch_search import (
    Answer,
    BatchRequest,
    LogEnd,
    find_batch,
    find_batches,
    request_for,
)
from pipelines.segment_ingest.same_logs.identity import (
    FoundBatch,
    Likeness,
    ShorterLog,
    contradiction_note,
    is_outvoted,
    likeness,
    may_be_cleaned,
    outvoted_note,
    refusal,
)
from pipelines.segment_ingest.same_logs.lineage import lineage_of
from pipelines.segment_ingest.same_logs.taken_batches import TakenBatches
from pipelines.segment_ingest.sources.partition_log import PartitionKey, Replica
from pipelines.segment_ingest.surveying.survey_values import LastBatch

_MOST_INLINE = 64
_TASK_REQUESTS = 256


@dataclass(slots=True)
class LogCheck:
    """Logs from which nothing is taken, with the reason, and what else a person should know.

    `outvoted` are those that lost an election to what was taken: what they have more is lost too.
    `shorter` are those that end below what was taken and are the same log so far as is known.
    """

    refused: dict[PartitionKey, str] = field(default_factory=dict)
    outvoted: set[PartitionKey] = field(default_factory=set)
    shorter: list[ShorterLog] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Case:
    replica: Replica
    frontier: Frontier
    is_named: bool  # the topic id is known on the disk and in the ledger, so it is this log
    shorter: list[ShorterLog]  # it, if it is shorter than what was taken


class _Pair(NamedTuple):
    """A batch of the lake, and what the disk has at its place."""

    taken: LastBatch
    found: FoundBatch


def check_logs(
    replicas: Iterable[Replica],
    partitions: Sequence[SurveyedPartition],
    coverage: Coverage,
    context: RunContext,
) -> LogCheck:
    """Compare the chosen copy of each partition with what was taken of it before.

    Args:
        replicas: the chosen copies; `partitions` those of them that were surveyed.
    """
    surveyed = {partition.replica.key: partition for partition in partitions}
    check = LogCheck()
    doubts: list[tuple[_Case, BatchRequest]] = []
    for replica in replicas:
        frontier = coverage.frontier(replica.key)
        if frontier is None:
            continue
        is_id_known = replica.key.topic_id is not None and not replica.takes_id_of_lake
        partition = surveyed.get(replica.key)
        case = _Case(
            replica,
            frontier,
            is_id_known and frontier.has_topic_id,
            _if_shorter(replica, frontier, partition),
        )
        if case.is_named:
            check.shorter += case.shorter
        has_news = partition is not None and bool(wanted_ranges(partition, context.settings))
        request = _request(case, context) if has_news or not case.is_named else None
        if request is not None:
            doubts.append((case, request))
    lake = TakenBatches(context.tables, context.source_id, coverage)
    answers = _answers([request for _, request in doubts], context)
    for (case, _), answer in zip(doubts, answers, strict=True):
        _judge(case, answer, lake, context, check)
    return check


def _if_shorter(
    replica: Replica, frontier: Frontier, partition: SurveyedPartition | None
) -> list[ShorterLog]:
    high_watermark = replica.checkpoints.high_watermark
    if partition is not None:
        end, said = partition.bounds.log_end_offset, "its log ends at"
    elif high_watermark is not None:  # the log itself was not looked at
        end, said = high_watermark, "its high watermark is"
    else:
        return []
    is_shorter = end < frontier.next_offset
    return [_shorter(replica, frontier, f"{said} {end}")] if is_shorter else []


def _shorter(replica: Replica, frontier: Frontier, end: str) -> ShorterLog:
    taken = None if frontier.last_batch is None else frontier.last_batch.leader_epoch
    known = lineage_of(replica.epochs).last_epoch
    has_older_epoch = bool(replica.epochs) and taken is not None and known < taken
    return ShorterLog(replica, end, frontier.next_offset, has_older_epoch)


def _request(case: _Case, context: RunContext) -> BatchRequest | None:
    batch = case.frontier.last_batch
    return None if batch is None else _request_at(case.replica, batch.base_offset, context)


def _request_at(replica: Replica, offset: int, context: RunContext) -> BatchRequest | None:
    window_bytes = context.settings.read.window_bytes
    return request_for(replica, offset, context.storage, window_bytes)


def _answers(requests: Sequence[BatchRequest], context: RunContext) -> list[Answer]:
    if len(requests) <= _MOST_INLINE:
        return find_batches(tuple(requests))
    groups = [
        tuple(requests[start : start + _TASK_REQUESTS])
        for start in range(0, len(requests), _TASK_REQUESTS)
    ]
    counting = context.reporter.counting("comparing", [0] * len(groups))
    found = context.engine.run(find_batches, groups, on_done=counting)
    return [answer for group in found for answer in group]


def _judge(
    case: _Case, answer: Answer, lake: TakenBatches, context: RunContext, check: LogCheck
) -> None:
    """Note or refuse a log by what it has where the lake has the batch that was taken last.

    A log that ends before is judged by the last offset that it shares with the lake.
    """
    replica, shorter = case.replica, [] if case.is_named else case.shorter
    pair = _pair(case.frontier.last_batch, answer)
    if isinstance(answer, LogEnd):
        if case.is_named:
            return  # it is noted already
        end = answer.next_offset
        shorter = shorter or [_shorter(replica, case.frontier, f"its log ends at {end}")]
        pair = _last_common(replica, end, lake, context)
    if pair is None or not _differ(pair, replica, lake):
        if pair is not None:  # its last batch is one of those that were taken
            shorter = [each._replace(has_older_epoch=False) for each in shorter]
        check.shorter += shorter
    elif case.is_named or _begins_alike(replica, lake, context):
        if is_outvoted(pair.taken, pair.found.header):
            check.outvoted.add(replica.key)
            check.notes.append(outvoted_note(replica, pair.taken, pair.found.header))
        else:
            check.notes.append(contradiction_note(replica, pair.taken, pair.found.header))
    else:
        check.refused[replica.key] = refusal(replica, pair.taken, pair.found.header)


def _pair(taken: LastBatch | None, answer: Answer) -> _Pair | None:
    return _Pair(taken, answer) if taken is not None and isinstance(answer, FoundBatch) else None


def _last_common(
    replica: Replica, log_end_offset: int, lake: TakenBatches, context: RunContext
) -> _Pair | None:
    """What both have at the end of a log that is shorter than what was taken."""
    taken = lake.holding(replica.key, log_end_offset - 1)
    if taken is None:
        return None
    offset = min(taken.header.base_offset, log_end_offset - 1)
    return _pair(taken.header, _found_at(replica, offset, context))


def _differ(pair: _Pair, replica: Replica, lake: TakenBatches) -> bool:
    """Whether the two cannot be of one log."""
    taken, found = pair
    if likeness(taken, found) is not Likeness.OTHER:
        return False
    row = lake.holding(replica.key, taken.base_offset)
    return row is None or not may_be_cleaned(
        row,
        found,
        replica.checkpoints.cleaner_offset,
        lake_is_compacted=lake.has_compacted_gaps(replica.key),
    )


def _begins_alike(replica: Replica, lake: TakenBatches, context: RunContext) -> bool:
    """Whether the first batch on the disk is one that was taken: then only its end is another."""
    first = _found_at(replica, replica.log_start_offset, context)
    if not isinstance(first, FoundBatch):
        return False
    start = max(first.header.base_offset, replica.log_start_offset)
    taken = lake.holding(replica.key, start)
    return taken is not None and likeness(taken.header, first) is Likeness.SAME


def _found_at(replica: Replica, offset: int, context: RunContext) -> Answer:
    request = _request_at(replica, offset, context)
    return None if request is None else find_batch(request)
