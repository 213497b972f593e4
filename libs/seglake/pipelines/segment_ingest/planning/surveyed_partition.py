"""A partition of a round, from its listing to its plan. Values."""

from collections.abc import Iterable
from dataclasses import dataclass

from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.observation import Observation
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.kafka_log.replica_selection import (
    OtherReplica,
    PartitionChoice,
    replicas_by_partition,
    sound_end,
)
from seglake.kafka_log.segment_survey import EndDamage, SegmentSurvey
from seglake.kafka_log.unread_segments import unread_offsets
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger


@dataclass(frozen=True, slots=True)
class ListedPartition:
    """A partition as the sources list it, and what the lake has of it.

    Attributes:
        replicas: at least one.
        earlier: the newest earlier run's observation.
    """

    replicas: tuple[Replica, ...]
    ledger: PartitionLedger
    earlier: Observation | None = None

    @property
    def key(self) -> PartitionKey:
        return self.replicas[0].key


def listed_partitions(replicas: Iterable[Replica], ledger: SourceLedger) -> list[ListedPartition]:
    """Return the partitions of these replicas, by topic and number."""
    logs = replicas_by_partition(replicas)
    return [ListedPartition(log, ledger.of(log[0].key)) for log in logs]


@dataclass(frozen=True, slots=True)
class SurveyedPartition:
    """A partition ready to be planned: the replica that is read, and the bounds of its log."""

    listed: ListedPartition
    choice: PartitionChoice
    bounds: LogBounds
    covered: tuple[OffsetRange, ...]

    @property
    def key(self) -> PartitionKey:
        return self.choice.chosen.key

    @property
    def ledger(self) -> PartitionLedger:
        return self.listed.ledger

    @property
    def replica(self) -> Replica:
        return self.choice.chosen

    @property
    def surveys(self) -> tuple[SegmentSurvey, ...]:
        """Of the replica's last segments, in order."""
        return self.choice.surveys

    @property
    def unread_reason(self) -> str | None:
        """Why the replica cannot be read; of several segments, the reason of the first."""
        reasons = (survey.missing for survey in self.surveys)
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def surveyed_segments(self) -> tuple[SegmentFile, ...]:
        return self.replica.segments[len(self.replica.segments) - len(self.surveys) :]

    @property
    def end_damage(self) -> EndDamage | None:
        """What follows the last sound batch of the log, None if that is no damage."""
        return self.surveys[-1].end_damage if self.surveys else None

    @property
    def sound_end(self) -> int:
        """The offset behind the last sound batch."""
        return sound_end(self.surveys)

    @property
    def other_replicas(self) -> tuple[OtherReplica, ...]:
        return self.choice.other_replicas

    @property
    def waiting_ranges(self) -> tuple[OffsetRange, ...]:
        """What waits for segments that cannot be read as they are: their offsets, and those of
        transactions that may have ended there, which nobody has to guess. Merged."""
        unread = unread_offsets(self.replica, self.other_replicas)
        doubts = ((found.start_offset, found.next_offset) for found in self.bounds.unknown_outcomes)
        unsettled = [doubt for doubt in doubts if subtracted(doubt, unread) != [doubt]]
        return tuple(merged([*unread, *unsettled]))
