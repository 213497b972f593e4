"""What to compare with what to find copies that contradict the tables. Effect: reads tables."""

from collections.abc import Iterator

from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.replica_selection import PartitionChoice, sound_end
from seglake.lake.tables import BATCHES
from seglake.log_dirs.batch_walk import BatchHead
from seglake.log_tables.coverage import Coverage
from seglake.pipelines.segment_ingest.planning.surveyed_partition import SurveyedPartition
from seglake.pipelines.segment_ingest.replica_conflicts.replica_compare import CompareRequest
from seglake.pipelines.segment_ingest.run_context import RunContext
from seglake.storage.storage import Storage

_BATCH_COLUMNS = (
    "topic_id",
    "partition",
    "base_offset",
    "last_offset",
    "crc",
    "leader_epoch",
    "record_count",
    "delete_horizon_ms",
    "magic",
    "generation",
)


def replica_requests(
    partition: SurveyedPartition, offsets: OffsetRange, storage: Storage
) -> Iterator[CompareRequest]:
    """The chosen copy against each of its other replicas, over offsets that a run wants."""
    for other in partition.other_replicas:
        stop = min(offsets[1], other.log_end_offset)
        if offsets[0] < stop:
            yield CompareRequest(
                storage=storage,
                ours=partition.replica,
                theirs=other.replica,
                offsets=(offsets[0], stop),
                divergence_offset=other.divergence_offset,
            )


def lake_requests(
    choice: PartitionChoice, coverage: Coverage, context: RunContext
) -> Iterator[CompareRequest]:
    """The lake against each copy, over what earlier runs took, from where leader epochs part."""
    key, end = choice.chosen.key, sound_end(choice.surveys)
    # Also where the log ends below what was taken, its last epoch tells who won.
    agreed = coverage.same_log_until(key, choice.leader_epochs.without_end, end)
    copies = [(choice.chosen, agreed, end, OPEN_END)]
    copies += [
        (
            other_replica.replica,
            other_replica.divergence_offset,
            other_replica.log_end_offset,
            other_replica.divergence_offset,
        )
        for other_replica in choice.other_replicas
    ]
    for copy, first, copy_end, divergence in copies:
        for covered_start, covered_stop in coverage.current_ranges(key):
            offsets = max(covered_start, first), min(covered_stop, copy_end)
            if offsets[0] < offsets[1]:
                lake = _lake_batches(key, offsets, coverage, context)
                yield CompareRequest(
                    storage=context.storage,
                    ours=lake,
                    theirs=copy,
                    offsets=offsets,
                    divergence_offset=divergence,
                )


def _lake_batches(
    key: PartitionKey, offsets: OffsetRange, coverage: Coverage, context: RunContext
) -> tuple[BatchHead, ...]:
    """The batches of magic 2 that the lake has in a range; older formats know no leader epoch."""
    start, stop = offsets
    rows = context.tables.rows(
        BATCHES,
        context.source_id,
        _BATCH_COLUMNS,
        topic=key.topic,
        pruned_by=[
            ("partition", "=", key.partition),
            ("base_offset", "<", stop),
            ("last_offset", ">=", start),
        ],
    ).to_pylist()
    heads = [
        BatchHead(
            first_offset=row["base_offset"],
            last_offset=row["last_offset"],
            crc=row["crc"],
            leader_epoch=row["leader_epoch"],
            is_dense=row["record_count"] == row["last_offset"] - row["base_offset"] + 1
            and row["delete_horizon_ms"] is None,
            magic=2,
            codec_id=0,
            record_count=row["record_count"],
            position=0,
            size_bytes=0,
        )
        for row in rows
        if row["magic"] == 2
        and coverage.joined_key(PartitionKey(key.topic, row["partition"], row["topic_id"])) == key
        and row["base_offset"] < stop
        and row["last_offset"] >= start
        and coverage.is_current(key, row["base_offset"], row["generation"])
    ]
    return tuple(sorted(heads))
