"""A partition of which all is known that a plan needs. A value."""

from dataclasses import dataclass

from seglake.kafka_log.log_bounds import LogBounds
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.kafka_log.replica_selection import OtherReplica, PartitionChoice, sound_end
from seglake.kafka_log.segment_survey import EndDamage, SegmentSurvey
from seglake.kafka_log.unread_segments import unread_offsets


@dataclass(frozen=True, slots=True)
class SurveyedPartition:
    """One partition, ready to be planned: the replica that is read, and what bounds its log."""

    choice: PartitionChoice
    bounds: LogBounds
    covered: tuple[OffsetRange, ...]

    @property
    def key(self) -> PartitionKey:
        return self.choice.chosen.key

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
