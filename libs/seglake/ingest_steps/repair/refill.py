"""Ingests records that the log cleaner removed from the ingested log, from older copies.

This is called a refill. It runs only with `read.older_copies`, because it reads the headers of
whole logs. The copies of a partition are read one after the other; each is read only for records
that the earlier copies lack.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.ingest_steps.committing.wave import planned_waves
from seglake.ingest_steps.planning.partitions import ListedPartition
from seglake.ingest_steps.planning.plan import RangePlan
from seglake.ingest_steps.planning.replica_survey import survey_logs
from seglake.ingest_steps.repair.gap_neighbours import is_contradicted
from seglake.ingest_steps.repair.refill_plan import LakeHoles, refill_plans
from seglake.ingest_steps.repair.repair_result import RepairResult
from seglake.ingest_steps.repair.repair_sources import RepairSource, repair_sources
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.ingest_steps.repair.resolution_files import commit_fills
from seglake.ingest_steps.repair.resolutions import identity_of
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged, subtracted
from seglake.kafka_log.range_arrays import intersected, range_array
from seglake.kafka_log.unread_segments import described, spans
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.lacking_rows import lacking_rows
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.printable import show_count
from seglake.segment_decoding.task_functions import count_requested

_MOST_INLINE_BYTES = 64 << 20
_MOST_COMPARED = 8  # most offsets at which a copy is compared with the lake

OwnRanges = Mapping[str, Sequence[OffsetRange]]
"""Offset ranges that this run ingested from copies, by the copy's folder."""

NOTHING_OWN: OwnRanges = {}


class _Holder(NamedTuple):
    """Copy that may have records which the lake lacks."""

    copy: RepairSource
    holes: LakeHoles


def refill(repaired: RepairResult, state: RepairState, own: OwnRanges) -> RepairResult:
    """Ingest records that compaction removed, from copies that still have them.

    Args:
        repaired: result of the preceding repairs, to which the refill's result is added.
        state: the lake and its copies.
        own: ranges that this run has already ingested from each copy, which are skipped.
    """
    results: list[RangeResult] = []
    reasons: list[Mapping[str, str]] = []
    notes, mended, written_bytes = [*repaired.notes], Counter(repaired.mended), 0
    waiting = state.folders
    while waiting:
        found = _holders(state, waiting, own, notes)
        plans, unread = _planned([holders[0] for holders in found], state)
        reasons.append(unread)
        if plans:
            state.context.reporter.step("ingesting records that older copies still have")
            damage = state.damage_of({plan.key for plan in plans})
            done, resolved = commit_fills(plans, damage, state.standing, state)
            results += done.committed
            mended.update(resolved)
            written_bytes += done.written_bytes
            reasons.append({**done.left_out, **{topic: _lost(topic) for topic in done.lost}})
            state = state.renewed()
        waiting = {holder.copy.replica.folder for holders in found for holder in holders[1:]}
    return replace(
        repaired,
        refills=tuple(results),
        notes=tuple(notes),
        unread={**repaired.unread, **_joined([*reasons, _unread_copies(state)])},
        written_bytes=repaired.written_bytes + written_bytes,
        standing=state.gaps if results else repaired.standing,
        mended=mended,
    )


def expected_refill(
    repaired: RepairResult, state: RepairState, folders: Container[str]
) -> RepairResult:
    """Count the rows that `refill` would ingest from each partition's largest copy.

    Nothing is committed. The rows that smaller copies would add are unknown beforehand.

    Args:
        repaired: result of the preceding repairs, to which the counts are added.
        state: the lake and its copies.
        folders: folders of the copies to read.
    """
    notes = [*repaired.notes]
    found = _holders(state, folders, NOTHING_OWN, notes)
    plans, unread = _planned([holders[0] for holders in found], state)
    by_name = grouped((str(plan.key), plan) for plan in plans)
    counts = {name: _counted(of_name, state.context) for name, of_name in by_name.items()}
    return replace(
        repaired,
        notes=tuple(notes),
        unread={**repaired.unread, **_joined([unread, _unread_copies(state)])},
        expected={name: count for name, count in counts.items() if count},
    )


def _counted(plans: Sequence[RangePlan], context: RunContext) -> int:
    tasks = [task for wave in planned_waves(plans, context) for task in wave.tasks]
    sizes = [task.size_bytes for task in tasks]
    return sum(
        context.reporter.run_tasks(
            context.engine,
            count_requested,
            tasks,
            sizes=sizes,
            text="counting records that older copies still have",
            is_small=sum(sizes) <= _MOST_INLINE_BYTES,
        )
    )


def _lost(topic: str) -> str:
    return f"{topic}: a concurrent run committed first; run again to ingest from older copies"


