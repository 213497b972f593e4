"""Rows of the ledger by which an election's outcome is committed. Effect: writes files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import LastBatch
from seglake.lake.parquet_files import DataFile
from seglake.lake.tables import CHECKPOINTS
from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.segment_ingest.committing.wave import write_rows
from seglake.pipelines.segment_ingest.run_context import RunContext


@dataclass(frozen=True, slots=True)
class SupersededRange:
    """Offsets of which the lake has rows that lost an election.

    Attributes:
        leader_epoch: the newest of the log that won; None where it is the same log, taken anew.
        last_batch: the last one known of that log.
        records, batches: how many rows of these tables lost it.
    """

    key: PartitionKey
    offsets: OffsetRange
    leader_epoch: int | None
    last_batch: LastBatch | None
    records: int
    batches: int

    def __str__(self) -> str:
        start, stop = self.offsets
        return f"{self.key} [{start}, {stop})"


@dataclass(frozen=True, slots=True)
class ReleasedRange:
    """Superseded offsets that the log which won does not reach."""

    key: PartitionKey
    offsets: OffsetRange


def superseded_files(
    ranges: Iterable[SupersededRange],
    generations: Mapping[str, int],
    attempt_id: str,
    context: RunContext,
) -> dict[str, list[DataFile]]:
    """The files of the ledger that say so, by topic.

    Args:
        generations: of each topic, before the commit.
    """
    rows = [(of.key, _superseded_row(of)) for of in ranges]
    return _files(rows, generations, attempt_id, context)


def released_files(
    ranges: Iterable[ReleasedRange],
    generations: Mapping[str, int],
    attempt_id: str,
    context: RunContext,
) -> dict[str, list[DataFile]]:
    """The same of offsets that are free again; the arguments are those of `superseded_files`."""
    rows = [(of.key, _row(RangeKind.RELEASED, of.offsets)) for of in ranges]
    return _files(rows, generations, attempt_id, context)


def _superseded_row(superseded: SupersededRange) -> dict[str, Any]:
    row = _row(RangeKind.SUPERSEDED, superseded.offsets)
    batch = superseded.last_batch
    return row | {
        "records": superseded.records,
        "batches": superseded.batches,
        "leader_epoch": superseded.leader_epoch,
        "last_batch_base_offset": None if batch is None else batch.base_offset,
        "last_batch_crc": None if batch is None else batch.crc,
    }


# Any: the columns of a row have many types.
def _row(kind: RangeKind, offsets: OffsetRange) -> dict[str, Any]:
    start, stop = offsets
    nothing = dict.fromkeys(
        ("records", "batches", "quarantined_batches", "bytes", "key_bytes", "value_bytes"), 0
    )
    return {
        **nothing,
        "kind": str(kind),
        "start_offset": start,
        "next_offset": stop,
        "offset_sum": Decimal(0),
    }


def _files(
    rows: Sequence[tuple[PartitionKey, dict[str, Any]]],
    generations: Mapping[str, int],
    attempt_id: str,
    context: RunContext,
) -> dict[str, list[DataFile]]:
    read = context.settings.read
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for key, row in rows:
        stamp = {
            "source_id": context.source_id,
            **key._asdict(),
            "isolation": str(read.isolation),
            "upper_bound": str(read.upper_bound),
            "run_id": context.run_id,
            "attempt_id": attempt_id,
            "committed_at": datetime.now(UTC),
            "generation": generations[key.topic] + 1,
        }
        by_topic.setdefault(key.topic, []).append({**row, **stamp})
    return {
        topic: write_rows(
            context,
            CHECKPOINTS,
            topic,
            pa.RecordBatch.from_pylist(of_topic, schema=CHECKPOINTS.schema),
        )
        for topic, of_topic in by_topic.items()
    }
