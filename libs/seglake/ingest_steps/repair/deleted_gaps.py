"""Corrects the cause `remote` of gaps whose offsets the remote tier no longer has.

An ingest without the tier records offsets as `remote`. If the cluster deletes them later, nothing
can fill the gap. So a repair without rows records the gap again: as `deleted` below the log start,
or as `deleted_or_lost` if no file states a log start and the tier itself begins above the gap.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from seglake.findings.shown_offsets import shown_ranges
from seglake.ingest_steps.planning.plan import RangePlan, RemainingGap
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.log_starts import UndeletedStart, lowest_base_offset
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import merged
from seglake.kafka_log.replica import PartitionKey, RemoteGap, Replica
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.ledger_layers import RangeKind


class _Start(NamedTuple):
    """First offset that a log still has, and the cause of gaps below it."""

    offset: int
    cause: GapCause


def deleted_gaps(state: RepairState, notes: list[str]) -> list[RangePlan]:
    """Return ranges that record gaps `remote` again, because the tier no longer has the offsets.

    Args:
        state: the lake and the copies after the last repair.
        notes: receives a sentence for each partition.
    """
    plans: list[RangePlan] = []
    for key, copies in state.readable.items():
        if all(gap.cause is not GapCause.REMOTE for gap in state.gaps.get(key, ())):
            continue  # `standing` reads all gaps, of which there may be millions
        gaps = [gap for gap in state.standing[key] if gap.cause is GapCause.REMOTE]
        start = _start(copies, key, state) if gaps else None
        below = [gap for gap in gaps if start is not None and gap.start_offset < start.offset]
        if start is not None and below:
            plans += [_plan(gap, start) for gap in below]
            ranges = merged((gap.start_offset, min(gap.next_offset, start.offset)) for gap in below)
            notes.append(
                f"{key}: the gaps {shown_ranges(ranges)} are now {start.cause} instead of "
                f"remote: the log begins at {start.offset}"
            )
    return plans


def _start(copies: Sequence[Replica], key: PartitionKey, state: RepairState) -> _Start | None:
    """Return the start of the lake's log in the copies; None if no copy shows it."""
    best = max(
        (leader_epochs_of(copy.epochs) for copy in copies), key=lambda epochs: epochs.last_epoch
    )
    reached = max(copy.segments[-1].base_offset for copy in copies)
    stated = [*_stated_starts(copies)]
    if stated:
        same_until = state.ledger.of(key).same_log_until(best, reached)
        return _Start(min(max(stated), same_until), GapCause.DELETED)
    if all(file.remote is not None for copy in copies for file in copy.segments):
        first = min(map(lowest_base_offset, copies))
        return _Start(first, GapCause.DELETED_OR_LOST)
    return None


def _stated_starts(copies: Sequence[Replica]) -> Iterator[int]:
    """Yield log starts from checkpoint files and tier events, except those above a log's end."""
    for copy in copies:
        claimed = copy.checkpoints.log_start_offset
        end = max(copy.durable_offset, copy.segments[-1].base_offset)
        if claimed is not None and claimed <= end:
            yield claimed


def _plan(gap: CurrentGap, start: _Start) -> RangePlan:
    """Return a range that records a gap again, with the cause of offsets below the start."""
    is_deleted = start.cause is GapCause.DELETED
    above = max(start.offset, gap.start_offset)
    rest = RemoteGap(above, gap.next_offset, gap.detail or "")
    return RangePlan(
        key=gap.key,
        start_offset=gap.start_offset,
        next_offset=gap.next_offset,
        splits=(),
        log_start_offset=start.offset,
        remote_offset=start.offset,
        first_log_start_offset=start.offset,
        cleaner_offset=0,
        remote_gaps=(rest,) if gap.detail and above < gap.next_offset else (),
        undeleted=None if is_deleted else UndeletedStart((0, start.offset), start.cause),
        remaining_gap=RemainingGap(gap.cause, ((0, start.offset),)),
        kind=RangeKind.REPAIR,
    )
