"""Searches copies for offsets that the lake lacks, and plans the repairs."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import not_
from typing import Any, NamedTuple

from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.repair.gap_neighbours import goes_on, is_contradicted
from seglake.ingest_steps.repair.own_ends import with_own_ends
from seglake.ingest_steps.repair.repair_plan import (
    CandidateReplica,
    known_log,
    repair_plans,
)
from seglake.ingest_steps.repair.repair_result import PlannedFill, RepairResult
from seglake.ingest_steps.repair.repair_sources import RepairSource
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.ingest_steps.repair.resolutions import (
    is_inside_batch,
    is_misplaced,
    is_sound_outside,
    region_of,
)
from seglake.ingest_steps.repair.transaction_contradictions import lake_markers
from seglake.ingest_steps.repair.transaction_files import read_end_files
from seglake.kafka_log.replica import PartitionKey, RemoteGap
from seglake.kafka_log.transactions.missing_markers import MissingMarkers, missing_markers
from seglake.printable import show_count
from seglake.segment_decoding.gap_search_values import (
    FoundSpan,
    Refused,
    Searched,
    SearchRequest,
)
from seglake.segment_decoding.task_functions import search

_MOST_INLINE_BYTES = 64 << 20


class FoundRepairs(NamedTuple):
    """Repairs for which copies have the missing offsets.

    Attributes:
        ranges: ranges to commit.
        result: the planned fills, and what was found on gaps that are not filled.
    """

    ranges: tuple[RangePlan, ...]
    result: RepairResult


def found_repairs(
    copies: Sequence[RepairSource], state: RepairState, notes: Iterable[str], *, is_replay: bool
) -> FoundRepairs:
    """Search the copies, and plan the repairs.

    Args:
        copies: the copies with the gaps that they may fill.
        state: the lake before the repair.
        notes: notes on copies that fill nothing; the search adds to them.
        is_replay: whether batches that failed to decode before are decoded again.
    """
    notes = [*notes]
    found = _searched([_request(copy, state, is_replay=is_replay) for copy in copies], state)
    candidates: dict[PartitionKey, list[CandidateReplica]] = {}
    unread: dict[str, list[str]] = {}
    absent: dict[PartitionKey, list[RemoteGap]] = {}
    for copy, searched in zip(copies, found, strict=True):
        name = str(copy.key)
        if searched.unread:
            unread.setdefault(name, []).append(searched.unread)
        absent.setdefault(copy.key, []).extend(searched.absent)
        if searched.spans:
            candidate = _candidate(copy, searched, state, notes)
            candidates.setdefault(copy.key, []).append(candidate)
    ranges, fills = _planned(candidates, state, notes)
    reasons = {name: "; ".join(texts) for name, texts in unread.items()}
    result = RepairResult(
        planned_fills=tuple(fills), notes=tuple(notes), unread=reasons, absent=absent
    )
    return FoundRepairs(tuple(ranges), result)


def _candidate(
    copy: RepairSource, searched: Searched, state: RepairState, notes: list[str]
) -> CandidateReplica:
    """Return a copy's batches for gaps, except gaps next to which copy and lake differ."""
    asked = {span.gap_index for span in searched.spans}
    other = {index for index in asked if is_contradicted(copy, copy.gaps[index], state)}
    if other:
        notes.append(
            f"{copy.key}: {show_count(len(other), 'gap')} not filled from "
            f"{copy.replica.folder}, which has other batches next to them than the lake"
        )
    inside = [region_of(row) for row in state.damage.get(copy.key, []) if is_inside_batch(row)]

    def is_offered(span: FoundSpan) -> bool:
        requested = copy.requested[span.gap_index]
        is_inside = any(start < requested[1] and requested[0] < stop for start, stop in inside)
        return span.gap_index not in other and all(
            goes_on(crossing, copy.key, state, is_inside=is_inside) for crossing in span.crossings
        )

    offered = [is_offered(span) for span in searched.spans]
    others = compress(searched.spans, map(not_, offered))
    return CandidateReplica(
        copy,
        tuple(compress(searched.spans, offered)),
        (*searched.unused, *((span.gap_index, span.offsets) for span in others)),
    )


def _request(copy: RepairSource, state: RepairState, *, is_replay: bool) -> SearchRequest:
    of_broker = copy.replica.broker_id
    damage = [row for row in state.damage.get(copy.key, []) if row["broker_id"] == of_broker]
    settings = state.context.settings
    return SearchRequest(
        storage=state.context.storage,
        files=copy.files,
        gaps=copy.requested,
        weak=tuple(gap.lacks_evidence for gap in copy.gaps),
        stop_offset=copy.stop_offset,
        leader_epochs=copy.leader_epochs,
        misplaced=_refused(row for row in damage if is_misplaced(row)),
        faulty=_refused(row for row in damage if is_sound_outside(row)),
        is_replay=is_replay,
        most_decoded_bytes=settings.limits.max_decompressed_batch_bytes,
        window_bytes=settings.read.window_bytes,
    )


# Any: a row's columns have many types.
def _refused(rows: Iterable[Mapping[str, Any]]) -> frozenset[Refused]:
    return frozenset(
        Refused(row["segment"], row["position"], row["last_offset"])
        for row in rows
        if row["last_offset"] is not None
    )


def _searched(requests: Sequence[SearchRequest], state: RepairState) -> list[Searched]:
    sizes = [request.read_bytes for request in requests]
    return state.context.reporter.run_tasks(
        state.context.engine,
        search,
        requests,
        sizes=sizes,
        text="looking for missing offsets in other replicas",
        is_small=sum(sizes) <= _MOST_INLINE_BYTES,
    )


def _planned(
    candidates: Mapping[PartitionKey, Sequence[CandidateReplica]],
    state: RepairState,
    notes: list[str],
) -> tuple[list[RangePlan], list[PlannedFill]]:
    context, ranges = state.context, list[RangePlan]()
    fills: list[PlannedFill] = []
    for key, of_key in candidates.items():
        has_events = any(span.events for candidate in of_key for span in candidate.spans)
        ledger = state.ledger.of(key)
        markers = lake_markers(ledger, context) if has_events else []
        # The log cleaner may have removed end markers from the ingested log.
        cleaned = state.compacted(key) if has_events else []
        log = known_log(of_key, state.gaps[key], markers, ledger.current, cleaned)
        lost = MissingMarkers()
        if log.waiting:
            copies = [candidate.copy for candidate in of_key if candidate.spans]
            lost = missing_markers(log, read_end_files(copies, log, context.storage))
            notes += lost.notes
            lost = with_own_ends(lost, log, of_key, context)
        reads_undecided = context.settings.reads_undecided
        plans = repair_plans(of_key, state.gaps[key], log, lost, reads_undecided=reads_undecided)
        ranges += plans.ranges
        fills += [
            PlannedFill(str(key), plan.start_offset, plan.next_offset, count)
            for plan, count in zip(plans.ranges, plans.filled_offsets, strict=True)
            if count
        ]
        if plans.unsettled_offsets:
            notes.append(
                f"{key}: {show_count(plans.unsettled_offsets, 'offset')} of transactions stay "
                "gaps, since their end markers may be missing"
            )
    return ranges, fills
