"""Finds markers and transactional data in other copies to replace damage in the copy read."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from seglake.kafka_log.offset_ranges import OffsetRange, merged
from seglake.kafka_log.replica_selection import OtherReplica
from seglake.kafka_log.segment_survey import Event
from seglake.kafka_log.transaction_markers import Marker
from seglake.kafka_log.transactions.transaction_evidence import DamagedRange


class ReplicaEvidence(NamedTuple):
    """Another copy's undamaged ranges of the shared log, with markers and transactional data."""

    sound: tuple[OffsetRange, ...]
    events: tuple[Event, ...]

    def covers(self, damage: DamagedRange) -> bool:
        """Return whether this copy is undamaged at all damaged offsets."""
        return any(
            start <= damage.start_offset and damage.next_offset <= stop
            for start, stop in self.sound
        )

    def inside(self, damage: DamagedRange) -> list[Event]:
        """Return this copy's data and markers at the damaged offsets, with `is_read=False`."""
        hidden = damage.offsets
        return [
            event._replace(is_read=False) if isinstance(event, Marker) else event
            for event in self.events
            if event.offset in hidden
        ]


def evidence_of(other: OtherReplica) -> ReplicaEvidence:
    """Return the evidence in another replica, up to the end of the shared log."""
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
    evidence: Sequence[ReplicaEvidence], damage: Iterable[DamagedRange]
) -> tuple[list[DamagedRange], list[Event]]:
    """Return the damage that no copy covers, and the other copies' events for the rest.

    Args:
        evidence: undamaged ranges, markers and transactional data of other copies.
        damage: damaged ranges of the copy that is read.
    """
    left: list[DamagedRange] = []
    known: list[Event] = []
    for span in damage:
        witness = next((witness for witness in evidence if witness.covers(span)), None)
        if witness is None:
            left.append(span)
        else:
            known += witness.inside(span)
    return left, known
