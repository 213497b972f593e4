"""Reads one split of a partition's log, and accounts for each of its bytes.

For each batch it decides whether the batch is damaged, and whether this run, an earlier one or a
later one ingests it. `SplitWriter` decodes the batches of this run and makes their rows.
"""

from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray

from seglake.kafka_log.batch_headers import MOST_CONTROL_BYTES, defect_of, markers_of
from seglake.kafka_log.transaction_markers import Marker, Markers, TransactionState
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.segment_files import check_size
from seglake.log_dirs.segment_reader import open_segment
from seglake.log_dirs.segment_side_files import anchors
from seglake.log_tables.batch_rows import BATCH_STATES, BatchState
from seglake.log_tables.record_rows import STATES
from seglake.segment_codec.formats.control_record import ControlType, control_type
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.formats.message_set import Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import FEWEST, BatchKind, BatchRun
from seglake.segment_codec.kernels.damaged_wrapper import false_offset_defect
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import Window
from seglake.segment_decoding.decoded_rows import DecodedRows
from seglake.segment_decoding.pending import PendingRun, PendingUnit
from seglake.segment_decoding.split_writer import SplitWriter
from seglake.segment_decoding.tasks import (
    ByteCount,
    DecodeSettings,
    PartitionSplit,
    SegmentSplit,
    SplitReport,
    TailReport,
)
from seglake.task_engine.task_progress import CountedReads

_MOST_SINGLY = 64
_ABORTED = BATCH_STATES.index(BatchState.ABORTED)
_OF_KINDS = {BatchKind.DATA: BatchState.DECODED, BatchKind.EMPTY: BatchState.EMPTY}
_STATES_OF_KINDS = np.array(
    [BATCH_STATES.index(_OF_KINDS.get(kind, BatchState.CONTROL)) for kind in BatchKind], np.int8
)
_OUT_OF_PLACE = (DefectCode.OFFSET_OUT_OF_ORDER, DefectCode.OFFSET_OUT_OF_SEGMENT)


def _changed(piece: SegmentSplit, position: int) -> SourceVanishedError:
    """Return the error for a segment that changed while it was read."""
    return SourceVanishedError(
        f"{piece.file.path} changed at position {position} while it was read"
    )


def _hidden_states(settings: DecodeSettings) -> tuple[TransactionState, ...]:
    """Return the states of transactions whose records get no rows.

    In read_committed, a range includes an open transaction only if the run does not wait until the
    transaction ends.
    """
    if settings.reads_aborted:
        return ()
    if settings.reads_undecided:
        return (TransactionState.ABORTED,)
    return (TransactionState.ABORTED, TransactionState.OPEN)


def _claimed_crc(item: Unit | BatchRun | Defect | Tail) -> int | None:
    """Return the checksum that an item's header states; None if it states none."""
    match item:
        case Defect():
            return item.expected_crc
        case Tail():
            return None
    return item.crc


