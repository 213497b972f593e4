"""Fills gaps of the lake from copies that have what was damaged or missing. Effect.

Runs at the end of every ingest: whether a replica is given in the same run or in a later one makes
no difference. Nothing is read unless the lake has a gap that a replica at hand could fill.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.ingest_steps.committing.concurrent_ranges import (
    ConcurrentRange,
    concurrent_ranges,
)
from seglake.ingest_steps.committing.range_result import RangeResult, by_partition
from seglake.ingest_steps.committing.wave import WaveResult, planned_waves, run_waves
from seglake.ingest_steps.repair.left_in_copies import (
    NOTHING_LEFT,
    LeftInCopies,
    left_in_copies,
)
from seglake.ingest_steps.repair.refill import (
    NO_REFILL,
    NOTHING_OWN,
    OwnRanges,
    RefillResult,
    expected_refill,
    refill,
)
from seglake.ingest_steps.repair.repair_candidates import (
    FoundRepairs,
    PlannedFill,
    found_repairs,
)
from seglake.ingest_steps.repair.repair_sources import RepairSource, repair_sources_of
from seglake.ingest_steps.repair.repair_state import RepairState, repair_state
from seglake.ingest_steps.repair.resolution_files import Resolutions
from seglake.ingest_steps.repair.transaction_contradictions import settled_otherwise
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.log_tables.current_gaps import CurrentGap
from seglake.progress.run_reporter import show_count

_LOG = logging.getLogger(__name__)
_BELOW_START = (GapCause.DELETED, GapCause.DELETED_OR_LOST)
_MOST_ROUNDS = 3  # what one copy leaves, others may have

KeptSources = Callable[[RepairState], AbstractContextManager[Sequence[RepairSource]]]
"""Lays out, for as long as the block lasts, what may fill gaps besides replicas on a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """Rows that repairs added, or would add in a dry run.

    Attributes:
        rounds: filled gaps by round; later rounds may fill what earlier ones left.
        unread: reasons by partition that could not be read, and by topic another run ingested.
        contradicted: transactions that earlier runs ingested with another outcome.
        concurrent: ranges of the topics to repair that another run committed first.
        planned_fills: gaps that a dry run would fill.
        refills: records from older copies that the cleaner had removed.
        left: records that older copies still have, unrequested.
        standing: gaps of the lake after the repairs, without the cleaner's.
        mended: damage that this run recorded and whose offsets it filled, by partition.
    """

    rounds: tuple[tuple[RangeResult, ...], ...] = ()
    notes: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    contradicted: tuple[Finding, ...] = ()
    concurrent: tuple[ConcurrentRange, ...] = ()
    written_bytes: int = 0
    planned_fills: tuple[PlannedFill, ...] = ()
    refills: RefillResult = NO_REFILL
    left: LeftInCopies = NOTHING_LEFT
    standing: Mapping[PartitionKey, Sequence[CurrentGap]] = field(default_factory=dict)
    mended: Mapping[str, int] = field(default_factory=dict)

    @property
    def results(self) -> tuple[RangeResult, ...]:
        """Return the results of all rounds."""
        return tuple(result for done in self.rounds for result in done)


class _Filled(NamedTuple):
    """Result of one search: what was committed, and notes for a person."""

    done: WaveResult
    notes: tuple[str, ...]
    unread: Mapping[str, str]
    concurrent: tuple[ConcurrentRange, ...] = ()
    mended: Mapping[str, int] = MappingProxyType({})


def repair(
    replicas: Iterable[Replica],
    context: RunContext,
    *,
    is_replay: bool = False,
    own: OwnRanges = NOTHING_OWN,
    topics: Iterable[str] = (),
    unmoved: Collection[PartitionKey] = (),
) -> RepairResult:
    """Fill the lake's gaps from replicas of their partitions.

    Args:
        own: ranges that this run ingested from each replica.
        topics: further topics whose remaining gaps to return.
        is_replay: also decode quarantined batches again, and ingest those that decode now.
        unmoved: partitions whose copies are listed as an earlier run searched them.
    """
    listed = list(replicas)
    looked_at = {*topics, *(replica.key.topic for replica in listed)}
    if not looked_at:
        return RepairResult()
    rounds: list[_Filled] = []
    for _ in range(_MOST_ROUNDS):
        state = repair_state(context, looked_at, listed)
        own_part = _without_refills(state, listed, context)
        # The first round may fill in the marker that ended a transaction.
        gaps = own_part.gaps if rounds else _unasked(own_part, unmoved, context)
        copies = repair_sources_of(listed, gaps, state.ledger, context.settings)
        found = found_repairs(copies.candidates, own_part, context, is_replay=is_replay)
        rounds.append(_fill(found, own_part, context))
        if not rounds[-1].done.committed and not rounds[-1].done.lost:
            break
    else:
        state = repair_state(context, looked_at, listed)
    result = replace(_result(rounds, copies.notes, context), standing=state.gaps)
    if not context.settings.read.older_copies:
        return replace(result, left=left_in_copies(listed, state, context, own, unmoved))
    refills = refill(listed, context, own)
    if refills.results:
        result = replace(result, standing=repair_state(context, looked_at, listed).gaps)
    return _with(result, refills)


def repair_from(kept: KeptSources, topics: Iterable[str], context: RunContext) -> RepairResult:
    """Fill from these sources what decodes now."""
    state = repair_state(context, topics)
    with kept(state) as candidates:
        found = found_repairs(candidates, state, context, is_replay=True)
        filled = _fill(found, state, context)
    return _result([filled], (), context)


