"""Finds copies that may fill the lake's gaps, and the usable part of their logs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.kafka_log.read_policy import UpperBound
from seglake.kafka_log.replica import PartitionKey, Replica, SegmentFile
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class RepairSource:
    """A copy with the gaps that it may fill.

    Attributes:
        replica: the copy.
        files: its segments to search.
        gaps: the gaps.
        requested: the parts of the gaps that are in its log.
        stop_offset: end of the usable log; above it the log does not count, or is another log.
        leader_epochs: epochs of the newest log among the copies.
        is_of_lake: its bytes are those in quarantine, not a log on a disk.
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
    """Return the copies that may have records of the gaps.

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
    # The start of the longest log's last segment; the log's end is not known yet.
    surely_there = max(replica.segments[-1].base_offset for replica in replicas)
    same_until = min(
        ledger.same_log_until(best, surely_there),
        ledger.won_from(best.last_epoch),
    )
    if any(same_until < gap.next_offset for gap in gaps):
        notes.append(
            f"{ledger.key}: gaps from offset {same_until} on are not filled from these replicas, "
            "whose leader epochs are not those of what was ingested"
        )
    high_watermark = _high_watermark(replicas, best, settings)
    copies = []
    for replica in replicas:
        stop = min(same_until, high_watermark, _common_next_offset(replica, best))
        within = replica.log_start_offset, stop
        found = [(gap, common([gap.offsets], within)) for gap in gaps]
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


def _high_watermark(replicas: Sequence[Replica], best: LeaderEpochs, settings: Settings) -> int:
    """Return the offset up to which copies are replicated, by checkpoints of the newest epoch."""
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
    """Return the offset up to which a copy has the same log; unlimited if it has no epochs."""
    if not replica.epochs:
        return OPEN_END
    return best.common_next_offset(leader_epochs_of(replica.epochs))


def _files(replica: Replica, parts: Sequence[OffsetRange]) -> tuple[SegmentFile, ...]:
    """Return the segments up to the one after the last part, whose start is that part's end."""
    count = sum(file.base_offset < parts[-1][1] for file in replica.segments)
    return replica.segments[: count + 1]
