"""Chooses the copies that fill the parts of a gap.

A repair covers the whole gap: found records become rows, and offsets that are still missing are
recorded as gaps again.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.ingest_steps.planning.plan import RangePlan, RemainingGap
from seglake.ingest_steps.repair.repair_sources import RepairSource
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.segment_survey import DataSpan
from seglake.kafka_log.transaction_markers import Marker, Markers
from seglake.kafka_log.transactions.missing_markers import KnownLog, MissingMarkers
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.ledger_layers import RangeKind
from seglake.segment_codec.walk.segment_bounds import limit_after
from seglake.segment_decoding.gap_search_values import FoundSpan
from seglake.segment_decoding.tasks import PartitionSplit, SegmentSplit


class CandidateReplica(NamedTuple):
    """Batches of one copy that may fill gaps; spans name segments and gaps by their indexes.

    Attributes:
        unused: further offsets that the copy may have, but that fill nothing, each with the index
            of its gap.
    """

    copy: RepairSource
    spans: tuple[FoundSpan, ...]
    unused: tuple[tuple[int, OffsetRange], ...] = ()


class _Choice(NamedTuple):
    """Span that fills a part of a gap; `unused` are the gap's offsets that the copy leaves open."""

    copy: RepairSource
    span: FoundSpan
    unused: Sequence[OffsetRange]

    @property
    def gap(self) -> CurrentGap:
        return self.copy.gaps[self.span.gap_index]


class Plans(NamedTuple):
    """Repairs of one partition.

    Attributes:
        ranges: the ranges to commit.
        filled_offsets: number of offsets that valid batches span, by range.
        unsettled_offsets: number of found offsets of transactions whose outcome is unknown.
    """

    ranges: tuple[RangePlan, ...]
    filled_offsets: tuple[int, ...]
    unsettled_offsets: int


def known_log(
    candidates: Sequence[CandidateReplica],
    gaps: Sequence[CurrentGap],
    markers: Iterable[Marker],
    covered: Sequence[OffsetRange],
    cleaned: Sequence[OffsetRange] = (),
) -> KnownLog:
    """Combine the offsets and markers of one partition in the lake and in the candidate copies.

    Args:
        candidates: batches of copies that may fill gaps.
        gaps: all gaps of the partition.
        markers: all markers of the partition in the lake.
        covered: merged ranges that the lake covers.
        cleaned: offsets that the log cleaner had removed before the ingest; a marker may have been
            at one of these offsets.
    """
    events = [
        event for candidate in candidates for span in candidate.spans for event in span.events
    ]
    known = sorted({*markers, *(event for event in events if isinstance(event, Marker))})
    between = subtracted((covered[0][0], covered[-1][1]), covered)
    holes = merged([*_holes_left(candidates, gaps), *between, *cleaned])
    log = KnownLog(
        key=gaps[0].key,
        markers=tuple(known),
        ends=Markers(known),
        holes=tuple(holes),
        covered_offset=covered[-1][1],
        waiting=(),
        cleaned=tuple(merged(cleaned)),
    )
    data = {event for event in events if isinstance(event, DataSpan)}
    return log._replace(waiting=tuple(sorted(span for span in data if log.holes_after(span))))


def repair_plans(
    candidates: Sequence[CandidateReplica],
    gaps: Iterable[CurrentGap],
    log: KnownLog,
    lost: MissingMarkers,
    *,
    reads_undecided: bool,
) -> Plans:
    """Return the ranges that repair the gaps of one partition, ordered by offset.

    A batch of a transaction is ingested only if no offset is missing between it and the next
    marker, or if the outcome is proved: otherwise the true end marker may be missing.

    Args:
        candidates: batches of copies that may fill gaps.
        gaps: all gaps of the partition.
        log: the known markers and holes.
        lost: proved outcomes.
        reads_undecided: whether to ingest a batch even if no known marker ends its transaction.
    """
    markers = tuple(sorted({*log.markers, *lost.markers}))
    by_gap: dict[CurrentGap, list[list[_Choice]]] = {}
    unsettled = 0
    for candidate in candidates:
        copy, settled, others = candidate.copy, list[FoundSpan](), list[FoundSpan]()
        for span in candidate.spans:
            is_settled = _is_settled(span, log, lost, reads_undecided=reads_undecided)
            (settled if is_settled else others).append(span)
            if not is_settled and copy.gaps[span.gap_index].cause is not GapCause.UNDECIDED:
                unsettled += span.sound_offsets
        open_spans = ((span.gap_index, span.offsets) for span in others)
        unused = grouped((*candidate.unused, *open_spans))
        choices = [_Choice(copy, span, unused.get(span.gap_index, ())) for span in settled]
        for gap, of_gap in grouped((choice.gap, choice) for choice in choices).items():
            by_gap.setdefault(gap, []).append(of_gap)
    gaps_filled = sorted(by_gap, key=lambda gap: gap.start_offset)
    chosen = [_chosen(gap, by_gap[gap]) for gap in gaps_filled]
    return Plans(
        tuple(
            _plan(gap, choices, markers) for gap, choices in zip(gaps_filled, chosen, strict=True)
        ),
        tuple(sum(found.span.sound_offsets for found in choice) for choice in chosen),
        unsettled,
    )


