"""What one round of a run found and did: the run's report is made of these. Values.

A run has a second round where another run took a topic meanwhile, or where a broker deleted or
cleaned what was being read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.planning.plan import RangePlan, SurveyedPartition
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount

Conflicts = Mapping[PartitionKey, ConflictCount]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRound:
    """What a round is to read.

    Attributes:
        logs: the replicas of each partition; `partitions` are those that were surveyed.
        refused: logs that are not those of the lake, with what differs.
        unread: partitions that cannot be read, with the reason.
        size_bytes, task_count: of the ranges.
    """

    logs: tuple[tuple[Replica, ...], ...]
    partitions: tuple[SurveyedPartition, ...]
    notes: tuple[str, ...]
    refused: Mapping[str, str]
    unread: Mapping[str, str]
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
        lost_topics: those that another run took meanwhile.
    """

    plan: PlannedRound
    committed: tuple[RangeResult, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    conflicts: tuple[Conflicts, ...] = ()
    written_bytes: int = 0
    lost_topics: frozenset[str] = frozenset()