class SplitDecoder:
    """Decoder of a split; iterate over `rows` once, then call `report`."""

    def __init__(self, split: PartitionSplit, settings: DecodeSettings) -> None:
        """Store the arguments; nothing is read yet.

        Args:
            split: the split.
            settings: settings of the run.
        """
        self._split = split
        self._markers = Markers(split.markers)
        self._settings = settings
        self._hidden = _hidden_states(settings)
        self._writer = SplitWriter(split, settings)
        self._order = OffsetOrder(split.segment_splits[0].expected_offset)
        self._reached = split.segment_splits[0].expected_offset
        self._floor = split.floor_offset
        self._is_after_left_batch = False
        # damage after the newest batch of this run; a later run may have to record it
        self._held: list[tuple[Defect, int]] = []
        self._cut_offset: int | None = None
        self._found_markers: list[Marker] = []
        self._tails: list[TailReport] = []
        self._bytes = dict.fromkeys(ByteCount._fields, 0)

    def rows(self) -> Iterator[DecodedRows]:
        """Read and decode the split; yield the rows in the order of bytes.

        Raises:
            SourceVanishedError: a segment changed after it was surveyed.
            StorageError: a segment cannot be read.
            SegmentCodecError: a segment changed while it was read.
        """
        for index, piece in enumerate(self._split.segment_splits):
            is_end = yield from self._read(index, piece)
            if is_end:
                rest = self._split.segment_splits[index + 1 :]
                self._bytes["above"] += sum(piece.size_bytes for piece in rest)
                break
        if self._cut_offset is not None and self._cut_offset <= self._split.range_start:
            self._writer.forget()  # an empty range covers no offset
        yield from self._writer.finish()

    def report(self) -> SplitReport:
        """Return the report; call it after the last of `rows`."""
        return self._writer.report(
            ByteCount(**self._bytes),
            self._cut_offset,
            tuple(self._found_markers),
            tuple(self._tails),
        )

    def _read(self, index: int, piece: SegmentSplit) -> Generator[DecodedRows, None, bool]:
        """Decode one segment split; return whether it reached the end of the range."""
        file = piece.file
        with open_segment(self._settings.storage, file) as reader:
            check_size(file, reader.size_bytes, is_last=piece.is_last)
            counted = CountedReads(reader, piece.start)
            window = Window(counted, self._settings.window_bytes, file.size_bytes)
            walk = SegmentWalk(
                window,
                self._bounds(piece),
                self._order,
                stop=piece.stop,
                compares_neighbours=not self._split.is_plain,
            )
            is_sound = True
            # Read runs of batches only if the survey found no fault in the split.
            items = walk.runs if self._split.is_plain else walk.items
            for item in items(piece.start):
                if self._writer.is_full_for(item):
                    yield from self._writer.flush()
                self._check_unchanged(piece, item)
                is_sound &= not isinstance(item, Defect)
                if isinstance(item, BatchRun):
                    is_end = yield from self._decode_run(item, index)
                else:
                    is_end = self._decode_item(item, index)
                if is_end:
                    self._bytes["above"] += piece.stop - item.position
                    return True
        if self._split.is_plain and is_sound and self._reached < piece.next_offset:
            raise _changed(piece, piece.stop)  # the cleaner has rewritten the segment
        return False

    def _bounds(self, piece: SegmentSplit) -> SegmentBounds:
        """Return the offset bounds for reading one segment of the split."""
        split, file, source = self._split, piece.file, self._settings.storage
        return SegmentBounds(
            base_offset=file.base_offset,
            limit_offset=piece.limit_offset,
            is_last=piece.is_last,
            durable_offset=split.durable_offset,
            anchors=anchors(source, file),
            run_breaks=(split.range_start, split.log_start_offset, split.range_next),
            may_have_holes=piece.is_cleaned,
            is_final=split.is_final,
        )

    def _check_unchanged(self, piece: SegmentSplit, item: Unit | BatchRun | Defect | Tail) -> None:
        """Raise SourceVanishedError if the first batch or the offsets' order is not as surveyed."""
        if self._split.is_plain and isinstance(item, Defect) and item.code in _OUT_OF_PLACE:
            raise _changed(piece, item.position)
        if item.position != piece.start or piece.start_crc < 0:
            return
        crc = _claimed_crc(item)
        if crc is not None and crc != piece.start_crc:
            raise _changed(piece, piece.start)

    def _decode_item(self, item: Unit | Defect | Tail, index: int) -> bool:
        """Queue a batch or damage for decoding, or leave it to another run of seglake.

        Returns True at the end of the range.
        """
        if isinstance(item, Tail):
            self._bytes["tail"] += item.size_bytes
            piece = self._split.segment_splits[index]
            if not piece.is_last:
                self._tails.append(TailReport(piece.file.name, item.position, item.size_bytes))
        elif isinstance(item, Defect):
            self._keep_or_leave_defect(item, index)
        else:
            last_offset = item.last_offset
            if last_offset >= self._split.range_next and not self._is_cut_to_fit(item):
                return self._leave_above(item)
            if last_offset >= self._floor or self._is_marker_below(item):
                self._decode_requested(item, index)
            else:
                self._bytes["below"] += item.size_bytes
                self._writer.sound_below()
            self._reached = max(self._reached, last_offset + 1)
        return False

    def _decode_run(self, run: BatchRun, index: int) -> Generator[DecodedRows, None, bool]:
        """Ingest consecutive batches, or leave them to another run of seglake.

        No batch crosses an end of the range.
        """
        if run.first_offset >= self._split.range_next:
            return True
        if run.last_offset >= self._floor:
            pending = self._pending(run, index)
            if pending.has_undecided:
                yield from self._decode_singly(pending, 0, len(run))
            else:
                yield from self._decode_requested_run(pending)
        elif run.is_marker.any() and run.last_offset >= self._split.range_start:
            yield from self._decode_singly(self._pending(run, index), 0, len(run))
        else:
            self._bytes["below"] += run.size_bytes
            self._writer.sound_below()
        self._reached = run.last_offset + 1
        return False

    def _decode_requested_run(self, whole: PendingRun) -> Generator[DecodedRows, None, None]:
        """Ingest consecutive batches together; near a damaged batch, ingest them one by one."""
        start, stop = 0, len(whole.run)
        while stop - start >= FEWEST:
            if self._writer.is_full_for(whole.run):
                yield from self._writer.flush()
            added = self._writer.add_run(whole.part(start, stop))
            if added:
                run = whole.run.part(start, start + added)
                self._bytes["sound"] += run.size_bytes
                self._found_markers += markers_of(run)
                start += added
            else:  # go on batch by batch, since batches nearby may be damaged too
                singly = min(start + _MOST_SINGLY, stop)
                yield from self._decode_singly(whole, start, singly)
                start = singly
        yield from self._decode_singly(whole, start, stop)

    def _decode_singly(
        self, whole: PendingRun, start: int, stop: int
    ) -> Generator[DecodedRows, None, None]:
        """Ingest the batches with indexes [start, stop) one by one."""
        for place in range(start, stop):
            unit = whole.run.batch(place)
            if self._writer.is_full_for(unit):
                yield from self._writer.flush()
            self._decode_item(unit, whole.segment_index)

    def _pending(self, run: BatchRun, index: int) -> PendingRun:
        """Return consecutive batches as the queue needs them; for a single batch see `_judged`."""
        transaction_states = self._transaction_states(run)
        states = _STATES_OF_KINDS[run.kinds]
        is_hidden = np.isin(transaction_states, [STATES.index(state) for state in self._hidden])
        states[is_hidden & (run.kinds == BatchKind.DATA)] = _ABORTED
        return PendingRun(run, index, states, transaction_states)

    def _transaction_states(self, run: BatchRun) -> NDArray[np.int8]:
        """Return the states of the batches' transactions, as indexes into `STATES`."""
        states = np.full(len(run), STATES.index(TransactionState.NONE), np.int8)
        is_in_transaction = run.is_in_transaction
        if not is_in_transaction.any():
            return states
        places = np.flatnonzero(is_in_transaction & ~run.is_marker)
        offsets, producers = run.column("base_offset"), run.column("producer_id")[places]
        by_producer = np.argsort(producers, kind="stable")
        ids, starts = np.unique(producers[by_producer], return_index=True)
        stops = [*starts[1:].tolist(), len(places)]
        for producer_id, start, stop in zip(ids.tolist(), starts.tolist(), stops, strict=False):
            of_producer = places[by_producer[start:stop]]
            states[of_producer] = self._markers.states(producer_id, offsets[of_producer])
        return states

    def _is_cut_to_fit(self, unit: Unit) -> bool:
        """Return whether to ingest a part of a batch that crosses the end of the range."""
        first = self._reached if isinstance(unit, Wrapper) else unit.first_offset
        return self._split.cuts_end and first < self._split.range_next

    def _is_marker_below(self, unit: Unit) -> bool:
        """Return whether a marker below the log start may end an ingested transaction."""
        is_control = isinstance(unit, RecordBatch) and unit.header.is_control
        return is_control and unit.last_offset >= self._split.range_start

    def _keep_or_leave_defect(self, defect: Defect, index: int) -> None:
        """Queue damage, or leave it to another run.

        The run that ingests the offset before the damage also records the damage. Duplicates of
        this range's batches are recorded by this run, even at the range's end. An empty range is
        for the damage at the end of the log.
        """
        split = self._split
        is_copy = (
            defect.code is DefectCode.OFFSET_OUT_OF_ORDER
            and not split.leaves_end
            and defect.last_offset is not None
            and split.range_start <= defect.last_offset < split.range_next
        )
        # this damage belongs to a later run, unless a batch of this run follows it
        if self._is_after_left_batch:
            self._bytes["above"] += defect.size_bytes
            self._held.append((defect, index))
        elif self._reached >= split.range_next and not (is_copy or split.includes_end):
            self._bytes["above"] += defect.size_bytes
        elif self._reached < split.range_start:
            self._bytes["below"] += defect.size_bytes
            self._writer.defect_below()
        else:
            self._bytes["quarantined"] += defect.size_bytes
            self._writer.add_defect(defect, index)

    def _leave_above(self, unit: Unit) -> bool:
        """Leave a batch to a later run if it is above the range or crosses its end.

        Returns whether to stop reading.
        """
        first = self._reached if isinstance(unit, Wrapper) else unit.first_offset
        if first < self._split.range_next:
            self._cut_offset = first
        if self._split.is_plain:
            return True
        self._bytes["above"] += unit.size_bytes
        self._is_after_left_batch = True
        return False

    def _decode_requested(self, unit: Unit, index: int) -> None:
        """Queue a batch of this run, or quarantine it if it cannot be decoded."""
        self._release_held()
        if self._cut_offset is not None:  # a later run ingests what comes after this batch
            self._cut_offset = max(self._cut_offset, unit.last_offset + 1)
        try:
            self._writer.add_unit(self._judged(unit, index))
            self._bytes["sound"] += unit.size_bytes
            if isinstance(unit, Wrapper) and unit.false_offset is not None:
                self._writer.add_defect(false_offset_defect(unit), index)
        except DefectError as error:
            self._bytes["quarantined"] += unit.size_bytes
            self._writer.add_defect(defect_of(unit, error.code, error.detail), index)

    def _release_held(self) -> None:
        """Queue the held damage, because a batch of this run follows it."""
        for defect, index in self._held:
            self._bytes["above"] -= defect.size_bytes
            self._bytes["quarantined"] += defect.size_bytes
            self._writer.add_defect(defect, index)
        self._held.clear()
        self._is_after_left_batch = False

    def _judged(self, unit: Unit, index: int) -> PendingUnit:
        """Return a batch as the queue needs it: with its judgement and its transaction's state."""
        state, transaction = BatchState.DECODED, TransactionState.NONE
        control: ControlType | None = None
        if isinstance(unit, RecordBatch):
            header = unit.header
            if header.is_in_transaction and not header.is_control:
                transaction = self._markers.state(header.producer_id, unit.first_offset)
            if header.is_control:
                state, control = BatchState.CONTROL, self._control(unit)
            elif header.record_count == 0 and not len(unit.payload):
                state = BatchState.EMPTY
            elif transaction in self._hidden:
                state = BatchState.ABORTED
        return PendingUnit(
            unit=unit,
            segment_index=index,
            state=state,
            transaction_state=transaction,
            control_type=control,
            is_late=unit.first_offset < self._reached and isinstance(unit, RecordBatch),
        )

    def _control(self, batch: RecordBatch) -> ControlType:
        """Return the type of a control batch; if it is a marker, store it."""
        records = decode(batch, MOST_CONTROL_BYTES)
        kind = control_type(records, is_transactional=batch.header.is_transactional)
        if kind in (ControlType.COMMIT, ControlType.ABORT):
            is_commit = kind is ControlType.COMMIT
            marker = Marker(batch.first_offset, batch.header.producer_id, is_commit)
            self._found_markers.append(marker)
        return kind
