"""Walks one stretch of a partition's log and accounts for each of its bytes. Effect: reads.

Here is decided what every batch is to this run: taken before, wanted, left for later, or damaged.
`StretchWriter` then decodes what is wanted and writes the rows.
"""

from pipelines.segment_ingest.decoding.batch_rows import BatchState
from pipelines.segment_ingest.decoding.row_target import RowTarget
from pipelines.segment_ingest.decoding.stretch_writer import PendingUnit, StretchWriter
from pipelines.segment_ingest.decoding.tasks import (
    ByteCount,
    DecodeSettings,
    Slice,
    Stretch,
    StretchReport,
    TailReport,
)
from pipelines.segment_ingest.errors import SourceVanishedError
from pipelines.segment_ingest.sources.side_files import anchors_of, read_index
from pipelines.segment_ingest.sources.source_files import check_size
from pipelines.segment_ingest.surveying.unit_facts import MOST_CONTROL_BYTES
from segment_codec.control_record import ControlType, control_type
from segment_codec.errors import DefectCode, DefectError
from segment_codec.message_set import MessageRun, Wrapper
from segment_codec.offset_order import OffsetOrder, Unit
from segment_codec.record_batch import RecordBatch
from segment_codec.reference_decoder import decode
from segment_codec.segment import Defect, SegmentBounds, SegmentWalk, Tail
from segment_codec.transactions import Marker, Markers, TransactionState
from segment_codec.window import Window

# In read_committed a range has no open data but that of a transaction which is not waited for.
_NOT_READABLE = (TransactionState.ABORTED, TransactionState.OPEN)
_OUT_OF_PLACE = (DefectCode.OFFSET_OUT_OF_ORDER, DefectCode.OFFSET_OUT_OF_SEGMENT)


def _changed(piece: Slice, position: int) -> SourceVanishedError:
    return SourceVanishedError(
        f"{piece.file.path} changed at position {position} while it was read"
    )


def _claimed_crc(item: Unit | Defect | Tail) -> int | None:
    """The checksum that the header of what stands here claims, right or not."""
    match item:
        case RecordBatch():
            return item.header.crc
        case Wrapper() | MessageRun():
            return item.crc
        case Defect():
            return item.expected_crc
        case Tail():
            return None


