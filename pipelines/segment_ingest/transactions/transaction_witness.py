"""What other copies of a log tell of transactions where the one that is read is damaged. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.segment_ingest.planning.coverage import OffsetRange, merged
from pipelines.segment_ingest.same_logs.replicas import Sibling
from pipelines.segment_ingest.surveying.survey_values import DataSpan
from pipelines.segment_ingest.transactions.transaction_evidence import Damage
from segment_codec.transactions import Marker

Event = Marker | DataSpan


@dataclass(frozen=True, slots=True)
class Witness:
    """Where a copy has the same log without damage, and the transactions in all of it."""

    sound: tuple[OffsetRange, ...]
    events: tuple[Event, ...]

    def has_seen(self, damage: Damage) -> bool:
        """Whether nothing that the damage hides is hidden here."""
        return any(
            start <= damage.start_offset and damage.next_offset <= stop
            for start, stop in self.sound
        )

    def inside(self, damage: Damage) -> list[Event]:
        """What the damage hides."""
        hidden = range(damage.start_offset, damage.next_offset)
        return [
            event._replace(is_read=False) if isinstance(event, Marker) else event
            for event in self.events
            if event.offset in hidden
        ]


def witness_of(sibling: Sibling) -> Witness:
    """A copy as a witness, up to where it is the same log."""
    segments = sibling.replica.segments
    found: list[OffsetRange] = []
    for file, survey in zip(
        segments[len(segments) - len(sibling.surveys) :], sibling.surveys, strict=True
    ):
        if survey.missing is not None:
            continue
        cursor = file.base_offset if survey.walk_offset is None else survey.walk_offset
        for span in survey.damage:
            found.append((cursor, span.start_offset))
            cursor = survey.next_offset if span.next_offset is None else span.next_offset
        found.append((cursor, survey.next_offset))
    limit = sibling.common_next_offset
    sound = [(start, min(stop, limit)) for start, stop in merged(found) if start < limit]
    events = [event for survey in sibling.surveys for event in survey.events]
    return Witness(tuple(sound), tuple(sorted(events, key=lambda event: event.offset)))


def settled_by(
    witnesses: Sequence[Witness], damage: Iterable[Damage]
) -> tuple[list[Damage], list[Event]]:
    """The damage of which no copy knows what it hides, and what the rest of it hides."""
    left: list[Damage] = []
    known: list[Event] = []
    for each in damage:
        witness = next((witness for witness in witnesses if witness.has_seen(each)), None)
        if witness is None:
            left.append(each)
        else:
            known += witness.inside(each)
    return left, known
