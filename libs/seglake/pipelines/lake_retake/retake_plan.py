"""What a retake ingests again, and what it leaves. Effect: reads headers and a few batches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from seglake.errors import WrongCallError
from seglake.kafka_log.leader_epochs import OPEN_END, leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged, subtracted, without
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.replica_selection import leading, replicas_by_partition
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.coverage import Coverage, with_known_id
from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.lake_retake.kept_rows import kept_rows
from seglake.pipelines.segment_ingest.planning.plan import RangePlan, plan_ranges
from seglake.pipelines.segment_ingest.planning.replica_survey import survey_partitions
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.pipelines.segment_ingest.replica_conflicts.duplicate_logs import separated
from seglake.pipelines.segment_ingest.replica_conflicts.log_check import LogCheck, check_logs
from seglake.pipelines.segment_ingest.run_context import RunContext
from seglake.segment_codec.log_dir import OFFSET_MAX

_MOST_NAMED = 5

Wanted = Mapping[PartitionKey, Sequence[OffsetRange]]
Whole = Mapping[PartitionKey, Sequence[OffsetRange]]  # offsets of which what counts is replaced too


@dataclass(frozen=True, slots=True)
class Selection:
    """Which partitions of the selected topics are retaken.

    Attributes:
        partitions: their numbers; none for all of them.
        is_whole: also what no election went against.
    """

    partitions: frozenset[int] = frozenset()
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class PartitionRetake:
    """What is ingested again of one partition.

    Attributes:
        plans: in the order of their offsets.
        free: superseded offsets that the log does not reach yet, or no longer.
        kept: why rows that count are not replaced; empty where all are.
    """

    key: PartitionKey
    plans: tuple[RangePlan, ...]
    free: tuple[OffsetRange, ...]
    kept: str = ""


class RetakePlan(NamedTuple):
    """What is ingested again, and why the rest is left, by partition."""

    retakes: tuple[PartitionRetake, ...] = ()
    left_out: Mapping[str, str] = MappingProxyType({})
    notes: tuple[str, ...] = ()

    @property
    def ranges(self) -> list[RangePlan]:
        return [plan for retake in self.retakes for plan in retake.plans]


def selected_keys(
    coverage: Coverage, selection: Selection, context: RunContext
) -> set[PartitionKey]:
    """The partitions of the lake that are asked for.

    Raises:
        WrongCallError: there are none, or a number is none of theirs.
    """
    select = context.settings.select
    keys = {key for key in coverage.partitions() if select.takes_topic(key.topic)}
    if not keys:
        named = f" selected by {', '.join(select.topics)}" if select.topics else ""
        raise WrongCallError(
            f"the lake {context.tables.lake_path} has no topic{named} of cluster "
            f"{context.source_id}, which the sources are of"
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


def wanted_ranges_of(
    keys: set[PartitionKey], whole: Whole, coverage: Coverage
) -> dict[PartitionKey, list[OffsetRange]]:
    """What is to be ingested again, of partitions of which something is.

    Args:
        whole: those of them of which also what counts is.
    """
    found = {}
    for key in sorted(keys, key=str):
        counting = _counting(key, whole.get(key, ()), coverage)
        found[key] = merged([*coverage.superseded_ranges(key), *counting])
    return {key: wanted for key, wanted in found.items() if wanted}


def planned(
    replicas: Sequence[Replica], wanted: Wanted, coverage: Coverage, context: RunContext
) -> RetakePlan:
    """Choose the replicas to read, and plan what they have of what is wanted."""
    known = [with_known_id(replica, coverage) for replica in replicas]
    lake = IngestedBatches(context.tables, context.source_id, coverage)
    own = (replica for replica in known if replica.key in wanted)
    apart = separated(own, lake, context.storage)
    logs = replicas_by_partition(apart.replicas)
    # As if everything but what is wanted were ingested already.
    seen = Coverage.of(
        (key, rest)
        for key, ranges in wanted.items()
        for rest in subtracted((0, OFFSET_MAX), ranges)
    )
    surveyed = survey_partitions(logs, seen, context.scan)
    check = check_logs([each.replica for each in surveyed], surveyed, coverage, context)
    by_key = {partition.key: partition for partition in surveyed}
    listed = {log[0].key: log for log in logs}
    retakes: list[PartitionRetake] = []
    left_out = {str(found.kept.key): found.reason for found in apart.duplicates}
    for key, ranges in wanted.items():
        if key in by_key:
            found = _judged(by_key[key], ranges, check, coverage, context)
        elif key in listed:
            found = _not_reached(listed[key], ranges, coverage)
        else:
            found = "the sources have no replica of it"
        if isinstance(found, str):
            left_out[str(key)] = f"{key}: {found}"
        else:
            retakes.append(found)
            if found.kept:
                left_out[str(key)] = f"{key}: {found.kept}"
    bounds = [by_key[retake.key].bounds for retake in retakes if retake.key in by_key]
    notes = [*check.notes, *(note for each in bounds for note in each.notes)]
    return RetakePlan(tuple(retakes), left_out, tuple(notes))


NOTHING_YET = "its log may not be read so far yet (high watermark, or an open transaction)"


def _judged(
    partition: SurveyedPartition,
    ranges: Sequence[OffsetRange],
    check: LogCheck,
    coverage: Coverage,
    context: RunContext,
) -> PartitionRetake | str:
    """What is ingested of a log, or why nothing is."""
    key, replica = partition.key, partition.replica
    if key in check.refused and key not in check.undecided:
        return check.refused[key].removeprefix(f"{key}: ")
    missing = next((survey.missing for survey in partition.surveys if survey.missing), None)
    if missing is not None:
        return missing
    last_epoch = partition.choice.leader_epochs.last_epoch
    counting = _counting(key, ranges, coverage)
    winning = _winning_epoch(key, counting, coverage)
    if key in check.lost_to_newer_epoch or last_epoch < winning:
        return _other_log(replica, last_epoch, winning)
    retake = _planned(partition, ranges, counting, coverage, context)
    return retake if retake.plans or retake.free else retake.kept or NOTHING_YET


def _not_reached(
    log: Sequence[Replica], ranges: Sequence[OffsetRange], coverage: Coverage
) -> PartitionRetake | str:
    """What is set free by a log that was not walked, since it may not be read so far."""
    leader = leading(log)[0]
    last_epoch = leader_epochs_of(leader.epochs).last_epoch
    winning = _winning_epoch(leader.key, _counting(leader.key, ranges, coverage), coverage)
    if last_epoch < winning:
        return _other_log(leader, last_epoch, winning)
    free = free_ranges(leader.key, 0, coverage)
    return PartitionRetake(leader.key, (), free) if free else NOTHING_YET


def _counting(
    key: PartitionKey, ranges: Sequence[OffsetRange], coverage: Coverage
) -> list[OffsetRange]:
    """What of the wanted offsets has rows that no election went against."""
    current = coverage.current_ranges(key)
    return [found for offsets in ranges for found in common(current, offsets)]


def _winning_epoch(key: PartitionKey, counting: Sequence[OffsetRange], coverage: Coverage) -> int:
    """The newest leader epoch that a log has to know: that of the rows too, if some are replaced.

    -1 where any log will do.
    """
    frontier = coverage.frontier(key) if counting else None
    last_batch = None if frontier is None else frontier.last_batch
    epochs = coverage.winning_epoch(key), None if last_batch is None else last_batch.leader_epoch
    return max((epoch for epoch in epochs if epoch is not None), default=-1)


def _other_log(replica: Replica, last_epoch: int, winning: int) -> str:
    if last_epoch >= winning:
        return f"{replica.folder} lost an election to what was ingested"
    return (
        f"{replica.folder} is not the log that won, or an old copy of it: the lake knows leader "
        f"epoch {winning}, and this log none above {last_epoch}"
    )


def _planned(
    partition: SurveyedPartition,
    ranges: Sequence[OffsetRange],
    counting: Sequence[OffsetRange],
    coverage: Coverage,
    context: RunContext,
) -> PartitionRetake:
    reached = partition.bounds.next_offset
    kept = kept_rows(partition, counting, coverage, context)
    for offsets in kept.ranges:
        ranges = without(ranges, offsets)
    stops = {stop for _, stop in ranges}
    replaced = replace(partition, covered=(*partition.covered, *kept.ranges))
    plans = [
        _with_kind(plan, cuts_end=plan.next_offset in stops and plan.next_offset < reached)
        for plan in plan_ranges(replaced, context.settings)
    ]
    free = free_ranges(partition.key, reached, coverage)
    return PartitionRetake(partition.key, tuple(plans), free, kept.reason)


def free_ranges(key: PartitionKey, reached: int, coverage: Coverage) -> tuple[OffsetRange, ...]:
    """The superseded offsets that a log does not reach, if no rows above them count."""
    if coverage.winning_epoch(key) is None:
        return ()  # they were superseded by a retake, and lost to nobody
    start = max([reached, *(stop for _, stop in coverage.current_ranges(key))])
    return tuple(common(coverage.superseded_ranges(key), (start, OPEN_END)))


def _with_kind(plan: RangePlan, *, cuts_end: bool) -> RangePlan:
    """The plan of a retake.

    Args:
        cuts_end: behind the range lie rows that count, though a batch may reach across its end.
    """
    splits = plan.splits
    if cuts_end:
        splits = tuple(replace(split, cuts_end=True, limit_offset=None) for split in splits)
    return replace(plan, splits=splits, kind=RangeKind.RETAKE)
