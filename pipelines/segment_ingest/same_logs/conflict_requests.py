"""What to compare with what to find copies that contradict the tables. Effect: reads tables."""

from collections.abc import Iterator

from lake.storage import Storage
from lake.tables import BATCHES
from pipelines.segment_ingest.execute import RunContext
from pipelines.segment_ingest.planning.coverage import Coverage, OffsetRange
from pipelines.segment_ingest.planning.plan import SurveyedPartition
from pipelines.segment_ingest.same_logs.lineage import OPEN_END
from pipelines.segment_ingest.same_logs.log_heads import BatchHead
from pipelines.segment_ingest.same_logs.replica_compare import CompareRequest
from pipelines.segment_ingest.same_logs.replicas import PartitionChoice, sound_end
from pipelines.segment_ingest.sources.partition_log import PartitionKey

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
)


def sibling_requests(
    partition: SurveyedPartition, offsets: OffsetRange, storage: Storage
) -> Iterator[CompareRequest]:
    """The chosen copy against each of its siblings, over offsets that a run wants."""
    for sibling in partition.siblings:
        stop = min(offsets[1], sibling.log_end_offset)
        if offsets[0] < stop:
            yield CompareRequest(
                storage,
                partition.replica,
                sibling.replica,
                (offsets[0], stop),
                sibling.parting_offset,
            )


def lake_requests(
    choice: PartitionChoice, coverage: Coverage, context: RunContext
) -> Iterator[CompareRequest]:
    """The lake against each copy, over what earlier runs took, from where leader epochs part."""
    key, end = choice.chosen.key, sound_end(choice.surveys)
    # Also where the log ends below what was taken, its last epoch tells who won.
    agreed = coverage.same_log_until(key, choice.lineage.without_end, end)
    copies = [(choice.chosen, agreed, end, OPEN_END)]
    copies += [
        (each.replica, each.parting_offset, each.log_end_offset, each.parting_offset)
        for each in choice.siblings
    ]
    for copy, first, copy_end, parting in copies:
        for covered_start, covered_stop in coverage.ranges(key):
            offsets = max(covered_start, first), min(covered_stop, copy_end)
            if offsets[0] < offsets[1]:
                lake = _lake_batches(key, offsets, coverage, context)
                yield CompareRequest(context.storage, lake, copy, offsets, parting)


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
            row["base_offset"],
            row["last_offset"],
            row["crc"],
            row["leader_epoch"],
            row["record_count"] == row["last_offset"] - row["base_offset"] + 1
            and row["delete_horizon_ms"] is None,
            2,
            0,
            row["record_count"],
            0,
            0,
        )
        for row in rows
        if row["magic"] == 2
        and coverage.joined_key(PartitionKey(key.topic, row["partition"], row["topic_id"])) == key
        and row["base_offset"] < stop
        and row["last_offset"] >= start
    ]
    return tuple(sorted(heads))
