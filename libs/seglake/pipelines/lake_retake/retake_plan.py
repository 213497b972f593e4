"""Plans the ranges that a retake ingests again. Reads headers and a few batches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.ingest_steps.planning.partitions import (
    JudgedPartition,
    ListedPartition,
    SurveyedPartition,
    listed_partitions,
)
from seglake.ingest_steps.planning.plan import RangePlan, plan_ranges
from seglake.ingest_steps.planning.replica_survey import survey_partitions
from seglake.ingest_steps.replica_conflicts.log_check import judge
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import OPEN_END, leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged, without
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import leading
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.ledger_layers import RangeKind
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.lake_retake.kept_rows import kept_rows

_MOST_NAMED = 5

Requested = Mapping[PartitionKey, Sequence[OffsetRange]]
# offsets whose rows are replaced although they lost no election, by partition
Whole = Mapping[PartitionKey, Sequence[OffsetRange]]


class Selection(NamedTuple):
    """Selection of partitions of the selected topics.

    Attributes:
        partitions: numbers of partitions; empty for all.
        is_whole: whether to also replace rows that lost no election.
    """

    partitions: frozenset[int] = frozenset()
    is_whole: bool = False


class PartitionRetake(NamedTuple):
    """Planned retake of one partition.

    Attributes:
        key: the partition.
        plans: ranges to ingest again, ordered by offset.
        free: superseded offsets above the end of the log.
        kept: why some current rows are not replaced; empty if all are replaced.
    """

    key: PartitionKey
    plans: tuple[RangePlan, ...]
    free: tuple[OffsetRange, ...]
    kept: str = ""


class RetakePlan(NamedTuple):
    """Planned retakes, and the reasons for partitions that are left out."""

    retakes: tuple[PartitionRetake, ...] = ()
    left_out: Mapping[str, str] = MappingProxyType({})
    notes: tuple[str, ...] = ()

    @property
    def ranges(self) -> list[RangePlan]:
        """Return the ranges of all partitions that the retake ingests again."""
        return [plan for retake in self.retakes for plan in retake.plans]


def selected_keys(
    ledger: SourceLedger, selection: Selection, context: RunContext
) -> set[PartitionKey]:
    """Return the selected partitions of the lake.

    Args:
        ledger: the lake's ledger.
        selection: numbers of partitions.
        context: the run; its settings select the topics.

    Raises:
        WrongCallError: no topic is selected, or a number is no partition of the selected topics.
    """
    select = context.settings.select
    keys = {key for key in ledger.partitions() if select.selects_topic(key.topic)}
    if not keys:
        named = f" selected by {', '.join(select.topics)}" if select.topics else ""
        raise WrongCallError(
            f"the lake {context.tables.lake_path} has no topic{named} of the sources' cluster "
            f"{context.source_id}"
        )
    there = {key.partition for key in keys}
    strange = selection.partitions - there
    if strange:
        raise WrongCallError(
            f"the lake {context.tables.lake_path} has no partition {_listed(strange)} of the "
            f"selected topics. There are {_listed(there)}"
        )
    return {key for key in keys if key.partition in (selection.partitions or there)}


def _listed(partitions: Iterable[int]) -> str:
    first, rest = (listed := sorted(partitions))[:_MOST_NAMED], len(listed) - _MOST_NAMED
    return ", ".join(map(str, first)) + (f" and {rest} more" if rest > 0 else "")


def requested_ranges_of(
    keys: set[PartitionKey], whole: Whole, ledger: SourceLedger
) -> dict[PartitionKey, list[OffsetRange]]:
    """Return the ranges to ingest again, by partition.

    Args:
        keys: the selected partitions.
        whole: offsets whose rows are replaced although they lost no election.
        ledger: the lake's ledger.
    """
    found = {}
    for key in sorted(keys, key=str):
        log = ledger.of(key)
        found[key] = merged([*log.superseded, *_counting(whole.get(key, ()), log)])
    return {key: requested for key, requested in found.items() if requested}


def planned(
    replicas: Sequence[Replica],
    requested: Requested,
    ledger: SourceLedger,
    context: RunContext,
) -> RetakePlan:
    """Choose the replicas to read, and plan the requested ranges that these replicas have.

    Args:
        replicas: the sources' replicas.
        requested: ranges to ingest again, by partition.
        ledger: the lake's ledger.
        context: the run.
    """
    lake = IngestedBatches(context.tables, context.source_id, ledger)
    own = (copy for copy in replicas if ledger.named(copy).key in requested)
    listed = listed_partitions(own, ledger, context.storage, lake)
    surveyed = survey_partitions((log.lacking(requested[log.key]) for log in listed), context)
    judged = {log.key: JudgedPartition(listed=log) for log in listed}
    reached = [judged[each.key].listed for each in surveyed]
    judged |= {each.key: each for each in judge(reached, surveyed, lake, context)}
    retakes: list[PartitionRetake] = []
    left_out = {str(found.kept.key): found.reason for each in listed for found in each.duplicates}
    for key, ranges in requested.items():
        found: PartitionRetake | str = "the sources have no replica of it"
        if key in judged:
            found = _judged(judged[key], ranges, context)
        if isinstance(found, str):
            left_out[str(key)] = f"{key}: {found}"
        else:
            retakes.append(found)
            if found.kept:
                left_out[str(key)] = f"{key}: {found.kept}"
    retaken = filter(None, (judged[of.key].surveyed for of in retakes))
    notes = [note for each in judged.values() for note in each.notes]
    notes += [note for each in retaken for note in each.bounds.notes]
    return RetakePlan(tuple(retakes), left_out, tuple(notes))


NOTHING_YET = (
    "its log may not be read up to this offset yet (high watermark, or an open transaction)"
)


def _judged(
    judged: JudgedPartition, ranges: Sequence[OffsetRange], context: RunContext
) -> PartitionRetake | str:
    """Return the plan of a partition, or why no offset is ingested."""
    ledger, surveyed = judged.listed.ledger, judged.surveyed
    if surveyed is None:
        return _not_reached(judged.listed, ranges)
    if judged.refusal and not judged.is_undecided:
        return judged.refusal.removeprefix(f"{judged.key}: ")
    if surveyed.unread_reason is not None:
        return surveyed.unread_reason
    last_epoch = surveyed.choice.leader_epochs.last_epoch
    counting = _counting(ranges, ledger)
    winning = _winning_epoch(counting, ledger)
    if judged.has_lost or last_epoch < winning:
        return _other_log(surveyed.replica, last_epoch, winning)
    retake = _planned(surveyed, ledger, ranges, counting, context)
    return retake if retake.plans or retake.free else retake.kept or NOTHING_YET


def _not_reached(log: ListedPartition, ranges: Sequence[OffsetRange]) -> PartitionRetake | str:
    """Return a plan that only releases offsets of a log that ends too early, or why not."""
    leader = leading(log.replicas)[0]
    last_epoch = leader_epochs_of(leader.epochs).last_epoch
    winning = _winning_epoch(_counting(ranges, log.ledger), log.ledger)
    if last_epoch < winning:
        return _other_log(leader, last_epoch, winning)
    free = free_ranges(log.ledger, 0)
    return PartitionRetake(leader.key, (), free) if free else NOTHING_YET


def _counting(ranges: Sequence[OffsetRange], ledger: PartitionLedger) -> list[OffsetRange]:
    """Return the requested offsets whose rows neither lost an election nor expired."""
    return [found for offsets in ranges for found in common(ledger.replaceable, offsets)]


def _winning_epoch(counting: Sequence[OffsetRange], ledger: PartitionLedger) -> int:
    """Return the lowest leader epoch that the log to read must have; -1 for any log.

    It is the epoch that won the election, or the rows' own epoch if that is higher.
    """
    frontier = ledger.frontier if counting else None
    last_batch = None if frontier is None else frontier.last_batch
    epochs = ledger.winning_epoch, None if last_batch is None else last_batch.leader_epoch
    return max((epoch for epoch in epochs if epoch is not None), default=-1)


def _other_log(replica: Replica, last_epoch: int, winning: int) -> str:
    if last_epoch >= winning:
        return f"{replica.folder} lost an election to the ingested log"
    return (
        f"{replica.folder} is not the log that won, or an old copy of it: the lake has leader "
        f"epoch {winning}, but this log has none above {last_epoch}"
    )


def _planned(
    partition: SurveyedPartition,
    ledger: PartitionLedger,
    ranges: Sequence[OffsetRange],
    counting: Sequence[OffsetRange],
    context: RunContext,
) -> PartitionRetake:
    reached = partition.bounds.next_offset
    kept = kept_rows(partition, ledger, counting, context)
    for offsets in kept.ranges:
        ranges = without(ranges, offsets)
    replaced = partition._replace(covered=(*partition.covered, *kept.ranges))
    plans = [
        replace(plan, kind=RangeKind.RETAKE) for plan in plan_ranges(replaced, context.settings)
    ]
    free = free_ranges(ledger, reached)
    return PartitionRetake(partition.key, tuple(plans), free, kept.reason)


def free_ranges(ledger: PartitionLedger, reached: int) -> tuple[OffsetRange, ...]:
    """Return the superseded offsets above both a log's end and all current rows.

    Args:
        ledger: the partition's ledger.
        reached: the log's end offset.
    """
    if ledger.winning_epoch is None:
        return ()  # rows that lost no election
    start = max([reached, *(stop for _, stop in ledger.current)])
    return tuple(common(ledger.superseded, (start, OPEN_END)))
