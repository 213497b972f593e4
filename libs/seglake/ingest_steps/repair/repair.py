"""Fills gaps of the lake from copies that have the damaged or missing records.

A repair runs at the end of every ingest, so the result is the same whether a replica is given in
the same run or in a later one. Nothing is read unless the lake has a gap that a given replica could
fill.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.ingest_steps.committing.concurrent_ranges import (
    ConcurrentRange,
    concurrent_ranges,
)
from seglake.ingest_steps.committing.range_result import RangeResult, by_partition
from seglake.ingest_steps.committing.wave import WaveResult
from seglake.ingest_steps.repair.deleted_gaps import deleted_gaps
from seglake.ingest_steps.repair.left_in_copies import with_left_in_copies
from seglake.ingest_steps.repair.refill import (
    NOTHING_OWN,
    OwnRanges,
    expected_refill,
    refill,
)
from seglake.ingest_steps.repair.repair_candidates import FoundRepairs, found_repairs
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.repair.repair_sources import RepairSource, repair_sources
from seglake.ingest_steps.repair.repair_state import RepairState, repair_state
from seglake.ingest_steps.repair.resolution_files import commit_fills
from seglake.ingest_steps.repair.transaction_contradictions import settled_otherwise
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.log_tables.current_gaps import CurrentGap
from seglake.printable import show_count

_LOG = logging.getLogger(__name__)
_BELOW_START = (GapCause.DELETED, GapCause.DELETED_OR_LOST)
# most rounds of repair; a round may use other copies for the gaps that the previous one left
_MOST_ROUNDS = 3

Gaps = Mapping[PartitionKey, Sequence[CurrentGap]]
KeptSources = Callable[[RepairState], AbstractContextManager[Sequence[RepairSource]]]
"""Function that opens further sources of batches than replicas on disks, in a `with` block."""


class _Filled(NamedTuple):
    """Result of one round of repairs.

    Attributes:
        found: the repairs that the copies offer.
        done: the commits.
        concurrent: ranges to repair that another run committed first.
        mended: number of damaged spans that this run both recorded and filled, by partition.
    """

    found: FoundRepairs
    done: WaveResult
    concurrent: tuple[ConcurrentRange, ...] = ()
    mended: Mapping[str, int] = MappingProxyType({})


def repair(
    replicas: Collection[Replica],
    context: RunContext,
    *,
    topics: Iterable[str] = (),
    own: OwnRanges = NOTHING_OWN,
    unmoved: Collection[PartitionKey] = (),
    kept: KeptSources | None = None,
) -> RepairResult:
    """Fill the lake's gaps from replicas, and return the gaps that remain.

    A dry run commits nothing.

    Args:
        replicas: the replicas to search.
        context: the run.
        topics: further topics whose remaining gaps to return, besides the topics of the replicas.
        own: ranges that this run ingested from each replica.
        unmoved: partitions whose replicas are unchanged since an earlier run searched them.
        kept: function that opens quarantined batches; None unless the run is a replay. Used only in
            a dry run; else `repair_from` fills the gaps from quarantined batches.
    """
    surveyed = {*topics, *(replica.key.topic for replica in replicas)}
    if not surveyed:
        return RepairResult()
    state = repair_state(context, surveyed, replicas)
    if context.is_dry_run:
        return _expected(state, unmoved, kept)
    rounds: list[_Filled] = []
    while len(rounds) < _MOST_ROUNDS:
        own_part = _without_refills(state)
        # The first round may add a transaction's end marker, so later rounds search all gaps again.
        gaps = own_part.gaps if rounds else _gaps_to_search(own_part, unmoved)
        rounds.append(_fill(_found(own_part, gaps, (), is_replay=kept is not None), own_part))
        if not rounds[-1].done.committed and not rounds[-1].done.lost:
            break
        state = state.renewed()
    result, state = _with_deleted_gaps(_result(rounds, context), state)
    if context.settings.read.older_copies:
        return refill(result, state, own)
    return with_left_in_copies(result, state, own, unmoved)


def _with_deleted_gaps(
    result: RepairResult, state: RepairState
) -> tuple[RepairResult, RepairState]:
    """Record gaps `remote` as deleted if the cluster has deleted their offsets meanwhile."""
    notes: list[str] = []
    plans = deleted_gaps(state, notes)
    if plans:
        done, _ = commit_fills(plans, {}, state.gaps, state)
        state = state.renewed()
        result = replace(
            result,
            notes=(*result.notes, *([] if done.lost else notes)),
            written_bytes=result.written_bytes + done.written_bytes,
        )
    return replace(result, standing=state.gaps), state


def repair_from(kept: KeptSources, topics: Iterable[str], context: RunContext) -> RepairResult:
    """Fill gaps from quarantined batches that decode now.

    Args:
        kept: provides the batches.
        topics: the topics to repair.
        context: the run.
    """
    state = repair_state(context, {*topics})
    with kept(state) as more:
        return _result([_fill(_found(state, {}, more, is_replay=True), state)], context)


def _expected(
    state: RepairState, unmoved: Collection[PartitionKey], kept: KeptSources | None
) -> RepairResult:
    """Return the current gaps that repairs would fill."""
    state = _without_refills(state)
    with nullcontext(()) if kept is None else kept(state) as more:
        found = _found(state, _gaps_to_search(state, unmoved), more, is_replay=kept is not None)
    planned = replace(found.result, standing=state.gaps)
    if state.context.settings.read.older_copies:
        return expected_refill(planned, state, state.folders)
    return with_left_in_copies(planned, state, NOTHING_OWN, unmoved)


def _found(
    state: RepairState, gaps: Gaps, more: Iterable[RepairSource], *, is_replay: bool
) -> FoundRepairs:
    """Search the copies, and further sources, for records of these gaps."""
    notes: list[str] = []
    copies = [*repair_sources(state.readable, gaps, state, notes), *more]
    return found_repairs(copies, state, notes, is_replay=is_replay)


def _gaps_to_search(state: RepairState, unmoved: Collection[PartitionKey]) -> Gaps:
    """Return the gaps, except undecided transactions of partitions whose copies are unchanged."""
    if state.context.settings.reads_undecided:
        return state.gaps
    asked = set(map(state.ledger.joined_key, unmoved))
    return _gaps_if(state, lambda gap: gap.key not in asked or gap.cause is not GapCause.UNDECIDED)


def _without_refills(state: RepairState) -> RepairState:
    """Return the state without the gaps that a refill can fill.

    A refill uses only offsets below a copy's high watermark. A copy without a known high watermark
    can only repair, so its gaps are kept.
    """
    read = state.context.settings.read
    if not read.older_copies:
        return state
    unbounded = {
        key
        for key, copies in state.copies.items()
        if read.upper_bound is not UpperBound.LOG_END
        and any(copy.checkpoints.high_watermark is None for copy in copies)
    }
    gaps = _gaps_if(
        state,
        lambda gap: (
            gap.cause is not GapCause.UNDECIDED
            and (gap.cause not in _BELOW_START or gap.key in unbounded)
        ),
    )
    return replace(state, gaps=gaps)


def _gaps_if(state: RepairState, is_chosen: Callable[[CurrentGap], bool]) -> Gaps:
    gaps = {key: [*filter(is_chosen, of_key)] for key, of_key in state.gaps.items()}
    return {key: of_key for key, of_key in gaps.items() if of_key}


def _fill(found: FoundRepairs, state: RepairState) -> _Filled:
    """Commit the repairs that were found; the ledger gets ranges of kind `repair`."""
    gaps = sum(map(len, state.gaps.values()))
    _LOG.debug("search ended: gaps=%d to_fill=%d", gaps, len(found.ranges))
    if not found.ranges:
        return _Filled(found, WaveResult())
    state.context.reporter.step(f"repairing {show_count(len(found.ranges), 'gap')}")
    done, mended = commit_fills(found.ranges, state.damage, state.gaps, state)
    lost = {topic: state.generations[topic] for topic in done.lost}
    return _Filled(found, done, tuple(concurrent_ranges(lost, state.context)), mended)


def _result(rounds: Sequence[_Filled], context: RunContext) -> RepairResult:
    results = [result for filled in rounds for result in filled.done.committed]
    unread = {name: why for filled in rounds for name, why in filled.done.left_out.items()}
    # Only the last round's reasons count: it has tried the unreadable copies again.
    unread |= rounds[-1].found.result.unread
    for topic in sorted(rounds[-1].done.lost):
        unread[topic] = f"{topic}: a concurrent run committed first; run again to fill its gaps"
    return RepairResult(
        rounds=tuple(filled.done.committed for filled in rounds),
        notes=tuple(note for filled in rounds for note in filled.found.result.notes),
        unread=unread,
        absent=rounds[-1].found.result.absent,
        contradicted=tuple(_contradicted(results, context)),
        concurrent=tuple(range_ for filled in rounds for range_ in filled.concurrent),
        written_bytes=sum(filled.done.written_bytes for filled in rounds),
        mended=sum((Counter(filled.mended) for filled in rounds), Counter()),
    )


def _contradicted(results: Iterable[RangeResult], context: RunContext) -> list[Finding]:
    """Return findings on transactions that earlier runs ingested with a wrong outcome."""
    repaired = by_partition(results)
    if not repaired:
        return []
    state = repair_state(context, {key.topic for key in repaired})
    found: list[Finding] = []
    for key, own in repaired.items():
        found += settled_otherwise(key, [result.offsets for result in own], state)
    return found
