"""Checks whether each log is still the one in the lake. Reads a few batches.

If the folder and the ledger have the same topic id, they have the same log. Then the last ingested
batch is read only if the log has grown, to check whether that batch lost an election.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from seglake.ingest_steps.planning.partitions import (
    JudgedPartition,
    ListedPartition,
    SurveyedPartition,
)
from seglake.ingest_steps.planning.plan import requested_ranges
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.log_identity import (
    Likeness,
    LogBatch,
    ShorterLog,
    contradiction_note,
    difference,
    likeness,
    lost_to_newer_epoch,
    may_be_cleaned,
    newer_epoch_note,
    refusal,
    second_log_refusal,
    undecided_refusal,
)
from seglake.kafka_log.replica import Replica, SegmentFile
from seglake.kafka_log.segment_survey import LastBatch
from seglake.log_dirs.batch_search import (
    Answer,
    BatchRequest,
    LogEnd,
    find_batch,
    find_batches,
    find_message,
    request_for,
)
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger
from seglake.progress.progress_views import Unit
from seglake.task_engine.packing import packed

_MOST_INLINE = 64
_TASK_REQUESTS = 256


class _Case(NamedTuple):
    """Log and its last ingested batch.

    Attributes:
        partition: the partition.
        ingested: the last ingested batch.
        is_named: whether disk and ledger have the same topic id, which proves that the log is the
            same.
        shorter: facts on a log that ends below the ingested offsets; in other logs its field `end`
            is empty.
        has_news: whether the log has offsets to ingest.
        request: asks for the log's batch at the offset of the last ingested batch.
    """

    partition: JudgedPartition
    ingested: LastBatch
    is_named: bool
    shorter: ShorterLog
    has_news: bool
    request: BatchRequest

    @property
    def replica(self) -> Replica:
        return self.shorter.replica

    @property
    def is_changed(self) -> bool:
        return self.has_news or self.partition.listed.has_moved


class FoundLog(NamedTuple):
    """Log's batch and the lake's batch, at the last offset that both have."""

    replica: Replica
    ingested: LastBatch
    found: LastBatch
    is_same: bool


class _Pair(NamedTuple):
    """Batch of the lake, and the disk's batch at its offset."""

    ingested: LastBatch
    found: LogBatch


def judge(
    listed: Iterable[ListedPartition],
    surveyed: Iterable[SurveyedPartition],
    lake: IngestedBatches,
    context: RunContext,
) -> list[JudgedPartition]:
    """Compare the chosen copy of each partition with the lake's batches.

    Args:
        listed: all partitions of the round.
        surveyed: partitions of the round with a survey.
        lake: the lake's batches.
        context: the run.
    """
    by_key = {partition.key: partition for partition in surveyed}
    plain = [JudgedPartition(listed=each, surveyed=by_key.get(each.key)) for each in listed]
    seen = [_compared_ends(partition, context) for partition in plain]
    cases = [case for _, case in seen if case is not None]
    answers = _answers([case.request for case in cases], context)
    judged = {
        case.partition.key: _by_second_log(case, answer, lake)
        or _by_last_batch(case, answer, lake, context)
        for case, answer in zip(cases, answers, strict=True)
    }
    return [judged.get(partition.key, partition) for partition, _ in seen]


def _compared_ends(
    partition: JudgedPartition, context: RunContext
) -> tuple[JudgedPartition, _Case | None]:
    """Compare the ends of a log and of the lake.

    Returns a case if a batch must also be compared.
    """
    ledger, news, replica = partition.listed.ledger, partition.news, partition.replica
    frontier = ledger.frontier
    if frontier is None or (news is not None and news.unread_reason is not None):
        return partition, None  # there is nothing to compare, or the copy is unreadable
    is_id_known = replica.key.topic_id is not None and not replica.has_id_of_lake
    is_named = is_id_known and frontier.has_topic_id
    ingested = frontier.last_batch
    epochs_missing = _epochs_missing(replica, ingested)
    has_older_epoch = epochs_missing is not None and epochs_missing > 0
    end = _ends_before(replica, news, frontier.next_offset)
    shorter = ShorterLog(replica, end or "", frontier.next_offset, has_older_epoch)
    # A log that is shorter than the lake but has a newer leader epoch has won an election.
    counted_until = _counted_until(ledger, frontier.next_offset)
    is_shorter = _ends_before(replica, news, counted_until) is not None
    if has_older_epoch or (is_shorter and not epochs_missing):
        partition = replace(partition, is_stale=True)
    if is_named and end is not None:
        partition = replace(partition, shorter=shorter)
    has_news = news is not None and bool(requested_ranges(news, context.settings))
    if ingested is None or (is_named and not (has_news or partition.listed.has_moved)):
        return partition, None
    request = _request_at(replica, ingested.base_offset, context)
    if request is None or (is_named and _is_ingested(request.file)):
        return partition, None
    return partition, _Case(partition, ingested, is_named, shorter, has_news, request)