def _holes_left(
    candidates: Sequence[CandidateReplica], gaps: Iterable[CurrentGap]
) -> list[OffsetRange]:
    """Return the parts of the gaps of which no copy has batches."""
    found = merged(
        (span.first_offset if span.base_offset is None else span.base_offset, span.next_offset)
        for candidate in candidates
        for span in candidate.spans
        if span.is_whole
    )
    return [hole for gap in gaps for hole in subtracted(gap.offsets, found)]


def _is_settled(
    span: FoundSpan, log: KnownLog, lost: MissingMarkers, *, reads_undecided: bool
) -> bool:
    """Return whether each transaction in a span has a known outcome, or needs none."""
    data = [event for event in span.events if isinstance(event, DataSpan)]
    ends = [log.ends.next_marker(event.producer_id, event.offset) for event in data]
    return all(
        event in lost.settled or (reads_undecided if end is None else not log.holes_after(event))
        for event, end in zip(data, ends, strict=True)
    )


def _chosen(gap: CurrentGap, by_copy: Sequence[list[_Choice]]) -> list[_Choice]:
    """Return the spans of the copy with the most records, and other copies' spans between them.

    If the cause of a gap is unproved, only one replica is used, because it must show which offsets
    are missing. The next repair ingests the other replicas' records.
    """
    ranked = sorted(
        by_copy, key=lambda choices: -sum(choice.span.record_count for choice in choices)
    )
    if gap.lacks_evidence:
        return ranked[0]
    chosen: list[_Choice] = []
    for choice in (choice for choices in ranked for choice in choices):
        if all(_is_apart(choice.span, other.span) for other in chosen):
            chosen.append(choice)
    return sorted(chosen, key=lambda choice: choice.span.first_offset)


def _is_apart(one: FoundSpan, other: FoundSpan) -> bool:
    return one.next_offset <= other.first_offset or other.next_offset <= one.first_offset


def _plan(gap: CurrentGap, choices: Sequence[_Choice], markers: tuple[Marker, ...]) -> RangePlan:
    replica = choices[0].copy.replica
    log_start = replica.log_start_offset
    explained = _explained_ranges(choices[0]) if gap.lacks_evidence else ()
    return RangePlan(
        key=gap.key,
        start_offset=gap.start_offset,
        next_offset=gap.next_offset,
        splits=tuple(_split(gap, choice, markers) for choice in choices),
        log_start_offset=log_start,
        remote_offset=log_start,
        first_log_start_offset=log_start,
        cleaner_offset=replica.checkpoints.cleaner_offset or 0,
        remaining_gap=RemainingGap(gap.cause, explained),
        kind=RangeKind.REPAIR,
    )


def _explained_ranges(choice: _Choice) -> Sequence[OffsetRange]:
    """Return the parts of a gap whose cause the chosen copy shows.

    The copy may have further records at the offsets that it leaves open, so these keep the gap's
    cause: a copy of which the cleaner has removed neighbours does not show that they are compacted.
    """
    return subtracted(choice.copy.requested[choice.span.gap_index], merged(choice.unused))


def _split(gap: CurrentGap, choice: _Choice, markers: tuple[Marker, ...]) -> PartitionSplit:
    copy, span = choice.copy, choice.span
    file = copy.files[span.file_index]
    is_last = span.file_index + 1 == len(copy.files)
    limit = (
        limit_after(file.base_offset, max(gap.next_offset, copy.replica.durable_offset))
        if is_last
        else copy.files[span.file_index + 1].base_offset
    )
    cleaner_offset = copy.replica.checkpoints.cleaner_offset or 0
    begun = gap.start_offset if span.base_offset is None else span.base_offset
    piece = SegmentSplit(
        file=file,
        start=span.start,
        stop=span.stop,
        limit_offset=limit,
        expected_offset=min(gap.start_offset, begun),
        start_crc=-1,
        is_last=is_last,
        is_cleaned=file.base_offset < cleaner_offset,
        is_compacted=limit <= cleaner_offset,
        is_plain=False,
    )
    return PartitionSplit(
        key=gap.key,
        broker_id=copy.replica.broker_id,
        segment_splits=(piece,),
        range_start=gap.start_offset,
        range_next=gap.next_offset,
        log_start_offset=copy.replica.log_start_offset,
        durable_offset=gap.next_offset,
        is_plain=False,
        markers=markers,
        gap_cause=None if gap.lacks_evidence else gap.cause,
        cuts_end=True,
    )