def _joined(reasons: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Join the reasons of each partition: several of its copies may be unread."""
    found = grouped(item for of in reasons for item in of.items())
    return {name: "; ".join(of_name) for name, of_name in found.items()}


def _holders(
    state: RepairState, folders: Container[str], own: OwnRanges, notes: list[str]
) -> list[list[_Holder]]:
    """Return the copies that may fill holes of the lake, by partition, the largest first.

    Args:
        state: the lake and its copies.
        folders: folders of the copies to read.
        own: ranges that this run has already ingested from each copy.
        notes: receives notes on copies that fill nothing.
    """
    found: list[list[_Holder]] = []
    for key, copies in state.readable.items():
        asked = [copy for copy in copies if copy.folder in folders]
        holes = _holes(state.ledger.of(key), state) if asked else None
        if holes is None or not len(holes.requested):
            continue
        first, stop = int(holes.requested[0, 0]), int(holes.requested[:, 1].max())
        span = {key: [CurrentGap(key, first, stop, GapCause.COMPACTED)]}
        holders = [
            _Holder(copy, holes._replace(own=own.get(copy.replica.folder, ())))
            for copy in repair_sources({key: asked}, span, state, notes)
        ]
        holders = [holder for holder in holders if len(holder.holes.requested)]
        holders.sort(key=lambda of: (-_size_bytes(of.copy), of.copy.replica.folder))
        found += [holders] if holders else []
    return found


def _holes(ledger: PartitionLedger, state: RepairState) -> LakeHoles:
    context = state.context
    gaps = state.standing.get(ledger.key, ())
    erased = [gap.offsets for gap in gaps if gap.cause is GapCause.ERASED]
    lacking = lacking_rows(ledger, context.tables, context.source_id)
    if erased:
        kept = subtracted((0, OPEN_END), merged(erased))
        lacking = intersected(lacking, range_array(kept))
    return LakeHoles(gaps, lacking, ledger.replaceable)


def _planned(
    holders: Sequence[_Holder], state: RepairState
) -> tuple[list[RangePlan], dict[str, str]]:
    """Survey one copy of each partition, and plan what it can fill.

    Return ranges to decode, and reasons for skipped copies.
    """
    is_other = [_is_other(holder, state) for holder in holders]
    unread = {
        (name := str(copy.key)): f"{name}: {copy.replica.folder}: its batches differ from the "
        "lake's; nothing is ingested from this copy"
        for (copy, _), is_of_other in zip(holders, is_other, strict=True)
        if is_of_other
    }
    same = [
        holder for holder, is_of_other in zip(holders, is_other, strict=True) if not is_of_other
    ]
    logs = [ListedPartition.alone(copy.replica, copy.key) for copy, _ in same]
    plans: list[RangePlan] = []
    for (copy, holes), partition in zip(same, survey_logs(logs, state.context), strict=True):
        name = str(copy.key)
        if partition.unread_reason is not None:
            unread[name] = f"{name}: {partition.unread_reason}"
            continue
        recorded = frozenset(map(identity_of, state.every_damage.get(copy.key, ())))
        holes = holes._replace(recorded=recorded)
        plans += refill_plans(partition, holes, copy.stop_offset, state.context.settings)
    return plans, unread


def _unread_copies(state: RepairState) -> dict[str, str]:
    """Return why copies that may have compacted offsets are unreadable, by partition."""
    found: dict[str, str] = {}
    for key, copies in state.copies.items():
        if not any(copy.unread for copy in copies):
            continue
        texts, compacted = list[str](), state.compacted(key)
        for copy in copies:
            inside = {of: common(compacted, span) for of, span in spans(copy).items()}
            segments = [segment for segment, ranges in inside.items() if ranges]
            if segments:
                ranges = merged(part for parts in inside.values() for part in parts)
                count = show_count(sum(stop - start for start, stop in ranges), "offset")
                where = (
                    f" in {copy.folder} may have records at {count} that are compacted in the lake"
                )
                texts.append(described(segments, where))
        if texts:
            found[str(key)] = f"{key}: {'; '.join(texts)}"
    return found


def _is_other(holder: _Holder, state: RepairState) -> bool:
    """Return whether copy and lake have different batches next to a hole: the logs differ."""
    copy = holder.copy
    inside = intersected(holder.holes.requested, range_array(copy.requested))
    places = inside[:: max(1, len(inside) // _MOST_COMPARED)].tolist()
    holes = [CurrentGap(copy.key, start, stop, GapCause.COMPACTED) for start, stop in places]
    return any(is_contradicted(copy, hole, state) for hole in holes)


def _size_bytes(copy: RepairSource) -> int:
    return sum(file.size_bytes for file in copy.replica.segments)
