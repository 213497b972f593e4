"""Decodes a part of a disk again and compares its records with the lake's. Runs in tasks.

Each byte is read once, by the decoder that ingests use; nothing is written. Only the task's
argument is sent to the worker. Memory: one window of the file, twice the decompressed bytes of one
flush, and the lake's rows of the same offsets.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seglake.kafka_log.batch_headers import counted_offset
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import SegmentFile
from seglake.kafka_log.transaction_markers import TransactionState
from seglake.lake.parquet_rows import NULL_NUMBER
from seglake.lake.tables import CLUSTER_METADATA
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.segment_files import check_size
from seglake.log_dirs.segment_reader import open_segment
from seglake.log_dirs.segment_side_files import anchors
from seglake.log_tables.batch_rows import header_columns
from seglake.log_tables.internal_columns import INTERPRETERS
from seglake.log_tables.record_rows import Origin, UnitRows, record_rows, shared_of
from seglake.pipelines.lake_audit.disk_check.absence_reasons import (
    DiskRecords,
    why_absent,
    why_different,
)
from seglake.pipelines.lake_audit.disk_check.lake_rows import LakeRows, Quarantined
from seglake.pipelines.lake_audit.disk_check.ledger_rows import Offsets
from seglake.pipelines.lake_audit.disk_check.record_compare import PAYLOAD_COLUMNS, match
from seglake.segment_codec.formats.aiven_tier.errors import TierObjectError
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectError, SegmentCodecError
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.columns import LOWEST_OFFSET, ColumnBuilder
from seglake.segment_codec.kernels.flush import Columns
from seglake.segment_codec.kernels.outcomes import PiecesOutcome, UnitOutcome
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.offset_places import first_offset_of
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import Window
from seglake.settings.settings import ReadSettings
from seglake.storage.errors import StorageError
from seglake.storage.storage import Storage
from seglake.task_engine.task_progress import CountedReads

_MOST_OFFSETS = 10


class DiskPiece(NamedTuple):
    """Consecutive segments of one replica, and the rows of their partition in the lake.

    Attributes:
        source: storage of the segments.
        lake: the partition's rows.
        broker_id: the disk's broker; None if unknown.
        files: the segments, by base offset.
        stop_offset: start of the segment after the last one; None if it is the last one of the log.
        durable_offset: offset below which the replica's records are known to be durable.
        cleaner_offset: offset up to which the log cleaner has cleaned the log; 0 if unknown.
        log_start_offset: the replica's log start.
        known_start_offset: the highest log start in the lake.
        covered: merged ranges that the lake has ingested.
        read: settings that limit memory.
        max_decompressed_batch_bytes: limit of one batch.
    """

    source: Storage
    lake: LakeRows
    broker_id: int | None
    files: tuple[SegmentFile, ...]
    stop_offset: int | None
    durable_offset: int
    cleaner_offset: int
    log_start_offset: int
    known_start_offset: int
    covered: tuple[OffsetRange, ...]
    read: ReadSettings
    max_decompressed_batch_bytes: int

    @property
    def size_bytes(self) -> int:
        """Return the total size of the segments in bytes."""
        return sum(file.size_bytes for file in self.files)


class Places(NamedTuple):
    """Number of records, with the lowest few of their offsets."""

    records: int = 0
    first_offsets: tuple[int, ...] = ()

    def joined(self, other: "Places") -> "Places":
        """Return the sum of these and other records."""
        shown = sorted([*self.first_offsets, *other.first_offsets])[:_MOST_OFFSETS]
        return Places(self.records + other.records, tuple(shown))

    def and_more(self, offsets: Offsets) -> "Places":
        """Return the sum of these and further records, given by their offsets."""
        return self.joined(Places(len(offsets), tuple(np.sort(offsets)[:_MOST_OFFSETS].tolist())))


_NOWHERE = Places()


class Unread(NamedTuple):
    """Unreadable offsets of a replica; without `next_offset`, up to the log's end."""

    start_offset: int
    next_offset: int | None
    reason: str


@dataclass(slots=True)
class PieceReport:
    """Result of a piece's comparison.

    Attributes:
        equal: number of records that are equal in lake and disk.
        different: records with another payload in the lake, without an explanation.
        only_on_disk: records that the lake lacks, without an explanation.
        explained_differences: number of explained records with another payload, by reason.
        left_out: number of explained records that the lake lacks, by reason.
        not_ingested: offset ranges that the lake does not cover.
        damaged_spans: number of byte spans that were not compared, because they cannot be decoded.
        failures: offsets that could not be read, with the reason.
    """

    equal: int = 0
    different: Places = _NOWHERE
    only_on_disk: Places = _NOWHERE
    explained_differences: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    not_ingested: list[OffsetRange] = field(default_factory=list)
    damaged_spans: int = 0
    failures: list[Unread] = field(default_factory=list)

    def add(self, other: "PieceReport") -> None:
        """Add the result of another piece of the same replica to this one."""
        self.equal += other.equal
        self.different = self.different.joined(other.different)
        self.only_on_disk = self.only_on_disk.joined(other.only_on_disk)
        self.explained_differences += other.explained_differences
        self.left_out += other.left_out
        self.not_ingested = merged([*self.not_ingested, *other.not_ingested])
        self.damaged_spans += other.damaged_spans
        self.failures += other.failures


