"""Searches copies for what the lake lacks, and plans the repairs. Effect: reads."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pipelines.segment_ingest.execute import RunContext
from pipelines.segment_ingest.planning.plan import RangePlan
from pipelines.segment_ingest.progress import show_count
from pipelines.segment_ingest.repairing.copies import Copy
from pipelines.segment_ingest.repairing.end_files import read_end_files
from pipelines.segment_ingest.repairing.gap_neighbours import goes_on, is_contradicted
from pipelines.segment_ingest.repairing.lost_ends import LostEnds, lost_ends
from pipelines.segment_ingest.repairing.repair_plan import Offer, known_log, repair_plans
from pipelines.segment_ingest.repairing.repair_search import search
from pipelines.segment_ingest.repairing.repair_state import RepairState
from pipelines.segment_ingest.repairing.resolutions import is_misplaced, is_sound_outside
from pipelines.segment_ingest.repairing.search_values import FoundSpan, Refused, SearchRequest
from pipelines.segment_ingest.repairing.settlements import lake_markers
from pipelines.segment_ingest.same_logs.taken_batches import TakenBatches
from pipelines.segment_ingest.sources.partition_log import PartitionKey

_MOST_INLINE_BYTES = 64 << 20


class FoundRepairs(NamedTuple):
    """What copies have of the gaps.

    Attributes:
        ranges: what is to be committed.
        filled_gaps, filled_offsets: how many of them hold sound batches, and what these span.
        notes: what a person should know of what is not filled.
    """

    ranges: tuple[RangePlan, ...]
    filled_gaps: int
    filled_offsets: int
    notes: tuple[str, ...]


def found_repairs(
    copies: Sequence[Copy], state: RepairState, context: RunContext, *, is_replay: bool
) -> FoundRepairs:
    """Search the copies.

    Args:
        is_replay: also look at batches that failed inside before, and take those that decode now.
    """
    requests = [_request(copy, state, context, is_replay=is_replay) for copy in copies]
    found = _searched(requests, context)
    taken = TakenBatches(context.tables, context.source_id, state.coverage)
    notes: list[str] = []
    offers: dict[PartitionKey, list[Offer]] = {}
    for copy, spans in zip(copies, found, strict=True):
        if spans:
            offer = _offer(copy, spans, state, taken, context, notes)
            offers.setdefault(copy.gaps[0].key, []).append(offer)
    return _planned(offers, state, context, notes)


def _offer(
    copy: Copy,
    spans: Sequence[FoundSpan],
    state: RepairState,
    taken: TakenBatches,
    context: RunContext,
    notes: list[str],
) -> Offer:
    """What a copy has in gaps whose neighbours are the same batches there and in the lake."""
    window_bytes = context.settings.read.window_bytes
    other = {
        index
        for index in {span.gap_index for span in spans}
        if is_contradicted(copy, copy.gaps[index], taken, context.storage, window_bytes)
    }
    if other:
        notes.append(
            f"{copy.gaps[0].key}: {show_count(len(other), 'gap')} not filled from "
            f"{copy.replica.folder}, which has other batches beside it than the lake"
        )
    gaps = state.gaps[copy.gaps[0].key]
    offered = (
        span
        for span in spans
        if span.gap_index not in other
        and all(goes_on(each, gaps, taken, state.coverage) for each in span.crossings)
    )
    return Offer(copy, tuple(offered))


def _request(
    copy: Copy, state: RepairState, context: RunContext, *, is_replay: bool
) -> SearchRequest:
    damage = [
        row
        for row in state.damage.get(copy.gaps[0].key, [])
        if row["broker_id"] == copy.replica.broker_id
    ]
    return SearchRequest(
        context.storage,
        copy.files,
        copy.wanted,
        tuple(gap.is_weak for gap in copy.gaps),
        copy.stop_offset,
        copy.lineage,
        _refused(row for row in damage if is_misplaced(row)),
        _refused(row for row in damage if is_sound_outside(row)),
        is_replay,
        context.settings.limits.max_decompressed_batch_bytes,
        context.settings.read.window_bytes,
    )


# Any: the columns of a row have many types.
def _refused(rows: Iterable[Mapping[str, Any]]) -> frozenset[Refused]:
    return frozenset(
        Refused(row["segment"], row["position"], row["last_offset"])
        for row in rows
        if row["last_offset"] is not None
    )


def _searched(requests: Sequence[SearchRequest], context: RunContext) -> list[list[FoundSpan]]:
    groups = [(request,) for request in requests]
    if sum(request.read_bytes for request in requests) <= _MOST_INLINE_BYTES:
        answers = [search(group) for group in groups]  # sooner done than an engine starts
    else:
        context.engine.start()
        context.reporter.step("looking for missing offsets in other copies")
        answers = context.engine.run(search, groups, on_done=lambda index: None)
    return [answer[0] for answer in answers]


def _planned(
    offers: Mapping[PartitionKey, Sequence[Offer]],
    state: RepairState,
    context: RunContext,
    notes: list[str],
) -> FoundRepairs:
    ranges: list[RangePlan] = []
    filled_gaps = filled_offsets = 0
    for key, own in offers.items():
        has_transactions = any(span.events for offer in own for span in offer.spans)
        markers = lake_markers(key, state.coverage, context) if has_transactions else []
        log = known_log(own, state.gaps[key], markers, state.coverage.ranges(key))
        lost = LostEnds()
        if log.waiting:
            copies = [offer.copy for offer in own if offer.spans]
            lost = lost_ends(log, read_end_files(copies, log, context.storage))
            notes += lost.notes
        plans = repair_plans(own, state.gaps[key], log, lost)
        ranges += plans.ranges
        filled_gaps += sum(offsets > 0 for offsets in plans.filled_offsets)
        filled_offsets += sum(plans.filled_offsets)
        if plans.unsettled_offsets:
            notes.append(
                f"{key}: {show_count(plans.unsettled_offsets, 'offset')} of transactions stay "
                "gaps, since what is missing may be how they ended"
            )
    return FoundRepairs(tuple(ranges), filled_gaps, filled_offsets, tuple(notes))
