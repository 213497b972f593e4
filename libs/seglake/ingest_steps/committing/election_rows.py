"""Ledger rows that commit the outcome of an election. Writes files."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from seglake.grouping import grouped
from seglake.ingest_steps.committing.range_result import last_batch_columns
from seglake.ingest_steps.committing.wave import ledger_columns, write_ledger
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import LastBatch
from seglake.lake.parquet_files import DataFile
from seglake.log_tables.ledger_layers import RangeKind, empty_row


class SupersededRange(NamedTuple):
    """A range whose rows in the lake are no longer valid.

    The rows lost an election to another log, or `seglake retake` ingests the range again.

    Attributes:
        key: the partition.
        offsets: the range.
        leader_epoch: newest epoch of the winning log; None if `seglake retake` ingests the same log
            again.
        last_batch: last known batch of the winning log.
        records: number of rows in `records` that are no longer valid.
        batches: number of rows in `batches` that are no longer valid.
    """

    key: PartitionKey
    offsets: OffsetRange
    leader_epoch: int | None
    last_batch: LastBatch | None
    records: int
    batches: int

    def __str__(self) -> str:
        """Return the partition and the range."""
        start, stop = self.offsets
        return f"{self.key} [{start}, {stop})"


class ReleasedRange(NamedTuple):
    """Superseded offsets above the end of the winning log; later records may have them."""

    key: PartitionKey
    offsets: OffsetRange


def ledger_files(
    ranges: Iterable[SupersededRange | ReleasedRange],
    generations: Mapping[str, int],
    attempt_id: str,
    context: RunContext,
) -> dict[str, list[DataFile]]:
    """Write ranges as rows of the ledger, and return the files by topic.

    Args:
        ranges: superseded and released ranges.
        generations: commit counter of each topic before the commit.
        attempt_id: id of the commit to all tables.
        context: the run.
    """
    now = datetime.now(UTC)
    by_topic = grouped((of.key.topic, of) for of in ranges)
    return {
        topic: write_ledger(
            context,
            topic,
            [
                _row(of) | ledger_columns(of.key, generations[topic] + 1, attempt_id, now, context)
                for of in own
            ],
        )
        for topic, own in by_topic.items()
    }


# Any: a row's columns have many types.
def _row(of: SupersededRange | ReleasedRange) -> dict[str, Any]:
    if isinstance(of, ReleasedRange):
        return empty_row(RangeKind.RELEASED, of.offsets)
    counts = {"records": of.records, "batches": of.batches, "leader_epoch": of.leader_epoch}
    row = empty_row(RangeKind.SUPERSEDED, of.offsets)
    return row | counts | last_batch_columns(of.last_batch)
