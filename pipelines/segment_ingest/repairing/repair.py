"""Fills gaps of the lake from copies that have what was damaged or missing. Effect.

Runs behind every ingest: a sibling that was given along, or one that comes in a later run, is the
same case. Nothing is read where the lake has no gap that a copy at hand could fill.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from lake.parquet_files import DataFile
from lake.parquet_rows import Within, read_rows
from lake.tables import BATCHES, GAPS, QUARANTINE
from pipelines.segment_ingest.execute import (
    RunContext,
    decode_settings,
    published,
    run_wave,
    write_rows,
)
from pipelines.segment_ingest.planning.coverage import Coverage
from pipelines.segment_ingest.planning.plan import RangePlan, plan_waves
from pipelines.segment_ingest.planning.seams import RangeResult
from pipelines.segment_ingest.progress import show_count
from pipelines.segment_ingest.repairing.copies import Copy, copies_of
from pipelines.segment_ingest.repairing.current_gaps import GAP_COLUMNS, CurrentGap, fillable_gaps
from pipelines.segment_ingest.repairing.gap_neighbours import is_contradicted
from pipelines.segment_ingest.repairing.repair_plan import Offer, repair_plans
from pipelines.segment_ingest.repairing.repair_search import (
    FoundSpan,
    Refused,
    SearchRequest,
    search,
)
from pipelines.segment_ingest.repairing.resolutions import (
    QUARANTINE_COLUMNS,
    is_misplaced,
    is_sound_outside,
    resolution_rows,
    resolutions_table,
    unresolved,
)
from pipelines.segment_ingest.same_logs.taken_batches import TakenBatches
from pipelines.segment_ingest.sources.partition_log import PartitionKey, Replica
from pipelines.segment_ingest.summary import IngestSummary
from segment_codec.control_record import ControlType
from segment_codec.transactions import Marker

_MOST_INLINE_BYTES = 64 << 20
_MOST_ROUNDS = 3  # what one copy leaves, others may have
_MARKER_COLUMNS = (
    "source_id",
    "topic_id",
    "partition",
    "base_offset",
    "producer_id",
    "control_type",
)
_ENDS = (ControlType.COMMIT, ControlType.ABORT)

Rows = list[dict[str, Any]]  # Any: the columns of a row have many types


@dataclass(frozen=True, slots=True)
class RepairState:
    """What the lake lacks, as read before a repair.

    Attributes:
        generations: published, of each topic; read before the rest.
        damage: unresolved rows of `quarantine` by partition, without bytes.
    """

    generations: dict[str, int]
    coverage: Coverage
    gaps: Mapping[PartitionKey, Sequence[CurrentGap]]
    damage: Mapping[PartitionKey, Rows]


def repair_state(context: RunContext, topics: Iterable[str]) -> RepairState:
    """Read the gaps of some topics that a copy could fill, and the damage that made them."""
    wanted = set(topics)
    generations, coverage = published(context, sorted(wanted))
    rows = context.tables.rows(GAPS, context.source_id, GAP_COLUMNS).to_pylist()
    gaps = fillable_gaps((row for row in rows if row["topic"] in wanted), coverage)
    damage: dict[PartitionKey, Rows] = {}
    if gaps:
        found = context.tables.rows(QUARANTINE, context.source_id, QUARANTINE_COLUMNS).to_pylist()
        for row in unresolved(found):
            key = PartitionKey(row["topic"], row["partition"], row["topic_id"])
            key = coverage.joined_key(key)
            if key in gaps:
                damage.setdefault(key, []).append({**row, "topic_id": key.topic_id})
    return RepairState(generations, coverage, gaps, damage)


def repair(replicas: Iterable[Replica], context: RunContext, summary: IngestSummary) -> None:
    """Fill from these copies what the lake lacks of their partitions, as far as they have it."""
    listed = list(replicas)
    if not listed:
        return
    for _ in range(_MOST_ROUNDS):
        before = summary.repaired_gaps
        state = repair_state(context, {replica.key.topic for replica in listed})
        copies = copies_of(listed, state.gaps, state.coverage, context.settings)
        fill(copies.worth_a_look, state, context, summary)
        if summary.repaired_gaps == before:
            break
    summary.notes += copies.notes


def fill(
    copies: Sequence[Copy],
    state: RepairState,
    context: RunContext,
    summary: IngestSummary,
    *,
    is_replay: bool = False,
) -> None:
    """Search the copies, and commit what they have as ranges of kind `repair`.

    Args:
        is_replay: also look at batches that failed inside before, and take those that decode now.
    """
    requests = [_request(copy, state, context, is_replay=is_replay) for copy in copies]
    found = _searched(requests, context)
    taken = TakenBatches(context.tables, context.source_id, state.coverage)
    offers = [
        _offer(copy, spans, taken, context, summary)
        for copy, spans in zip(copies, found, strict=True)
        if spans
    ]
    ranges = _ranges(offers, state, context, summary)
    if not ranges:
        return
    settings = context.settings
    waves = plan_waves(
        ranges,
        settings.write.wave_bytes,
        settings.read.split_bytes,
        decode_settings(context),
    )
    context.reporter.step(f"repairing {show_count(len(ranges), 'gap')}")
    for wave in waves:
        result = run_wave(
            wave,
            state.generations,
            context,
            more_rows=lambda results: _resolutions(results, state, context),
        )
        summary.add_repairs(result.committed)
        summary.left_out.update(result.left_out)
        for topic in result.lost:
            summary.left_out[topic] = f"{topic}: another run was faster; run again to fill its gaps"
        summary.written_bytes += result.written_bytes


def _offer(
    copy: Copy,
    spans: Sequence[FoundSpan],
    taken: TakenBatches,
    context: RunContext,
    summary: IngestSummary,
) -> Offer:
    """What a copy has in gaps whose neighbours are the same batches there and in the lake."""
    window_bytes = context.settings.read.window_bytes
    other = {
        index
        for index in {span.gap_index for span in spans}
        if is_contradicted(copy, copy.gaps[index], taken, context.storage, window_bytes)
    }
    if other:
        note = (
            f"{copy.gaps[0].key}: {show_count(len(other), 'gap')} not filled from "
            f"{copy.replica.folder}, which has other batches beside it than the lake"
        )
        summary.notes += [] if note in summary.notes else [note]
    return Offer(copy, tuple(span for span in spans if span.gap_index not in other))


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
        copy.lineage,
        _refused(row for row in damage if is_misplaced(row)),
        _refused(row for row in damage if is_sound_outside(row)),
        is_replay,
        context.settings.limits.max_decompressed_batch_bytes,
        context.settings.read.window_bytes,
    )


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


def _ranges(
    offers: Sequence[Offer], state: RepairState, context: RunContext, summary: IngestSummary
) -> list[RangePlan]:
    by_key: dict[PartitionKey, list[Offer]] = {}
    for offer in offers:
        by_key.setdefault(offer.copy.gaps[0].key, []).append(offer)
    ranges: list[RangePlan] = []
    for key, own in by_key.items():
        has_transactions = any(span.events for offer in own for span in offer.spans)
        markers = _markers(key, state.coverage, context) if has_transactions else []
        plans = repair_plans(own, state.gaps[key], markers)
        ranges += plans.ranges
        if plans.unsettled_offsets:
            note = (
                f"{key}: {show_count(plans.unsettled_offsets, 'offset')} of transactions stay "
                "gaps, since what is missing may be how they ended"
            )
            summary.notes += [] if note in summary.notes else [note]
    return ranges


def _markers(key: PartitionKey, coverage: Coverage, context: RunContext) -> list[Marker]:
    """The ends of transactions that the lake knows of a partition; batches are not held."""
    tables = context.tables
    only = [Within("partition", key.partition, key.partition)]
    found: list[Marker] = []
    for path in tables.file_paths(BATCHES, topic=key.topic):
        for rows in read_rows(tables.storage, path, _MARKER_COLUMNS, only):
            for row in rows.filter(pc.is_valid(rows.column("control_type"))).to_pylist():
                own = PartitionKey(key.topic, key.partition, row["topic_id"])
                is_own = row["source_id"] == context.source_id and coverage.joined_key(own) == key
                if is_own and row["control_type"] in _ENDS:
                    is_commit = row["control_type"] == ControlType.COMMIT
                    found.append(Marker(row["base_offset"], row["producer_id"], is_commit))
    return found


def _resolutions(
    results: Sequence[RangeResult], state: RepairState, context: RunContext
) -> dict[str, list[DataFile]]:
    """The files of rows that resolve quarantined bytes, by topic."""
    files: dict[str, list[DataFile]] = {}
    for key in sorted({result.plan.partition.replica.key for result in results}, key=str):
        own = [result for result in results if result.plan.partition.replica.key == key]
        rows = resolution_rows(
            own, state.damage.get(key, []), state.gaps[key], context.run_id, context.started_at_us
        )
        if rows:
            files.setdefault(key.topic, []).extend(
                write_rows(context, QUARANTINE, key.topic, resolutions_table(rows))
            )
    return files
