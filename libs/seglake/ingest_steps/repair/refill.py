"""Ingests from copies the records that the cleaner removed before the lake was read. Effect.

Only with `read.older_copies`, since it reads the headers of whole logs. A partition's copies follow
each other, since each leaves less for the next.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.committing.wave import planned_waves, run_waves
from seglake.ingest_steps.planning.partitions import ListedPartition
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.planning.replica_survey import survey_logs
from seglake.ingest_steps.repair.gap_neighbours import is_contradicted
from seglake.ingest_steps.repair.refill_plan import LakeHoles, refill_plans
from seglake.ingest_steps.repair.repair_sources import RepairSource, repair_sources_of
from seglake.ingest_steps.repair.repair_state import Rows, damage_rows
from seglake.ingest_steps.repair.resolution_files import Resolutions
from seglake.ingest_steps.repair.resolutions import identity_of, unresolved
from seglake.ingest_steps.run_context import RunContext, published
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged
from seglake.kafka_log.range_arrays import intersected, range_array
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.unread_segments import described, spans
from seglake.lake.tables import GAPS
from seglake.log_tables.batch_lookup import IngestedBatches
from seglake.log_tables.current_gaps import GAP_COLUMNS, CurrentGap, standing_gaps
from seglake.log_tables.lacking_rows import lacking_rows
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.progress.run_reporter import show_count
from seglake.segment_decoding.decode import count_wanted

_MOST_INLINE_BYTES = 64 << 20
_MOST_COMPARED = 8  # places at which a copy is compared with the lake

OwnRanges = Mapping[str, Sequence[OffsetRange]]
"""Offsets that this run read from copies, by their folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefillResult:
    """Records that a refill ingested from copies.

    Attributes:
        unread: reasons by partition with an unreadable copy or one with other batches than the
            lake, and by topic that another run ingested.
        expected: in a dry run, the number of records to come, by partition.
        mended: damage that this run recorded and whose offsets it filled, by partition.
    """

    results: tuple[RangeResult, ...] = ()
    notes: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    written_bytes: int = 0
    expected: Mapping[str, int] = field(default_factory=dict)
    mended: Mapping[str, int] = field(default_factory=dict)


NO_REFILL = RefillResult()
NOTHING_OWN: OwnRanges = {}


def refill(replicas: Iterable[Replica], context: RunContext, own: OwnRanges) -> RefillResult:
    """Ingest from replicas the rows that the lake lacks since a compaction.

    Args:
        own: ranges this run already read from each copy; skipped.
    """
    listed = [*replicas]
    waiting, done = listed, NO_REFILL
    while waiting:
        state = _LakeState({replica.key.topic for replica in waiting}, context)
        found, notes = state.sources(waiting, own)
        planned = _planned([copies[0] for copies in found.values()], state, own)
        done = _and(done, replace(planned.result, notes=(*notes, *planned.result.notes)))
        done = _and(done, _committed(planned.ranges, state))
        rest = {copy.replica.folder for copies in found.values() for copy in copies[1:]}
        waiting = [replica for replica in waiting if replica.folder in rest]
    return _and(done, RefillResult(unread=_unread_copies(listed, context)))


def expected_refill(replicas: Iterable[Replica], context: RunContext) -> RefillResult:
    """Count the rows that `refill` would ingest from each partition's largest copy; commit nothing.

    The rows that other copies would add are not known beforehand.
    """
    state = _LakeState({replica.key.topic for replica in replicas}, context)
    found, notes = state.sources(replicas, NOTHING_OWN)
    planned = _planned([copies[0] for copies in found.values()], state, NOTHING_OWN)
    by_key: dict[str, list[RangePlan]] = {}
    for plan in planned.ranges:
        by_key.setdefault(str(plan.key), []).append(plan)
    counts = {name: _counted(plans, context) for name, plans in by_key.items()}
    expected = {name: count for name, count in counts.items() if count}
    done = replace(planned.result, notes=(*notes, *planned.result.notes), expected=expected)
    return _and(done, RefillResult(unread=_unread_copies(replicas, context)))