def check_pieces(pieces: tuple[DiskPiece, ...]) -> list[PieceReport]:
    """Compare several pieces of disks with the lake; a task function."""
    return [_Check(piece).run() for piece in pieces]


class _AnyOrder(OffsetOrder):
    """Check of batch order that accepts every batch: an ingest would quarantine misplaced ones."""

    def judge(
        self, unit: Unit, base_offset: int, limit_offset: int, first_offset: int | None = None
    ) -> None:
        self.next_offset = max(self.next_offset, unit.last_offset + 1)


class _Check:
    """Comparison of one piece of a disk with the lake; it runs once."""

    def __init__(self, piece: DiskPiece) -> None:
        self._piece = piece
        self._report = PieceReport()
        self._quarantined = Quarantined()
        self._builder = ColumnBuilder(
            piece.max_decompressed_batch_bytes, piece.read.decoded_bytes, LOWEST_OFFSET
        )
        self._is_quarantined: list[bool] = []  # for each queued batch, whether it is in quarantine
        self._highest = LOWEST_OFFSET  # exclusive end of the highest offsets so far
        # Ends of the covered ranges, in rising order.
        self._covered_stops = [stop for _, stop in piece.covered]
        self._origin = Origin(*piece.lake.partition, run_id="", generation=0)

    def run(self) -> PieceReport:
        files = self._piece.files
        try:
            self._quarantined = self._piece.lake.quarantined(self._piece.broker_id)
            for index in range(len(files)):
                try:
                    self._read(index)
                # An unreadable segment affects only its own piece.
                except (TierObjectError, SourceVanishedError) as error:
                    self._fail(files[index].base_offset, index + 1, error)
            self._flush()
        except (StorageError, SegmentCodecError) as error:
            self._fail(files[0].base_offset, len(files), error)
        self._report.not_ingested = merged(self._report.not_ingested)
        return self._report

    def _fail(self, start_offset: int, stop: int, error: Exception) -> None:
        """Record why the segments before number `stop` could not be read, from an offset on."""
        files = self._piece.files
        stop_offset = files[stop].base_offset if stop < len(files) else self._piece.stop_offset
        self._report.failures.append(Unread(start_offset, stop_offset, str(error)))

    def _read(self, index: int) -> None:
        piece, file = self._piece, self._piece.files[index]
        is_last = piece.stop_offset is None and index + 1 == len(piece.files)
        bounds = SegmentBounds(
            base_offset=file.base_offset,
            limit_offset=limit_after(file.base_offset, piece.durable_offset),
            is_last=is_last,
            durable_offset=piece.durable_offset,
            anchors=anchors(piece.source, file),
            run_breaks=tuple(edge for offsets in piece.covered for edge in offsets),
            may_have_holes=file.base_offset < piece.cleaner_offset,
        )
        with open_segment(piece.source, file) as reader:
            check_size(file, reader.size_bytes, is_last=is_last)
            window = Window(CountedReads(reader), piece.read.window_bytes, file.size_bytes)
            walk = SegmentWalk(window, bounds, _AnyOrder(0))
            for item in walk.items():
                if isinstance(item, Defect):
                    self._report.damaged_spans += 1
                elif not isinstance(item, Tail):
                    batch = item.last_offset, item.crc, item.size_bytes
                    is_there = (file.name, item.position) in self._quarantined.places
                    self._account(item, is_there or batch in self._quarantined.of_losers)

    def _account(self, unit: Unit, is_quarantined: bool) -> None:
        """Queue the part of a batch that the lake may have; record the offsets that it lacks."""
        piece = self._piece
        if unit.last_offset < piece.log_start_offset:
            return
        spans: Sequence[OffsetRange] = [(piece.log_start_offset, self._ceiling(unit))]
        place = bisect_right(self._covered_stops, unit.last_offset)
        is_covered = any(start <= unit.last_offset for start, _ in piece.covered[place : place + 1])
        if not is_covered and not is_quarantined:  # runs never ingest quarantined batches
            first = first_offset_of(unit)
            start = max(unit.last_offset if first is None else first, piece.log_start_offset)
            spans = piece.covered[bisect_right(self._covered_stops, start) : place]
            self._report.not_ingested += subtracted((start, unit.last_offset + 1), spans)
        if isinstance(unit, RecordBatch) and (
            unit.header.is_control or not unit.header.record_count
        ):
            return
        is_late = unit.first_offset < self._highest and isinstance(unit, RecordBatch)
        for span in spans:
            self._queue(unit, span, is_quarantined, is_late=is_late)
        self._highest = max(self._highest, unit.last_offset + 1)

    def _queue(self, unit: Unit, span: OffsetRange, is_quarantined: bool, *, is_late: bool) -> None:
        """Queue a batch's records in a range of offsets, to compare them."""
        if not self._builder.accepts(unit):
            self._flush()
        try:
            self._builder.add(unit, *span, is_late=is_late)
        except DefectError:
            self._report.damaged_spans += 1
            return
        self._is_quarantined.append(is_quarantined)
        if self._builder.plain_bytes >= self._piece.read.decoded_bytes:
            self._flush()

    def _ceiling(self, unit: Unit) -> int:
        """Return an offset above all of a batch's records; see `PartitionSplit.ceiling`."""
        return max([*self._covered_stops[-1:], unit.last_offset + 1, counted_offset(unit)])

    def _flush(self) -> None:
        columns, found = self._builder.flush()
        quarantined, self._is_quarantined = self._is_quarantined, []
        outcomes: list[UnitOutcome] = []
        is_quarantined: list[bool] = []
        rows: list[UnitRows] = []
        start = 0
        for outcome, is_known in zip(found, quarantined, strict=True):
            pieces = outcome.pieces if isinstance(outcome, PiecesOutcome) else (outcome,)
            for piece in pieces:
                if isinstance(piece, Defect) or piece.fault is not None:
                    self._report.damaged_spans += 1
                if isinstance(piece, Defect) or not piece.is_kept:
                    continue
                timestamp_type = header_columns(piece.unit).timestamp_type
                count = piece.row_stop - start
                state = TransactionState.NONE
                rows.append(UnitRows(count, timestamp_type, state, piece.first_offset))
                outcomes.append(piece)
                is_quarantined.append(is_known and len(pieces) == 1)
                start = piece.row_stop
        if len(columns.offsets):
            disk = _payload_table(record_rows(columns, shared_of(rows), self._origin)[0])
            self._compare(disk, _disk_records(columns, outcomes, is_quarantined))

    def _compare(self, disk: pa.Table, records: DiskRecords) -> None:
        report, lake = self._report, self._piece.lake
        first, last = int(records.offsets.min()), int(records.offsets.max())
        in_lake = lake.payloads(first, last)
        found = match(_as_kept(lake.partition.key.topic, disk), in_lake)
        report.equal += int(found.is_equal.sum())
        absent = records.filtered(~found.is_there)
        different = records.filtered(found.is_there & ~found.is_equal)
        if not len(absent.offsets) and not len(different.offsets):
            return
        batches = lake.batches_at(first, last)
        if len(absent.offsets):
            gaps = lake.gaps_at(first, last)
            why = why_absent(absent, batches, gaps, self._piece.known_start_offset)
            report.only_on_disk = report.only_on_disk.and_more(why.unexplained)
            report.left_out += why.counts
        if len(different.offsets):
            why = why_different(different, batches)
            report.different = report.different.and_more(why.unexplained)
            report.explained_differences += why.counts


