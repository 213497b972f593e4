"""Requests comparisons, to find copies that contradict the tables. Reads tables."""

from collections.abc import Iterator

from seglake.ingest_steps.planning.partitions import (
    JudgedPartition,
    SurveyedPartition,
)
from seglake.ingest_steps.replica_conflicts.lake_batches import (
    every_lake_batch,
    lake_batches,
)
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_ranges import OffsetRange, common
from seglake.kafka_log.replica import Replica
from seglake.log_dirs.batch_walk import BatchHead
from seglake.segment_codec.formats.side_files.log_dir import OFFSET_MAX
from seglake.segment_decoding.listed_copies import ListedCopy
from seglake.segment_decoding.replica_compare_values import CompareRequest
from seglake.storage.storage import Storage


def replica_requests(
    partition: SurveyedPartition, offsets: OffsetRange, storage: Storage
) -> Iterator[CompareRequest]:
    """Yield comparisons of the chosen replica with all others, in the offsets to ingest."""
    before: tuple[ListedCopy, ...] = ()
    for other in partition.other_replicas:
        stop = min(offsets[1], other.log_end_offset)
        if offsets[0] < stop:
            yield CompareRequest(
                storage=storage,
                ours=partition.replica,
                theirs=other.replica,
                offsets=(offsets[0], stop),
                divergence_offset=other.divergence_offset,
                is_same_broker=partition.replica.may_be_duplicate_of(other.replica),
                before=before,
            )
            before += (ListedCopy(other.replica, other.divergence_offset),)


def tail_requests(
    partition: SurveyedPartition, context: RunContext, *, has_lost: bool
) -> Iterator[CompareRequest]:
    """Yield comparisons that find batches of losing copies above the highest offset in the tables.

    Args:
        partition: the surveyed partition.
        context: the run.
        has_lost: whether the chosen copy lost an election to the log in the tables.
    """
    if partition.unread_reason is not None:
        return
    start = max((stop for _, stop in partition.ledger.current), default=0)
    if not has_lost:
        start = max(start, partition.bounds.log_end_offset)
    before: tuple[ListedCopy, ...] = ()
    for copy, divergence, end in partition.losing_copies(has_lost=has_lost):
        if max(start, divergence) < end:
            yield CompareRequest(
                storage=context.storage,
                ours=(),
                theirs=copy,
                offsets=(start, end),
                divergence_offset=divergence,
                before=before,
            )
            before += (ListedCopy(copy, divergence),)


def lake_requests(partition: SurveyedPartition, context: RunContext) -> Iterator[CompareRequest]:
    """Yield comparisons of the lake with each copy, from the first different leader epoch on."""
    ledger, choice = partition.ledger, partition.choice
    # A log that ends below the ingested offsets still shows by its last epoch which log won.
    copies = [(choice.chosen, partition.agreed_end, partition.sound_end, OPEN_END)]
    copies += [
        (other.replica, other.divergence_offset, other.log_end_offset, other.divergence_offset)
        for other in choice.other_replicas
    ]
    before: tuple[ListedCopy, ...] = ()
    for copy, first, copy_end, divergence in copies:
        for offsets in common(ledger.current, (first, copy_end)):
            yield CompareRequest(
                storage=context.storage,
                ours=lake_batches(ledger, offsets, context),
                theirs=copy,
                offsets=offsets,
                divergence_offset=divergence,
                before=before,
            )
        before += (ListedCopy(copy, divergence, first),)


def duplicate_requests(partition: JudgedPartition, context: RunContext) -> Iterator[CompareRequest]:
    """Yield full comparisons of the two logs of a partition on one broker.

    If an earlier run ingested the first log, the lake's batches are compared with the second log.
    """
    listed = partition.listed
    sides: list[tuple[Replica | tuple[BatchHead, ...], Replica]] = [
        (found.kept, found.other) for found in listed.duplicates if not found.is_same_log
    ]
    if partition.is_second_log:
        ours = lake_batches(listed.ledger, (0, OFFSET_MAX), context)
        sides.append((ours, partition.replica))
    for first, second in sides:
        yield CompareRequest(
            storage=context.storage,
            ours=first,
            theirs=second,
            offsets=(0, OFFSET_MAX),
            divergence_offset=0,
            is_same_broker=True,
        )


def undecided_requests(partition: JudgedPartition, context: RunContext) -> Iterator[CompareRequest]:
    """Yield a comparison of the lake with a differing log if no leader epoch shows the winner."""
    ledger = partition.listed.ledger
    ours = every_lake_batch(ledger, context) if partition.is_undecided else None
    if ours is not None:
        yield CompareRequest(
            storage=context.storage,
            ours=ours,
            theirs=partition.replica,
            offsets=(0, OFFSET_MAX),
            divergence_offset=max((stop for _, stop in ledger.current), default=0),
            is_undecided=True,
        )