def _counted(plans: Sequence[RangePlan], context: RunContext) -> int:
    tasks = [task for wave in planned_waves(plans, context) for task in wave.tasks]
    sizes = [task.size_bytes for task in tasks]
    return sum(
        context.reporter.run_tasks(
            context.engine,
            count_wanted,
            tasks,
            sizes=sizes,
            text="counting what older copies still have",
            is_small=sum(sizes) <= _MOST_INLINE_BYTES,
        )
    )


class _Planned(NamedTuple):
    """Decoding plans for one copy of each partition; `result` has the copies left out, and why."""

    ranges: tuple[RangePlan, ...]
    result: RefillResult


class _LakeState:
    """The lake before one round."""

    def __init__(self, topics: Iterable[str], context: RunContext) -> None:
        self.context = context
        self.generations, self.ledger = published(context, sorted(topics))
        rows = context.tables.rows(GAPS, context.source_id, GAP_COLUMNS)
        self._gaps = standing_gaps(rows, self.ledger)
        self._holes: dict[PartitionKey, LakeHoles] = {}
        self.taken = IngestedBatches(context.tables, context.source_id, self.ledger)

    def sources(
        self, replicas: Iterable[Replica], own: OwnRanges
    ) -> tuple[dict[PartitionKey, list[RepairSource]], tuple[str, ...]]:
        """Find copies that may fill holes, each partition's largest first, and reasons against
        the others."""
        listed = list(replicas)
        keys = {self.ledger.of_copy(replica).key for replica in listed}
        spans = {key: [span] for key in keys if (span := self._span(key)) is not None}
        found: dict[PartitionKey, list[RepairSource]] = {}
        sources = repair_sources_of(listed, spans, self.ledger, self.context.settings)
        for copy in sources.candidates:
            key = copy.gaps[0].key
            if len(self.holes(key, own.get(copy.replica.folder, ())).wanted):
                found.setdefault(key, []).append(copy)
        for copies in found.values():
            copies.sort(key=lambda copy: (-_size_bytes(copy.replica), copy.replica.folder))
        return found, sources.notes

    def holes(self, key: PartitionKey, own: Sequence[OffsetRange]) -> LakeHoles:
        """Return the holes of a partition in the lake, except the copy's own."""
        if key not in self._holes:
            context, log = self.context, self.ledger.of(key)
            self._holes[key] = LakeHoles(
                self._gaps.get(key, ()),
                lacking_rows(log, context.tables, context.source_id),
                log.current,
            )
        return replace(self._holes[key], own=own)

    @cached_property
    def damage(self) -> dict[PartitionKey, Rows]:
        """Return the damage in quarantine by partition, resolved or not, without bytes."""
        return damage_rows(self.context, self.ledger)

    def resolutions(self, plans: Iterable[RangePlan]) -> Resolutions:
        """Return the unresolved damage of the partitions to refill, to be resolved."""
        keys = {plan.key for plan in plans}
        damage = {key: unresolved(self.damage.get(key, ())) for key in keys}
        return Resolutions(damage, self._gaps, self.generations, self.context)

    def compacted(self, key: PartitionKey) -> list[OffsetRange]:
        """Return the offsets of a partition that the lake calls compacted, rising."""
        gaps = self._gaps.get(key, ())
        return [
            (gap.start_offset, gap.next_offset) for gap in gaps if gap.cause is GapCause.COMPACTED
        ]

    def _span(self, key: PartitionKey) -> CurrentGap | None:
        wanted = self.holes(key, ()).wanted
        if not len(wanted):
            return None
        return CurrentGap(key, int(wanted[0, 0]), int(wanted[:, 1].max()), GapCause.COMPACTED)