def _as_kept(topic: str, disk: pa.Table) -> pa.Table:
    """Return the records without possible secrets, which the lake never has."""
    if not CLUSTER_METADATA.serves(topic):
        return disk
    interpret = INTERPRETERS[topic][1]
    pairs = zip(disk.column("key").to_pylist(), disk.column("value").to_pylist(), strict=True)
    kept = [None if interpret(key, value).may_hold_secret else value for key, value in pairs]
    place = disk.schema.get_field_index("value")
    return disk.set_column(place, "value", pa.array(kept, pa.binary()))


def _payload_table(rows: pa.RecordBatch) -> pa.Table:
    """Return the payload columns as copies, since the builder reuses its arrays."""
    table = pa.Table.from_batches([rows]).select([*PAYLOAD_COLUMNS])
    for name in ("key", "value"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).cast(pa.binary()))
    return table


def _disk_records(
    columns: Columns, outcomes: list[UnitOutcome], quarantined: list[bool]
) -> DiskRecords:
    counts = np.diff([0, *(outcome.row_stop for outcome in outcomes)])
    headers = [header_columns(outcome.unit) for outcome in outcomes]
    epochs = [NULL_NUMBER if h.leader_epoch is None else h.leader_epoch for h in headers]
    return DiskRecords(
        columns.offsets.copy(),
        np.repeat([header.crc for header in headers], counts),
        np.repeat(epochs, counts),
        np.repeat(quarantined, counts),
    )