class StretchDecoder:
    """Runs once over one stretch; `run` does the work."""

    def __init__(
        self, stretch: Stretch, markers: Markers, settings: DecodeSettings, files: RowTarget
    ) -> None:
        self._stretch = stretch
        self._markers = markers
        self._settings = settings
        self._writer = StretchWriter(stretch, settings, files)
        self._order = OffsetOrder(stretch.slices[0].expected_offset)
        self._reached = stretch.slices[0].expected_offset
        self._floor = stretch.floor_offset
        self._is_behind_above = False
        self._held: list[tuple[Defect, int]] = []  # damage behind what is left for later
        self._cut_offset: int | None = None
        self._found_markers: list[Marker] = []
        self._tails: list[TailReport] = []
        self._bytes = dict.fromkeys(ByteCount._fields, 0)

    def run(self) -> StretchReport:
        """Read, decode and write the stretch.

        Raises:
            SourceVanishedError, StorageError, SegmentCodecError: a segment is not what it was.
        """
        for index, piece in enumerate(self._stretch.slices):
            if self._read(index, piece):
                rest = self._stretch.slices[index + 1 :]
                self._bytes["above"] += sum(each.size_bytes for each in rest)
                break
        if self._cut_offset is not None and self._cut_offset <= self._stretch.range_start:
            self._writer.forget()  # the range holds nothing, so it will not be covered
        return self._writer.finish(
            ByteCount(**self._bytes),
            self._cut_offset,
            tuple(self._found_markers),
            tuple(self._tails),
        )

    def _read(self, index: int, piece: Slice) -> bool:
        """Take one slice; True when the end of what is wanted was reached in it."""
        stretch, file = self._stretch, piece.file

        def anchors() -> tuple[int, ...]:
            source = self._settings.storage
            return anchors_of(read_index(source, file.index_path, file.base_offset))

        bounds = SegmentBounds(
            file.base_offset,
            piece.limit_offset,
            piece.is_last,
            stretch.settled_offset,
            anchors,
            (stretch.range_start, stretch.log_start_offset, stretch.range_next),
            may_have_holes=piece.is_cleaned,
        )
        with self._settings.storage.open_reader(file.path) as reader:
            check_size(file, reader.size_bytes, is_last=piece.is_last)
            window = Window(reader, self._settings.window_bytes, file.size_bytes)
            walk = SegmentWalk(window, bounds, self._order, stop=piece.stop)
            is_sound = True
            for item in walk.items(piece.start):
                self._check_unchanged(piece, item)
                is_sound &= not isinstance(item, Defect)
                if self._take(item, index):
                    self._bytes["above"] += piece.stop - item.position
                    return True
        if is_sound and self._reached < piece.next_offset:
            raise _changed(piece, piece.stop)  # the cleaner wrote it anew, with other positions
        return False

    def _check_unchanged(self, piece: Slice, item: Unit | Defect | Tail) -> None:
        """The survey saw the headers: the first is known, and all were in order if it was plain."""
        if self._stretch.is_plain and isinstance(item, Defect) and item.code in _OUT_OF_PLACE:
            raise _changed(piece, item.position)
        if item.position != piece.start or piece.start_crc < 0:
            return
        crc = _claimed_crc(item)
        if crc is not None and crc != piece.start_crc:
            raise _changed(piece, piece.start)

    def _take(self, item: Unit | Defect | Tail, index: int) -> bool:
        if isinstance(item, Tail):
            self._bytes["tail"] += item.size_bytes
            piece = self._stretch.slices[index]
            self._tails.append(
                TailReport(
                    item.kind, piece.file.name, item.position, item.size_bytes, piece.is_last
                )
            )
        elif isinstance(item, Defect):
            self._take_defect(item, index)
        else:
            last_offset = item.last_offset
            if last_offset >= self._stretch.range_next and not self._is_cut_to_fit(item):
                return self._take_above(item, index)
            if last_offset >= self._floor or self._is_marker_below(item):
                self._take_wanted(item, index)
            else:
                self._bytes["below"] += item.size_bytes
                self._writer.sound_below()
            self._reached = max(self._reached, last_offset + 1)
        return False

    def _is_cut_to_fit(self, unit: Unit) -> bool:
        """Whether a batch that reaches across the end of the range is taken as far as it fits."""
        first = self._reached if isinstance(unit, Wrapper) else unit.first_offset
        return self._stretch.cuts_end and first < self._stretch.range_next

    def _is_marker_below(self, unit: Unit) -> bool:
        """Whether this is below the log start, and may end what an earlier run took as open."""
        is_control = isinstance(unit, RecordBatch) and unit.header.is_control
        return is_control and unit.last_offset >= self._stretch.range_start

    def _take_defect(self, defect: Defect, index: int) -> None:
        """Damage belongs to the run whose range holds the offset reached before it.

        A copy of what this range holds belongs to it also at its very end: on a disk to which
        nothing is added any more, no later run would come to it.
        """
        stretch = self._stretch
        is_copy = (
            defect.code is DefectCode.OFFSET_OUT_OF_ORDER
            and defect.last_offset is not None
            and stretch.range_start <= defect.last_offset < stretch.range_next
        )
        if self._is_behind_above:  # left for later too, unless something wanted follows
            self._bytes["above"] += defect.size_bytes
            self._held.append((defect, index))
        elif self._reached >= stretch.range_next and not is_copy:
            self._bytes["above"] += defect.size_bytes
        elif self._reached < stretch.range_start:
            self._bytes["below"] += defect.size_bytes
            self._writer.defect_below()
        else:
            self._bytes["quarantined"] += defect.size_bytes
            self._writer.add_defect(defect, index)

    def _take_above(self, unit: Unit, index: int) -> bool:
        """A batch at or across the end of the range; True when nothing wanted can follow."""
        next_offset = self._stretch.range_next
        first = self._reached if isinstance(unit, Wrapper) else unit.first_offset
        if first < next_offset:
            self._cut_offset = first
        if self._stretch.is_plain:
            return True
        self._bytes["above"] += unit.size_bytes
        self._is_behind_above = True
        return False

    def _take_wanted(self, unit: Unit, index: int) -> None:
        self._bytes["sound"] += unit.size_bytes
        self._release_held()
        if self._cut_offset is not None:  # an old wrapper begins behind what came late
            self._cut_offset = max(self._cut_offset, unit.last_offset + 1)
        try:
            self._writer.add_unit(self._judged(unit, index))
        except DefectError as error:
            self._bytes["sound"] -= unit.size_bytes
            self._bytes["quarantined"] += unit.size_bytes
            self._writer.add_faulty(unit, index, error.code, error.detail)

    def _release_held(self) -> None:
        """A wanted batch came late, so damage in front of it belongs to this run."""
        for defect, index in self._held:
            self._bytes["above"] -= defect.size_bytes
            self._bytes["quarantined"] += defect.size_bytes
            self._writer.add_defect(defect, index)
        self._held.clear()
        self._is_behind_above = False

    def _judged(self, unit: Unit, index: int) -> PendingUnit:
        """What is to be done with a wanted batch."""
        state, transaction = BatchState.DECODED, TransactionState.NONE
        control: ControlType | None = None
        if isinstance(unit, RecordBatch):
            header = unit.header
            if header.is_transactional and not header.is_control:
                transaction = self._markers.state(header.producer_id, unit.first_offset)
            if header.is_control:
                state = BatchState.CONTROL
                control = self._control(unit)
            elif header.record_count == 0 and not len(unit.payload):
                state = BatchState.EMPTY
            elif transaction in _NOT_READABLE and not self._settings.takes_aborted:
                state = BatchState.ABORTED
        return PendingUnit(unit, index, state, transaction, control)

    def _control(self, batch: RecordBatch) -> ControlType:
        kind = control_type(decode(batch, MOST_CONTROL_BYTES))
        if kind in (ControlType.COMMIT, ControlType.ABORT):
            is_commit = kind is ControlType.COMMIT
            marker = Marker(batch.first_offset, batch.header.producer_id, is_commit)
            self._found_markers.append(marker)
        return kind