def _planned(copies: Sequence[RepairSource], state: _LakeState, own: OwnRanges) -> _Planned:
    """Survey one copy of each partition, and plan the ranges to decode."""
    context = state.context
    is_other = [_is_other(copy, state, own) for copy in copies]
    unread = {
        (name := str(copy.gaps[0].key)): f"{name}: {copy.replica.folder}: its batches differ from "
        "the lake's; nothing is ingested from it"
        for copy, is_of_other in zip(copies, is_other, strict=True)
        if is_of_other
    }
    same = [copy for copy, is_of_other in zip(copies, is_other, strict=True) if not is_of_other]
    copies_of = [replace(copy.replica, key=copy.gaps[0].key) for copy in same]
    # As if nothing of a copy was ingested.
    logs = [ListedPartition((copy,), PartitionLedger(copy.key)) for copy in copies_of]
    plans: list[RangePlan] = []
    for copy, partition in zip(same, survey_logs(logs, context.scan), strict=True):
        name = str(partition.key)
        if partition.unread_reason is not None:
            unread[name] = f"{name}: {partition.unread_reason}"
            continue
        holes = state.holes(partition.key, own.get(copy.replica.folder, ()))
        recorded = frozenset(map(identity_of, state.damage.get(partition.key, ())))
        holes = replace(holes, recorded=recorded)
        plans += refill_plans(partition, holes, copy.stop_offset, context.settings)
    return _Planned(tuple(plans), RefillResult(unread=unread))


def _committed(plans: Sequence[RangePlan], state: _LakeState) -> RefillResult:
    context = state.context
    if not plans:
        return RefillResult()
    context.reporter.step("ingesting what older copies still have")
    resolutions = state.resolutions(plans)
    done = run_waves(planned_waves(plans, context), state.generations, context, resolutions)
    lost = {
        topic: f"{topic}: a concurrent run committed first; run again for what older copies have"
        for topic in sorted(done.lost)
    }
    return RefillResult(
        results=done.committed,
        unread={**done.left_out, **lost},
        written_bytes=done.written_bytes,
        mended=resolutions.mended,
    )


def _and(one: RefillResult, other: RefillResult) -> RefillResult:
    unread = {**one.unread}
    for name, reason in other.unread.items():  # several copies of a partition may be unread
        unread[name] = f"{unread[name]}; {reason}" if name in unread else reason
    return RefillResult(
        results=(*one.results, *other.results),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
        unread=unread,
        written_bytes=one.written_bytes + other.written_bytes,
        expected={**one.expected, **other.expected},
        mended=Counter(one.mended) + Counter(other.mended),
    )


def _unread_copies(replicas: Iterable[Replica], context: RunContext) -> dict[str, str]:
    """Return by partition the unreadable segments of copies at compacted offsets of the lake."""
    listed = [replica for replica in replicas if replica.unread]
    if not listed:
        return {}
    state = _LakeState({replica.key.topic for replica in listed}, context)
    found: dict[str, list[str]] = {}
    for replica in listed:
        key = state.ledger.of_copy(replica).key
        compacted = state.compacted(key)
        inside = {of: common(compacted, span) for of, span in spans(replica).items()}
        segments = [segment for segment, ranges in inside.items() if ranges]
        if segments:
            ranges = merged(part for parts in inside.values() for part in parts)
            count = show_count(sum(stop - start for start, stop in ranges), "offset")
            where = (
                f" in {replica.folder} may have records at {count} that the lake calls compacted"
            )
            found.setdefault(str(key), []).append(described(segments, where))
    return {name: f"{name}: {'; '.join(texts)}" for name, texts in found.items()}


def _is_other(copy: RepairSource, state: _LakeState, own: OwnRanges) -> bool:
    """Return whether a copy has other batches than the lake beside a hole."""
    key, context = copy.gaps[0].key, state.context
    wanted = state.holes(key, own.get(copy.replica.folder, ())).wanted
    inside = intersected(wanted, range_array(copy.wanted))
    places = inside[:: max(1, len(inside) // _MOST_COMPARED)].tolist()
    return any(
        is_contradicted(
            copy,
            CurrentGap(key, start, stop, GapCause.COMPACTED),
            state.taken,
            context.storage,
            context.settings.read.window_bytes,
        )
        for start, stop in places
    )


def _size_bytes(replica: Replica) -> int:
    return sum(file.size_bytes for file in replica.segments)
