"""Finds copies that may fill the lake's gaps, and the usable parts of their logs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.settings.settings import Settings


class RepairSource(NamedTuple):
    """A copy with the gaps that it may fill.

    Attributes:
        replica: the copy.
        files: the copy's segments to search.
        gaps: the gaps.
        requested: the parts of the gaps that are in the copy's log.
        stop_offset: exclusive end of the copy's usable log; batches above it are not read.
        leader_epochs: epochs of the newest log among the copies.
        is_of_lake: whether the copy's bytes come from `quarantine` instead of a disk.
    """

    replica: Replica
    files: tuple[SegmentFile, ...]
    gaps: tuple[CurrentGap, ...]
    requested: tuple[OffsetRange, ...]
    stop_offset: int
    leader_epochs: LeaderEpochs
    is_of_lake: bool = False

    @property
    def key(self) -> PartitionKey:
        """Return the gaps' partition; the copy's own key may lack the topic id."""
        return self.gaps[0].key


def repair_sources(
    copies: Mapping[PartitionKey, Sequence[Replica]],
    gaps: Mapping[PartitionKey, Sequence[CurrentGap]],
    state: RepairState,
    notes: list[str],
) -> list[RepairSource]:
    """Return the copies whose logs have offsets of some gaps.

    Args:
        copies: readable copies by partition.
        gaps: gaps by partition.
        state: the lake before the repair.
        notes: receives notes on copies that fill nothing.
    """
    settings = state.context.settings
    return [
        copy
        for key, own in copies.items()
        if key in gaps
        for copy in _copies(own, gaps[key], state.ledger.of(key), settings, notes)
    ]


def _copies(
    replicas: Sequence[Replica],
    gaps: Sequence[CurrentGap],
    ledger: PartitionLedger,
    settings: Settings,
    notes: list[str],
) -> list[RepairSource]:
    best = max(
        (leader_epochs_of(replica.epochs) for replica in replicas),
        key=lambda epochs: epochs.last_epoch,
    )
    # The logs' ends are unknown, but each log surely reaches its last segment's start.
    surely_there = max(replica.segments[-1].base_offset for replica in replicas)
    same_until = min(
        ledger.same_log_until(best, surely_there),
        ledger.won_from(best.last_epoch),
    )
    if any(same_until < gap.next_offset for gap in gaps):
        notes.append(
            f"{ledger.key}: gaps from offset {same_until} on are not filled from these replicas, "
            "whose leader epochs differ from those of the ingested log"
        )
    high_watermark = _high_watermark(replicas, best, settings)
    copies = []
    for replica in replicas:
        stop = min(same_until, high_watermark, _common_next_offset(replica, best))
        within = replica.log_start_offset, stop
        found = [
            (gap, common([gap.offsets], (max(within[0], start), stop)))
            for gap in gaps
            for start in [_first_offered(replica, gap, settings)]
        ]
        parts = tuple(part for _, of_gap in found for part in of_gap)
        if parts:
            copies.append(
                RepairSource(
                    replica=replica,
                    files=_files(replica, parts),
                    gaps=tuple(gap for gap, of_gap in found if of_gap),
                    requested=parts,
                    stop_offset=stop,
                    leader_epochs=best,
                )
            )
    return copies


def _first_offered(replica: Replica, gap: CurrentGap, settings: Settings) -> int:
    """Return the lowest offset of a copy that may fill a gap.

    A remote tier may still have offsets that Kafka deleted. They fill no gap, unless the user asks
    for deleted segments.
    """
    if gap.cause is not GapCause.DELETED or settings.tier_policy.includes_deleted:
        return 0
    local = [file.base_offset for file in replica.segments if file.remote is None]
    return 0 if len(local) == len(replica.segments) else min(local, default=OPEN_END)


def _high_watermark(replicas: Sequence[Replica], best: LeaderEpochs, settings: Settings) -> int:
    """Return the highest high watermark of the replicas with the newest leader epoch."""
    if settings.read.upper_bound is UpperBound.LOG_END:
        return OPEN_END
    marks = [
        replica.checkpoints.high_watermark
        for replica in replicas
        if leader_epochs_of(replica.epochs).last_epoch == best.last_epoch
        and replica.checkpoints.high_watermark is not None
    ]
    return max(marks, default=OPEN_END)


def _common_next_offset(replica: Replica, best: LeaderEpochs) -> int:
    """Return the end of the part that a copy shares with the best copy; no limit without epochs."""
    if not replica.epochs:
        return OPEN_END
    return best.common_next_offset(leader_epochs_of(replica.epochs))


def _files(replica: Replica, parts: Sequence[OffsetRange]) -> tuple[SegmentFile, ...]:
    """Return the segments with offsets of the parts; also the next one, which shows their end."""
    count = sum(file.base_offset < parts[-1][1] for file in replica.segments)
    return replica.segments[: count + 1]
