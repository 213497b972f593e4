"""Values of the ingest pipeline as a test wants them; nothing lies on any disk."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypedDict, Unpack

from seglake.ingest_steps.planning.partitions import (
    ListedPartition,
    SurveyedPartition,
)
from seglake.kafka_log.leader_epochs import leader_epochs_of
from seglake.kafka_log.log_bounds import LogBounds, bounds_of
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import Checkpoints, PartitionKey, Replica, SegmentFile
from seglake.kafka_log.replica_selection import OtherReplica, PartitionChoice
from seglake.kafka_log.segment_survey import (
    DataSpan,
    EndDamage,
    SegmentSurvey,
    SegmentTransactions,
    SplitPoint,
    TimeWindow,
)
from seglake.kafka_log.transaction_markers import Marker
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_decoding.tasks import (
    ByteCount,
    DecodeSettings,
    SplitReport,
    Totals,
)
from seglake.settings.settings import Settings
from seglake.storage.local_storage import LocalStorage

BATCH_BYTES = 100
BATCH_OFFSETS = 10
KEY = PartitionKey("orders", 0, None)


def replica(
    edges: Sequence[int] = (0, 100),
    *,
    key: PartitionKey = KEY,
    high_watermark: int | None = 10**9,
    log_start_offset: int | None = None,
    has_remote_tier: bool = False,
    last_epoch: int = 0,
    broker_id: int = 0,
    is_future: bool = False,
) -> Replica:
    """A copy with segments between the edges, of batches of ten offsets and a hundred bytes."""
    folder = f"/disks/{broker_id}/{key}"
    return Replica(
        key,
        broker_id,
        folder,
        is_future,
        Checkpoints(True, high_watermark, None, log_start_offset, None, has_remote_tier),
        (EpochStart(last_epoch, edges[0]),),
        tuple(
            SegmentFile(
                start,
                f"{folder}/{start:020d}.log",
                f"{key}/{start:020d}.log",
                (stop - start) // BATCH_OFFSETS * BATCH_BYTES,
                None,
            )
            for start, stop in pairwise(edges)
        ),
    )


def survey(
    start: int,
    stop: int,
    *,
    split_bytes: int = BATCH_BYTES,
    is_plain: bool = True,
    is_cut_open: bool = False,
    events: tuple[Marker | DataSpan, ...] = (),
    window: tuple[int | None, int | None] = (None, None),
) -> SegmentSurvey:
    """Return a survey of a segment, as the product's survey would find it."""
    every = split_bytes // BATCH_BYTES
    starts = range(start, stop, BATCH_OFFSETS * every)
    splits = [
        SplitPoint((offset - start) // BATCH_OFFSETS * BATCH_BYTES, offset, offset, offset)
        for offset in starts
    ]
    return SegmentSurvey(
        size_bytes=(stop - start) // BATCH_OFFSETS * BATCH_BYTES,
        first_offset=start if start < stop else None,
        next_offset=stop,
        highest_offset=stop,
        splits=tuple(splits) if is_plain else (SplitPoint(0, start, start, -1, is_plain=False),),
        is_plain=is_plain,
        end_damage=EndDamage(0, 1) if is_cut_open else None,
        transactions=SegmentTransactions(events),
        window=TimeWindow(*window),
    )


class ReplicaFacts(TypedDict, total=False):
    """Facts of a copy; see `replica`."""

    key: PartitionKey
    high_watermark: int | None
    log_start_offset: int | None
    has_remote_tier: bool


def surveyed(
    edges: Sequence[int] = (0, 100),
    *,
    settings: Settings | None = None,
    covered: Sequence[OffsetRange] = (),
    split_bytes: int = BATCH_BYTES,
    is_plain: bool = True,
    **facts: Unpack[ReplicaFacts],
) -> SurveyedPartition:
    """A partition that is ready to be planned, of one copy with these facts."""
    copy = replica(edges, **facts)
    surveys = tuple(
        survey(start, stop, split_bytes=split_bytes, is_plain=is_plain)
        for start, stop in pairwise(edges)
    )
    bounds = bounds_of(copy, surveys, (settings or Settings()).read_policy)
    choice = PartitionChoice(copy, surveys, leader_epochs_of(copy.epochs), (), ())
    return partition_of(choice, bounds, tuple(covered))


def partition_of(
    choice: PartitionChoice, bounds: LogBounds, covered: tuple[OffsetRange, ...] = ()
) -> SurveyedPartition:
    """A surveyed partition of which the lake covers some ranges."""
    key = choice.chosen.key
    listed = ListedPartition((choice.chosen,), PartitionLedger.covering(key, covered))
    return SurveyedPartition(listed, choice, bounds, covered)


def ledger_covering(key: PartitionKey, offsets: OffsetRange) -> SourceLedger:
    """A source's ledger with one ingested range."""
    row = PartitionLedger.covering(key, [offsets]).rows[0]
    return SourceLedger([{**row, **key._asdict(), "isolation": "read_committed"}])


def decode_settings() -> DecodeSettings:
    """Settings of tasks that nobody runs."""
    sizes = (1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20)
    return DecodeSettings(
        LocalStorage(), "/lake", "source", "run", "attempt", 0, True, False, *sizes, 1
    )


def beside(partition: SurveyedPartition, *others: OtherReplica) -> SurveyedPartition:
    """Return a partition with further replicas beside the chosen one."""
    return partition._replace(choice=partition.choice._replace(other_replicas=others))


def report(
    first_offset: int | None = None,
    next_offset: int | None = None,
    *,
    size_bytes: int = 0,
    records: int = 0,
    **facts: Any,  # fields of a report
) -> SplitReport:
    """Return a task's report on one split."""
    plain = SplitReport(
        first_offset=first_offset,
        next_offset=next_offset,
        has_leading_defect=False,
        has_trailing_defect=False,
        is_compacted_at_start=False,
        is_compacted_at_end=False,
        cut_offset=None,
        bytes=ByteCount(sound=size_bytes),
        totals=Totals(records=records, offsets=(next_offset or 0) - (first_offset or 0)),
        times_ms=None,
        last_batch=None,
        markers=(),
        defects=(),
        gaps={},
        open_rows=0,
        tails=(),
    )
    return plain._replace(**facts)


def epoch_starts(*entries: tuple[int, int]) -> tuple[EpochStart, ...]:
    return tuple(EpochStart(*entry) for entry in entries)


def replica_with_epochs(
    broker_id: int,
    end: int,
    *epochs: tuple[int, int],
    high_watermark: int | None = None,
    log_start_offset: int | None = None,
    is_future: bool = False,
) -> Replica:
    copy = replica(
        (0, end),
        broker_id=broker_id,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        is_future=is_future,
    )
    return copy._replace(epochs=epoch_starts(*epochs))


def ledger_row(
    key: PartitionKey, next_offset: int, *, last_base_offset: int, leader_epoch: int | None
) -> dict[str, object]:
    """Return the ledger row of a run that ingested a log's beginning, without open transactions."""
    return {
        "topic": key.topic,
        "partition": key.partition,
        "topic_id": key.topic_id,
        "kind": "ingest",
        "start_offset": 0,
        "next_offset": next_offset,
        "generation": 1,
        "isolation": "read_committed",
        "last_stable_offset": next_offset,
        "log_end_offset": next_offset,
        "high_watermark": next_offset,
        "upper_bound": "high_watermark",
        "leader_epoch": leader_epoch,
        "last_batch_base_offset": last_base_offset,
        "last_batch_crc": 1,
    }
