"""Finds rows of the lake that lost an election after they were ingested. Effect: reads tables.

Kafka truncates a follower's log where it diverges from the leader's. From there on nothing of the
old log counts, not even above the end of the winning log. A transaction that was open there may
have ended differently in the winning log, so it is lost from its first batch on.
"""

from collections.abc import Iterable

from seglake.ingest_steps.committing.election_rows import SupersededRange
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.replica_conflicts.conflicts import Clash
from seglake.ingest_steps.replica_conflicts.lake_batches import Rows, batches_of
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.lake.tables import GAPS
from seglake.log_tables.current_gaps import GAP_COLUMNS
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_decoding.replica_compare import Winner

_BATCH_COLUMNS = (
    *("base_offset", "last_offset", "leader_epoch", "row_count"),
    *("producer_id", "is_transactional", "is_control"),
)


def lost_elections(
    partition: SurveyedPartition, clashes: Iterable[Clash], context: RunContext
) -> tuple[SupersededRange, ...]:
    """Return the ranges of the lake that lost an election to the chosen replica.

    Args:
        partition: the surveyed partition.
        clashes: clashes of replicas with the lake.
        context: the run.
    """
    epochs = partition.choice.leader_epochs.without_end
    winner = _winner(partition.replica, clashes) or _leader(partition.ledger, epochs)
    return () if winner is None else _lost_ranges(partition, winner, context)


def _winner(replica: Replica, clashes: Iterable[Clash]) -> Winner | None:
    """Return the elections that a replica won, over all ranges of the lake; None without one."""
    found = [
        clash.winner
        for clash in clashes
        if clash.winner is not None and clash.compare.theirs == replica
    ]
    if not found:
        return None
    last = max(found, key=lambda winner: winner.last_batch.base_offset if winner.last_batch else -1)
    return last._replace(first_offset=min(winner.first_offset for winner in found))


def _leader(ledger: PartitionLedger, leader_epochs: LeaderEpochs) -> Winner | None:
    """Return a leader whose epoch begins below rows of an older one, without batches of its own."""
    offset = ledger.lost_from(leader_epochs)
    if offset == OPEN_END or not common(ledger.current, (offset, OPEN_END)):
        return None
    return Winner(offset, leader_epochs.last_epoch, None)


def _lost_ranges(
    partition: SurveyedPartition, winner: Winner, context: RunContext
) -> tuple[SupersededRange, ...]:
    ledger, leader_epochs = partition.ledger, partition.choice.leader_epochs
    batches = current_batches(ledger, context)
    divergence = leader_epochs.divergence_offset(leader_epochs_of((), seen=_epochs(batches)))
    parted = min(divergence, winner.first_offset)
    start = min([parted, *_open_transactions(batches, parted)])
    # Below its log start the winner has neither epochs nor batches, so nothing is known there.
    start = max(start, partition.bounds.log_start_offset)
    spans = spans_of(ledger, batches, context)
    # A row is superseded whole: if the logs diverge inside of a gap, the whole gap is re-ingested.
    start = min([first for first, stop in spans if first < start < stop], default=start)
    stop = _own_from(batches, start, winner, leader_epochs)
    ranges = common(ledger.current, (start, stop))
    return tuple(superseded(partition.key, offsets, batches, winner) for offsets in ranges)


def _own_from(batches: Rows, start: int, winner: Winner, leader_epochs: LeaderEpochs) -> int:
    """Return the offset from which on an earlier run ingested the winner's log.

    The winner differs from the tables only below it.
    """
    if winner.leader_epoch is None:
        return OPEN_END
    return min(
        (
            row["base_offset"]
            for row in batches
            if row["base_offset"] >= start
            and (row["leader_epoch"] or 0) >= winner.leader_epoch
            and row["leader_epoch"] == leader_epochs.epoch_at(row["base_offset"])
        ),
        default=OPEN_END,
    )


def superseded(
    key: PartitionKey, offsets: OffsetRange, batches: Rows, winner: Winner | None = None
) -> SupersededRange:
    """Return a range that lost an election, with the number of its records and batches."""
    start, stop = offsets
    lost = [row for row in batches if start <= row["base_offset"] < stop]
    return SupersededRange(
        key=key,
        offsets=offsets,
        leader_epoch=None if winner is None else winner.leader_epoch,
        last_batch=None if winner is None else winner.last_batch,
        records=sum(row["row_count"] or 0 for row in lost),
        batches=len(lost),
    )


def current_batches(ledger: PartitionLedger, context: RunContext) -> Rows:
    """Return the batches of a partition that lost no election, by rising offsets."""
    rows = batches_of(ledger, _BATCH_COLUMNS, context)
    return sorted(rows, key=lambda row: int(row["base_offset"]))


def spans_of(ledger: PartitionLedger, batches: Rows, context: RunContext) -> list[OffsetRange]:
    """Return the offset ranges of current rows: of these batches, and of their partition's gaps."""
    gaps = context.tables.rows(GAPS, context.source_id, GAP_COLUMNS).to_pylist()
    return [
        *((row["base_offset"], row["last_offset"] + 1) for row in batches),
        *(
            (row["start_offset"], row["next_offset"])
            for row in gaps
            if ledger.owns(row) and ledger.is_current_gap(row["start_offset"], row["attempt_id"])
        ),
    ]


def _open_transactions(batches: Rows, offset: int) -> list[int]:
    """Return the first offsets of transactions that are open at an offset.

    If a marker is missing, a closed transaction looks open: then more than necessary is
    re-ingested.
    """
    firsts: dict[int, int] = {}
    for row in batches:
        if row["base_offset"] >= offset:
            break
        if row["is_control"]:
            firsts.pop(row["producer_id"], None)
        elif row["is_transactional"]:
            firsts.setdefault(row["producer_id"], row["base_offset"])
    return list(firsts.values())


def _epochs(batches: Rows) -> list[EpochStart]:
    """Return the first offset of each leader epoch's batches."""
    found: list[EpochStart] = []
    for row in batches:
        epoch = row["leader_epoch"]
        if epoch is not None and (not found or found[-1].epoch != epoch):
            found.append(EpochStart(epoch, row["base_offset"]))
    return found
