"""Results of a run's rounds, from which its report is made. Values.

A run has a second round where another run took a topic meanwhile, or where a broker deleted or
cleaned what was being read.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.short_logs import ShortLog
from seglake.pipelines.segment_ingest.committing.concurrent_ranges import ConcurrentRange
from seglake.pipelines.segment_ingest.committing.election_rows import SupersededRange
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.pipelines.segment_ingest.planning.plan import RangePlan, Wave
from seglake.pipelines.segment_ingest.planning.unread_data import UnreadData
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import ConflictCount
from seglake.pipelines.segment_ingest.round_look import RoundLook


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundResult:
    """A round's observations, plan and results.

    Attributes:
        waiting: ranges of the tables that lost an election before this run.
        unread: partitions that cannot be read, with the reason.
        left: what cannot be read although it is, or should be, on the disks.
        committed: ranges that are in the tables; none of a dry run.
        conflicts: batches of other replicas that are not those of the tables.
        superseded: ranges of the tables that lost an election.
        lost_topics: those that another run took meanwhile, with the generation before.
        concurrent: what that run committed of them.
    """

    look: RoundLook
    waiting: tuple[tuple[PartitionKey, OffsetRange], ...]
    notes: tuple[str, ...]
    unread: Mapping[str, str]
    left: UnreadData
    ranges: tuple[RangePlan, ...]
    waves: tuple[Wave, ...]
    committed: tuple[RangeResult, ...] = ()
    conflicts: tuple[Mapping[PartitionKey, ConflictCount], ...]
    superseded: tuple[SupersededRange, ...]
    written_bytes: int = 0
    lost_topics: Mapping[str, int] = field(default_factory=dict)
    concurrent: tuple[ConcurrentRange, ...] = ()


def short_logs(rounds: Iterable[RoundResult], unread: Container[str]) -> dict[str, ShortLog]:
    """Return the logs that end below their proved end, each as last read.

    The header of a last batch may claim fewer offsets than its records have: the records count.

    Args:
        unread: partitions that could not be read, to be left out.
    """
    found: dict[str, ShortLog] = {}
    came: dict[str, list[OffsetRange]] = {}
    for done in rounds:
        for log in done.look.listed:
            found.pop(str(log.key), None)
        found |= {str(short.key): short for short in done.left.short}
        for result in done.committed:
            came.setdefault(str(result.key), []).append(result.offsets)
    left = {name: short.outside(merged(came.get(name, ()))) for name, short in found.items()}
    return {name: short for name, short in left.items() if short and name not in unread}


def unmoved(rounds: Iterable[RoundResult]) -> set[PartitionKey]:
    """Return the partitions listed as an earlier run saw them, without newly ingested ranges."""
    found: set[PartitionKey] = set()
    changed: set[PartitionKey] = set()
    for done in rounds:
        found.update(log.key for log in done.look.listed)
        changed |= done.look.moved
        changed.update(result.key for result in done.committed)
    return found - changed