def _is_ingested(file: SegmentFile) -> bool:
    """Return whether an earlier run has ingested this object of a tier; objects never change."""
    return file.remote is not None and file.remote.is_ingested


def found_logs(
    replicas: Sequence[Replica], ledger: SourceLedger, lake: IngestedBatches, context: RunContext
) -> Iterator[FoundLog]:
    """Yield each log's last batch that the lake has, too.

    Logs are skipped if comparing this batch would prove nothing.
    """
    asked: list[tuple[Replica, LastBatch, BatchRequest]] = []
    for replica in replicas:
        frontier = ledger.of(replica.key).frontier
        ingested = None if frontier is None else frontier.last_batch
        request = None if ingested is None else _request_at(replica, ingested.base_offset, context)
        if ingested is not None and request is not None:
            asked.append((replica, ingested, request))
    answers = _answers([request for *_, request in asked], context)
    for (replica, ingested, _), answer in zip(asked, answers, strict=True):
        pair = _pair(ingested, answer)
        if isinstance(answer, LogEnd):
            pair = _last_common(replica, answer.next_offset, lake, context)
        if pair is None:
            continue
        is_same = likeness(*pair) is Likeness.SAME or _begins_alike(replica, lake, context)
        if is_same or _differ(pair, replica, lake):
            yield FoundLog(replica, pair.ingested, pair.found.header, is_same=is_same)


def _ends_before(replica: Replica, partition: SurveyedPartition | None, offset: int) -> str | None:
    """Return the log's known end, in words, if it is below an offset; else None."""
    high_watermark = replica.checkpoints.high_watermark
    if partition is not None:
        end, words = partition.bounds.log_end_offset, "its log ends at"
    elif high_watermark is not None:  # without a survey, the log's end is unknown
        end, words = high_watermark, "its high watermark is"
    else:
        return None
    return f"{words} {end}" if end < offset else None


def _counted_until(ledger: PartitionLedger, next_offset: int) -> int:
    """Return the end of the ingested offsets, or of the part below a lost election at the end."""
    for start, stop in reversed(ledger.superseded):
        if stop == next_offset:
            return start
    return next_offset


def _epochs_missing(replica: Replica, ingested: LastBatch | None) -> int | None:
    """Return how many leader epochs up to a batch a copy lacks; None if any is unknown."""
    if ingested is None or ingested.leader_epoch is None or not replica.epochs:
        return None
    return ingested.leader_epoch - leader_epochs_of(replica.epochs).last_epoch


def _request_at(replica: Replica, offset: int, context: RunContext) -> BatchRequest | None:
    window_bytes = context.settings.read.window_bytes
    return request_for(replica, offset, context.storage, window_bytes)


def _answers(requests: Sequence[BatchRequest], context: RunContext) -> list[Answer]:
    packs = packed(requests, lambda request: 1, _TASK_REQUESTS)
    found = context.reporter.run_tasks(
        context.engine,
        find_batches,
        [tuple(pack) for pack in packs],
        sizes=[len(pack) for pack in packs],
        text="comparing logs with the lake",
        unit=Unit.BATCHES,
        is_small=len(requests) <= _MOST_INLINE,
    )
    return [answer for answers in found for answer in answers]


def _by_last_batch(
    case: _Case, answer: Answer, lake: IngestedBatches, context: RunContext
) -> JudgedPartition:
    """Compare a log's batch with the last ingested batch; accept, note or refuse the log.

    If the log ends below that batch, the batches at the last common offset are compared.
    """
    partition, replica, shorter = case.partition, case.replica, case.shorter
    pair, is_end = _pair(case.ingested, answer), isinstance(answer, LogEnd)
    if isinstance(answer, LogEnd):
        end = answer.next_offset
        shorter = shorter._replace(end=shorter.end or f"its log ends at {end}")
        pair = _last_common(replica, end, lake, context)
    differ = pair is not None and _differ(pair, replica, lake)
    refused = None if pair is None else _refused(case, pair, lake, context, differ=differ)
    if refused is not None:
        return refused
    if case.is_named and (is_end or not case.has_news):
        return partition  # `_compared_ends` has compared enough
    if pair is None or not differ:
        if pair is not None:  # the log's last batch is in the lake
            shorter = shorter._replace(has_older_epoch=False)
        is_noted = shorter.end and not case.is_named
        return replace(partition, shorter=shorter) if is_noted else partition
    ingested, found = pair.ingested, pair.found.header
    if not (case.is_named or _begins_alike(replica, lake, context)):
        return replace(partition, refusal=refusal(replica, ingested, found))
    has_lost = lost_to_newer_epoch(ingested, found)
    note = newer_epoch_note if has_lost else contradiction_note
    return replace(partition, has_lost=has_lost, notes=(note(replica, ingested, found),))


