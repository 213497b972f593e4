"""What one round of a run found and did: the run's report is made of these. Values.

A run has a second round where another run took a topic meanwhile, or where a broker deleted or
cleaned what was being read.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.short_logs import ShortLog
from seglake.log_tables.observation_rows import NewestObservations
from seglake.pipelines.segment_ingest.committing.concurrent_ranges import ConcurrentRange
from seglake.pipelines.segment_ingest.committing.election_rows import SupersededRange
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.planning.plan import RangePlan
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.pipelines.segment_ingest.planning.unread_data import UnreadData
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount

Conflicts = Mapping[PartitionKey, ConflictCount]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRound:
    """What a round is to read.

    Attributes:
        logs: the replicas of each partition; `partitions` are those that were surveyed.
        quiet: surveyed too, only to see how far they go: nothing of them is to be read.
        earlier: what runs before this one saw.
        lost_to_newer_epoch: logs that lost an election to what was ingested.
        superseded: ranges of the tables that lost an election before this run, and wait.
        stale: logs of which the lake knows more than their copies do.
        refused: logs that are not those of the lake, with what differs.
        unread: partitions that cannot be read, with the reason.
        left: what cannot be read although it is, or should be, on the disks.
        size_bytes, task_count: of the ranges.
    """

    logs: tuple[tuple[Replica, ...], ...]
    partitions: tuple[SurveyedPartition, ...]
    quiet: tuple[SurveyedPartition, ...]
    earlier: NewestObservations
    lost_to_newer_epoch: frozenset[PartitionKey]
    stale: frozenset[PartitionKey]
    superseded: tuple[tuple[PartitionKey, OffsetRange], ...]
    notes: tuple[str, ...]
    refused: Mapping[str, str]
    unread: Mapping[str, str]
    left: UnreadData
    ranges: tuple[RangePlan, ...]
    size_bytes: int
    task_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundResult:
    """What became of it.

    Attributes:
        committed: ranges that are in the tables; none of a dry run.
        unread: partitions that could not be read after all, with the reason.
        conflicts: batches of other replicas that are not those of the tables.
        superseded: ranges of the tables that lost an election.
        lost_topics: those that another run took meanwhile, with the generation before.
        concurrent: what that run committed of them.
    """

    plan: PlannedRound
    committed: tuple[RangeResult, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    conflicts: tuple[Conflicts, ...] = ()
    superseded: tuple[SupersededRange, ...] = ()
    written_bytes: int = 0
    lost_topics: Mapping[str, int] = field(default_factory=dict)
    concurrent: tuple[ConcurrentRange, ...] = ()


def short_logs(rounds: Iterable[RoundResult], unread: Container[str]) -> dict[str, ShortLog]:
    """Of which logs more is proved than was there, by partition, as the last look at each has it.

    Args:
        unread: partitions that could not be read are no news here.
    """
    found: dict[str, ShortLog] = {}
    for done in rounds:
        for log in done.plan.logs:
            found.pop(str(log[0].key), None)
        found |= {str(short.key): short for short in done.plan.left.short}
    return {name: short for name, short in found.items() if name not in unread}