def expected_repairs(
    topics: Iterable[str],
    replicas: Iterable[Replica],
    context: RunContext,
    *,
    kept: KeptSources | None = None,
    unmoved: Collection[PartitionKey] = (),
) -> RepairResult:
    """Return the current gaps that repairs would fill; commit nothing.

    Args:
        kept: further sources of a replay.
        unmoved: partitions whose copies are listed as an earlier run searched them.
    """
    listed = list(replicas)
    state = _without_refills(repair_state(context, topics, listed), listed, context)
    gaps = _unasked(state, unmoved, context)
    copies = repair_sources_of(listed, gaps, state.ledger, context.settings)
    with nullcontext(()) if kept is None else kept(state) as more:
        both = [*copies.candidates, *more]
        found = found_repairs(both, state, context, is_replay=kept is not None)
    notes = (*copies.notes, *found.notes)
    planned = RepairResult(notes=notes, unread=found.unread, planned_fills=found.fills)
    if context.settings.read.older_copies:
        return _with(planned, expected_refill(listed, context) if listed else NO_REFILL)
    return replace(planned, left=left_in_copies(listed, state, context, NOTHING_OWN, unmoved))


def _unasked(
    state: RepairState, unmoved: Collection[PartitionKey], context: RunContext
) -> Mapping[PartitionKey, Sequence[CurrentGap]]:
    """Return the gaps, without undecided transactions of partitions with unchanged copies."""
    if context.settings.takes_undecided:
        return state.gaps
    asked = {state.ledger.joined_key(key) for key in unmoved}
    gaps = {
        key: [gap for gap in of_key if key not in asked or gap.cause is not GapCause.UNDECIDED]
        for key, of_key in state.gaps.items()
    }
    return {key: of_key for key, of_key in gaps.items() if of_key}


def _without_refills(
    state: RepairState, replicas: Iterable[Replica], context: RunContext
) -> RepairState:
    """Drop the gaps that a refill fills by the copy's own bounds.

    A copy without a known high watermark has no bounds for a refill, but may repair.
    """
    read = context.settings.read
    if not read.older_copies:
        return state
    unbounded = {
        state.ledger.of_copy(replica).key
        for replica in replicas
        if replica.checkpoints.high_watermark is None and read.upper_bound is not UpperBound.LOG_END
    }
    gaps = {
        key: [
            gap
            for gap in of_key
            if gap.cause is not GapCause.UNDECIDED
            and (gap.cause not in _BELOW_START or key in unbounded)
        ]
        for key, of_key in state.gaps.items()
    }
    return replace(state, gaps={key: of_key for key, of_key in gaps.items() if of_key})


def _with(repaired: RepairResult, refills: RefillResult) -> RepairResult:
    return replace(
        repaired,
        notes=(*repaired.notes, *refills.notes),
        unread={**repaired.unread, **refills.unread},
        written_bytes=repaired.written_bytes + refills.written_bytes,
        refills=refills,
        mended=Counter(repaired.mended) + Counter(refills.mended),
    )


def _fill(found: FoundRepairs, state: RepairState, context: RunContext) -> _Filled:
    """Commit what was found as ranges of kind `repair`."""
    gaps = sum(map(len, state.gaps.values()))
    _LOG.debug("search ended: gaps=%d to_fill=%d", gaps, len(found.ranges))
    if not found.ranges:
        return _Filled(WaveResult(), found.notes, found.unread)
    waves = planned_waves(found.ranges, context)
    context.reporter.step(f"repairing {show_count(len(found.ranges), 'gap')}")
    resolutions = Resolutions(state.damage, state.gaps, state.generations, context)
    done = run_waves(waves, state.generations, context, resolutions)
    lost = {topic: state.generations[topic] for topic in done.lost}
    concurrent = tuple(concurrent_ranges(lost, context))
    return _Filled(done, found.notes, found.unread, concurrent, resolutions.mended)


def _result(rounds: Sequence[_Filled], notes: Sequence[str], context: RunContext) -> RepairResult:
    results = [result for filled in rounds for result in filled.done.committed]
    unread = {name: why for filled in rounds for name, why in filled.done.left_out.items()}
    unread |= rounds[-1].unread  # what an earlier round lacked, the last one had or found filled
    for topic in sorted(rounds[-1].done.lost):
        unread[topic] = f"{topic}: a concurrent run committed first; run again to fill its gaps"
    return RepairResult(
        rounds=tuple(filled.done.committed for filled in rounds),
        notes=(*(note for filled in rounds for note in filled.notes), *notes),
        unread=unread,
        contradicted=tuple(_contradicted(results, context)),
        concurrent=tuple(range_ for filled in rounds for range_ in filled.concurrent),
        written_bytes=sum(filled.done.written_bytes for filled in rounds),
        mended=sum((Counter(filled.mended) for filled in rounds), Counter()),
    )


def _contradicted(results: Iterable[RangeResult], context: RunContext) -> list[Finding]:
    """Return the transactions that earlier runs ingested with another outcome than repairs show."""
    repaired = by_partition(results)
    if not repaired:
        return []
    state = repair_state(context, {key.topic for key in repaired})
    found: list[Finding] = []
    for key, own in repaired.items():
        ranges = [result.offsets for result in own]
        holes = [(gap.start_offset, gap.next_offset) for gap in state.gaps.get(key, ())]
        found += settled_otherwise(state.ledger.of(key), ranges, holes, context)
    return found