def _refused(
    case: _Case, pair: _Pair, lake: IngestedBatches, context: RunContext, *, differ: bool
) -> JudgedPartition | None:
    """Refuse a broker's second log, or a differing log if no leader epoch shows the winner."""
    replica = case.replica
    if differ and case.is_named:
        second = _other_log(case, lake, context)
        if second is not None:
            return second
    if None not in (pair.ingested.leader_epoch, pair.found.header.leader_epoch):
        return None
    if differ and (case.is_named or _begins_alike(replica, lake, context)):
        why = undecided_refusal(replica, difference(pair.ingested, pair.found.header))
    else:
        is_asked = case.is_changed and not differ
        offset = _other_message(replica, pair, lake, context) if is_asked else None
        if offset is None:
            return None
        why = undecided_refusal(replica, f"the message at offset {offset} differs from the lake's")
    return replace(case.partition, refusal=why, is_undecided=True)


def _other_log(case: _Case, lake: IngestedBatches, context: RunContext) -> JudgedPartition | None:
    """Refuse a log if the lake has a different log of the same broker."""
    first = _first_pair(case.replica, lake, context)
    if first is None or case.replica.broker_id is None or not _differ(first, case.replica, lake):
        return None
    return _of_same_broker(case, first.ingested, first.found.header, lake)


def _by_second_log(case: _Case, answer: Answer, lake: IngestedBatches) -> JudgedPartition | None:
    """Refuse an empty log with a newer leader epoch that begins at the start of the log.

    The same broker has another log of the partition, which is the one in the lake.
    """
    replica, start = case.replica, case.replica.log_start_offset
    if not isinstance(answer, LogEnd) or answer.next_offset > start or replica.broker_id is None:
        return None
    if case.partition.listed.ledger.lost_from(leader_epochs_of(replica.epochs)) > start:
        return None
    ingested = lake.holding(replica.key, start)
    return None if ingested is None else _of_same_broker(case, ingested.header, None, lake)


def _of_same_broker(
    case: _Case, ingested: LastBatch, found: LastBatch | None, lake: IngestedBatches
) -> JudgedPartition | None:
    """Refuse a log whose first batch differs from the lake's batch of the same broker."""
    replica = case.replica
    if lake.broker_at(replica.key, ingested.base_offset) != replica.broker_id:
        return None
    why = second_log_refusal(replica, ingested, found)
    return replace(case.partition, refusal=why, is_second_log=True)


def _other_message(
    replica: Replica, pair: _Pair, lake: IngestedBatches, context: RunContext
) -> int | None:
    """Return the last common offset of uncompressed messages, if log and lake differ there.

    A row of `batches` covers several such messages, but has only the checksum of the first one. So
    the messages themselves are compared.
    """
    row = lake.holding(replica.key, pair.ingested.base_offset)
    if row is None or row.magic == 2 or row.is_wrapper:
        return None
    offset, answer = row.last_offset, _found_at(replica, row.last_offset, context)
    if isinstance(answer, LogEnd):
        offset = answer.next_offset - 1
    request = _request_at(replica, offset, context)
    found = None if request is None else find_message(request)
    message = lake.message(replica.key, offset)
    return None if found is None or message in (None, found) else offset


def _pair(ingested: LastBatch, answer: Answer) -> _Pair | None:
    return _Pair(ingested, answer) if isinstance(answer, LogBatch) else None


def _last_common(
    replica: Replica, log_end_offset: int, lake: IngestedBatches, context: RunContext
) -> _Pair | None:
    """Return the last batch of a log shorter than the lake, and the lake's batch at its offset."""
    ingested = lake.holding(replica.key, log_end_offset - 1)
    if ingested is None:
        return None
    offset = min(ingested.header.base_offset, log_end_offset - 1)
    return _pair(ingested.header, _found_at(replica, offset, context))


def _differ(pair: _Pair, replica: Replica, lake: IngestedBatches) -> bool:
    """Return whether two batches at one offset must belong to different logs."""
    ingested, found = pair
    if likeness(ingested, found) is not Likeness.OTHER:
        return False
    row = lake.holding(replica.key, ingested.base_offset)
    return row is None or not may_be_cleaned(
        row,
        found,
        replica.checkpoints.cleaner_offset,
        lake_is_compacted=lake.has_compacted_gaps(replica.key),
    )


def _begins_alike(replica: Replica, lake: IngestedBatches, context: RunContext) -> bool:
    """Return whether the lake has the disk's first batch, so that only the logs' ends differ."""
    first = _first_pair(replica, lake, context)
    return first is not None and likeness(*first) is Likeness.SAME


def _first_pair(replica: Replica, lake: IngestedBatches, context: RunContext) -> _Pair | None:
    """Return the first batch on the disk, and the lake's batch at the same offset."""
    first = _found_at(replica, replica.log_start_offset, context)
    if not isinstance(first, LogBatch):
        return None
    start = max(first.header.base_offset, replica.log_start_offset)
    ingested = lake.holding(replica.key, start)
    return None if ingested is None else _Pair(ingested.header, first)


def _found_at(replica: Replica, offset: int, context: RunContext) -> Answer:
    request = _request_at(replica, offset, context)
    return None if request is None else find_batch(request)
