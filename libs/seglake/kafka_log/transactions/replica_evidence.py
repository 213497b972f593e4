"""Facts from other copies of a log about transactions in damaged ranges. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica_selection import OtherReplica
from seglake.kafka_log.segment_survey import Event
from seglake.kafka_log.transaction_markers import Marker
from seglake.kafka_log.transactions.transaction_evidence import Damage


@dataclass(frozen=True, slots=True)
class ReplicaEvidence:
    """Undamaged ranges that a copy shares with the log that is read, and all events in the copy."""

    sound: tuple[OffsetRange, ...]
    events: tuple[Event, ...]

    def covers(self, damage: Damage) -> bool:
        """Return whether the copy has all damaged offsets undamaged."""
        return any(
            start <= damage.start_offset and damage.next_offset <= stop
            for start, stop in self.sound
        )

    def inside(self, damage: Damage) -> list[Event]:
        """Return the copy's events at the damaged offsets; its markers count as not read."""
        hidden = damage.offsets
        return [
            event._replace(is_read=False) if isinstance(event, Marker) else event
            for event in self.events
            if event.offset in hidden
        ]


def evidence_of(other: OtherReplica) -> ReplicaEvidence:
    """Return the evidence of another replica, up to the end of the shared log."""
    segments = other.replica.segments
    found: list[OffsetRange] = []
    for file, survey in zip(
        segments[len(segments) - len(other.surveys) :], other.surveys, strict=True
    ):
        if survey.missing is not None:
            continue
        cursor = file.base_offset if survey.walk_offset is None else survey.walk_offset
        for span in survey.transactions.damage:
            found.append((cursor, span.start_offset))
            cursor = survey.next_offset if span.next_offset is None else span.next_offset
        found.append((cursor, survey.next_offset))
    limit = other.common_next_offset
    sound = [(start, min(stop, limit)) for start, stop in merged(found) if start < limit]
    events = [event for survey in other.surveys for event in survey.transactions.events]
    return ReplicaEvidence(tuple(sound), tuple(sorted(events, key=attrgetter("offset"))))


def resolve_from_replicas(
    evidence: Sequence[ReplicaEvidence], damage: Iterable[Damage]
) -> tuple[list[Damage], list[Event]]:
    """Return the damage that no copy covers, and the events in the damage that copies cover.

    Args:
        evidence: facts from other copies.
        damage: damaged ranges of the log that is read.
    """
    left: list[Damage] = []
    known: list[Event] = []
    for span in damage:
        witness = next((witness for witness in evidence if witness.covers(span)), None)
        if witness is None:
            left.append(span)
        else:
            known += witness.inside(span)
    return left, known
