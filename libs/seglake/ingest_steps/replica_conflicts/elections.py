"""Finds rows of the lake that lost an election after they were ingested. Reads tables.

Kafka truncates a follower's log at the offset where it diverges from the leader's log. So from this
offset on, no record of the old log is valid, not even above the end of the winning log. A
transaction that was open at that offset may have ended differently in the winning log, so all of
its batches are lost.
"""

from collections.abc import Iterable, Sequence

from seglake.ingest_steps.committing.election_rows import SupersededRange
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.replica_conflicts.conflicts import Clash
from seglake.ingest_steps.replica_conflicts.lake_batches import Rows, batches_of
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged
from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.lake.tables import GAPS
from seglake.log_tables.current_gaps import GAP_COLUMNS
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_decoding.replica_compare_values import Winner

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
    """Return the election that a replica won, combined from all clashes; None if there was none."""
    found = [
        clash.found.winner
        for clash in clashes
        if clash.found.winner is not None and clash.compare.theirs == replica
    ]
    if not found:
        return None
    last = max(found, key=lambda winner: winner.last_batch.base_offset if winner.last_batch else -1)
    return last._replace(first_offset=min(winner.first_offset for winner in found))


def _leader(ledger: PartitionLedger, leader_epochs: LeaderEpochs) -> Winner | None:
    """Return a newer leader's election: without batches, but with an epoch that covers old rows."""
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
    # Nothing is known below the winner's log start, since it has no epochs or batches there.
    start = max(start, partition.bounds.log_start_offset, ledger.expired_to)
    spans = spans_of(ledger, batches, context)
    # Rows are superseded as a whole: if the logs diverge inside a gap, the whole gap is superseded.
    start = min([first for first, stop in spans if first < start < stop], default=start)
    stop = _own_from(batches, start, winner, leader_epochs)
    ranges = common(ledger.current, (start, stop))
    erased = erased_offsets(ledger, context)
    return tuple(superseded(partition.key, offsets, batches, erased, winner) for offsets in ranges)


def _own_from(batches: Rows, start: int, winner: Winner, leader_epochs: LeaderEpochs) -> int:
    """Return the first offset at which the tables have the winner's own batches.

    Only below this offset the tables differ from the winner.
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
    key: PartitionKey,
    offsets: OffsetRange,
    batches: Rows,
    erased: Sequence[OffsetRange],
    winner: Winner | None = None,
) -> SupersededRange:
    """Return a range that lost an election, with the number of its records and batches.

    Args:
        key: the partition.
        offsets: the range.
        batches: current batches of the partition.
        erased: erased offsets of the partition; the batches no longer have these records.
        winner: the election; None if a retake replaces the range.
    """
    start, stop = offsets
    gone = sum(last - first for first, last in common(erased, offsets))
    lost = [row for row in batches if start <= row["base_offset"] < stop]
    return SupersededRange(
        key=key,
        offsets=offsets,
        leader_epoch=None if winner is None else winner.leader_epoch,
        last_batch=None if winner is None else winner.last_batch,
        records=sum(row["row_count"] or 0 for row in lost) - gone,
        batches=len(lost),
    )


def current_batches(ledger: PartitionLedger, context: RunContext) -> Rows:
    """Return the batches of a partition that lost no election, by rising offsets."""
    rows = batches_of(ledger, _BATCH_COLUMNS, context)
    return sorted(rows, key=lambda row: int(row["base_offset"]))


def erased_offsets(ledger: PartitionLedger, context: RunContext) -> list[OffsetRange]:
    """Return the current ranges of erased offsets of a partition, sorted."""
    return merged(
        (gap["start_offset"], gap["next_offset"])
        for gap in _gaps(ledger, context)
        if gap["cause"] == GapCause.ERASED
    )


def _gaps(ledger: PartitionLedger, context: RunContext) -> Rows:
    """Return the partition's current gaps."""
    return [
        row
        for row in context.tables.rows(GAPS, context.source_id, GAP_COLUMNS).to_pylist()
        if ledger.owns(row) and ledger.is_current_gap(row["start_offset"], row["attempt_id"])
    ]


def spans_of(ledger: PartitionLedger, batches: Rows, context: RunContext) -> list[OffsetRange]:
    """Return the offset ranges of batches and of the partition's current gaps, together."""
    return [
        *((row["base_offset"], row["last_offset"] + 1) for row in batches),
        *((row["start_offset"], row["next_offset"]) for row in _gaps(ledger, context)),
    ]


def _open_transactions(batches: Rows, offset: int) -> list[int]:
    """Return the first offsets of transactions that are open at an offset.

    If the marker of an ended transaction is missing, the transaction looks open. Then more batches
    than necessary are re-ingested.
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
    """Return each leader epoch of the batches, with its first offset."""
    found: list[EpochStart] = []
    for row in batches:
        epoch = row["leader_epoch"]
        if epoch is not None and (not found or found[-1].epoch != epoch):
            found.append(EpochStart(epoch, row["base_offset"]))
    return found
