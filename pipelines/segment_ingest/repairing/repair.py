"""Fills gaps of the lake from copies that have what was damaged or missing. Effect.

Runs behind every ingest: a sibling that was given along, or one that comes in a later run, is the
same case. Nothing is read where the lake has no gap that a copy at hand could fill.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipelines.segment_ingest.execute import RunContext, decode_settings, run_wave
from pipelines.segment_ingest.planning.coverage import OffsetRange
from pipelines.segment_ingest.planning.plan import plan_waves
from pipelines.segment_ingest.planning.seams import RangeResult
from pipelines.segment_ingest.progress import show_count
from pipelines.segment_ingest.repairing.copies import Copy, copies_of
from pipelines.segment_ingest.repairing.found_repairs import FoundRepairs, found_repairs
from pipelines.segment_ingest.repairing.kept_bytes import kept_copies
from pipelines.segment_ingest.repairing.repair_state import RepairState, repair_state
from pipelines.segment_ingest.repairing.resolution_files import Resolutions
from pipelines.segment_ingest.repairing.settlements import settled_otherwise
from pipelines.segment_ingest.sources.partition_log import PartitionKey, Replica
from pipelines.segment_ingest.summary import IngestSummary

_MOST_ROUNDS = 3  # what one copy leaves, others may have


class Expected(NamedTuple):
    """What repairs would fill."""

    gaps: int
    offsets: int


def repair(replicas: Iterable[Replica], context: RunContext, summary: IngestSummary) -> None:
    """Fill from these copies what the lake lacks of their partitions, as far as they have it."""
    listed = list(replicas)
    if not listed:
        return
    topics = {replica.key.topic for replica in listed}
    results: list[RangeResult] = []
    for _ in range(_MOST_ROUNDS):
        state = repair_state(context, topics, listed)
        copies = copies_of(listed, state.gaps, state.coverage, context.settings)
        found = found_repairs(copies.worth_a_look, state, context, is_replay=False)
        filled, lost = _fill(found, state, context, summary)
        results += filled
        if not filled and not lost:
            break
    _leave_out(lost, summary)
    summary.note(copies.notes)
    _name_contradictions(results, context, summary)


def repair_from_kept_bytes(
    topics: Iterable[str], context: RunContext, summary: IngestSummary
) -> None:
    """Fill from quarantined bytes what decodes now."""
    state = repair_state(context, topics)
    with kept_copies(context.tables, context.source_id, state) as copies:
        found = found_repairs(copies, state, context, is_replay=True)
        results, lost = _fill(found, state, context, summary)
    _leave_out(lost, summary)
    _name_contradictions(results, context, summary)


def expected_repairs(
    topics: Iterable[str],
    replicas: Iterable[Replica],
    context: RunContext,
    summary: IngestSummary,
    *,
    is_replay: bool,
) -> Expected:
    """What repairs would fill of the gaps that stand now; nothing is committed.

    Args:
        is_replay: also from quarantined bytes.
    """
    listed = list(replicas)
    state = repair_state(context, topics, listed)
    copies = copies_of(listed, state.gaps, state.coverage, context.settings)
    summary.note(copies.notes)
    if not is_replay:
        return _expected(copies.worth_a_look, state, context, summary, is_replay=False)
    with kept_copies(context.tables, context.source_id, state) as kept:
        both = [*copies.worth_a_look, *kept]
        return _expected(both, state, context, summary, is_replay=True)


def _expected(
    copies: Sequence[Copy],
    state: RepairState,
    context: RunContext,
    summary: IngestSummary,
    *,
    is_replay: bool,
) -> Expected:
    found = found_repairs(copies, state, context, is_replay=is_replay)
    summary.note(found.notes)
    return Expected(found.filled_gaps, found.filled_offsets)


def _fill(
    found: FoundRepairs, state: RepairState, context: RunContext, summary: IngestSummary
) -> tuple[list[RangeResult], set[str]]:
    """Commit what was found as ranges of kind `repair`; also the topics lost to another run."""
    summary.note(found.notes)
    if not found.ranges:
        return [], set()
    settings = context.settings
    waves = plan_waves(
        found.ranges,
        settings.write.wave_bytes,
        settings.read.split_bytes,
        decode_settings(context),
    )
    context.reporter.step(f"repairing {show_count(len(found.ranges), 'gap')}")
    resolutions = Resolutions(state, context)
    committed: list[RangeResult] = []
    lost: set[str] = set()
    for wave in waves:
        result = run_wave(wave, state.generations, context, more_rows=resolutions.files)
        resolutions.settle(result.committed)
        summary.add_repairs(result.committed)
        committed += result.committed
        summary.left_out.update(result.left_out)
        lost.update(result.lost)
        summary.written_bytes += result.written_bytes
    return committed, lost


def _leave_out(lost: Iterable[str], summary: IngestSummary) -> None:
    for topic in lost:
        summary.left_out[topic] = f"{topic}: another run was faster; run again to fill its gaps"


def _name_contradictions(
    results: Iterable[RangeResult], context: RunContext, summary: IngestSummary
) -> None:
    """Say which transactions earlier runs took otherwise than repairs show that they ended."""
    repaired: dict[PartitionKey, list[OffsetRange]] = {}
    for result in results:
        offsets = result.plan.start_offset, result.next_offset
        repaired.setdefault(result.plan.partition.replica.key, []).append(offsets)
    if not repaired:
        return
    state = repair_state(context, {key.topic for key in repaired})
    for key, ranges in repaired.items():
        holes = [(gap.start_offset, gap.next_offset) for gap in state.gaps.get(key, ())]
        summary.contradicted += settled_otherwise(key, ranges, holes, state.coverage, context)
