"""Walks the segments of one partition and yields their contents.

Damage is shown together with the next valid offset. Until this offset is known, damage and later
contents are held back.
"""

from collections.abc import Iterator, Sequence

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.kafka_log.offset_ranges import OffsetRange, without
from seglake.log_dirs.batch_search import walk_start
from seglake.log_dirs.segment_reader import open_segment
from seglake.log_dirs.segment_side_files import anchors
from seglake.pipelines.segment_inspect.batch_facts import (
    BatchFound,
    DefectFound,
    claimed_batch,
    damage,
)
from seglake.pipelines.segment_inspect.contents import (
    Content,
    FileFound,
    HoleFound,
    LogSummary,
    RecordFound,
    TailFound,
)
from seglake.pipelines.segment_inspect.partition_log import WINDOW_BYTES, Partition, SegmentPlace
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.shown_part import ShownPart
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.pipelines.segment_inspect.verdicts import ValidBatch, judged, records_in
from seglake.segment_codec.formats.defects import Defect, Tail
from seglake.segment_codec.formats.errors import SegmentCodecError, TailKind
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds
from seglake.segment_codec.walk.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import Reader, Storage

_MOST_WAITING = 2048
_MOST_WAITING_BYTES = 16 << 20


class LogScan:
    """Walk through one partition's segments, in their order.

    Attributes:
        totals: counts of the contents so far.
    """

    def __init__(
        self,
        storage: Storage,
        partition: Partition,
        *,
        first_offset: int,
        log_start_offset: int,
        shown: ShownPart,
        unread: Sequence[OffsetRange] = (),
    ) -> None:
        """Prepare the walk.

        Args:
            storage: the storage of the segments.
            partition: the partition and its checkpoints.
            first_offset: base offset of the partition's first segment.
            log_start_offset: log start; records below it are not shown.
            shown: decides which batches are shown with their records; control records are never
                shown.
            unread: sorted offset ranges of segments that are not read; these ranges explain holes.
        """
        self.totals = Totals()
        self._findings: list[Finding] = []
        self._unread_indexes: list[str] = []
        self._storage = storage
        self._partition = partition
        self._log_start_offset = log_start_offset
        self._shown = shown
        self._unread = [*unread]
        self._order = OffsetOrder(first_offset)
        self._previous_offset: int | None = None
        # Segment and position of the last batch shown.
        self._place: tuple[str | None, int] | None = None
        self._origin = partition.origin
        self._is_compacted, self._is_damaged_since = False, False
        self._waiting: list[Content] = []
        self._waiting_bytes = 0

    def segment(self, place: SegmentPlace, kind: PathKind = PathKind.LOG) -> Iterator[Content]:
        """Yield the contents of one segment, and a finding if the segment cannot be read."""
        file = place.file
        self._origin = self._partition.origin._replace(segment=file.name)
        try:
            with open_segment(self._storage, file) as reader:
                size_bytes = reader.size_bytes
                yield from self._show(FileFound(file.path, kind, size_bytes, file.base_offset))
                self.totals.size_bytes += size_bytes
                self.totals.segments += 1
                yield from self._walk(place, reader)
        except (StorageError, SegmentCodecError) as error:
            text = f"{file.name} was not read to its end: {error}"
            self._findings.append(Finding(FindingKind.LEFT_OUT, text, file.name))
            reached = max(file.base_offset, self._order.next_offset)
            self._unread.append((reached, place.limit_offset))

    def finish(
        self, path: str, kind: PathKind, log_start_offset: int | None, unread_segments: int = 0
    ) -> Iterator[Content]:
        """Yield the held-back items, then the findings, then the summary.

        Args:
            path: the inspected path.
            kind: its kind.
            log_start_offset: log start to show; None if unknown.
            unread_segments: number of segments that are not read.
        """
        yield from self._release(None)
        yield from self._findings
        for text in self._unread_indexes:
            yield Finding(FindingKind.DAMAGED_FILE, text)
        yield LogSummary(
            path,
            kind,
            self.totals,
            log_start_offset=log_start_offset,
            high_watermark=self._partition.checkpoints.high_watermark,
            unread_segments=unread_segments,
        )

    def _walk(self, place: SegmentPlace, reader: Reader) -> Iterator[Content]:
        file, checkpoints = place.file, self._partition.checkpoints
        is_cleaned = file.base_offset < (checkpoints.cleaner_offset or 0)
        self._is_compacted |= is_cleaned
        bounds = SegmentBounds(
            file.base_offset,
            place.limit_offset,
            place.is_last,
            checkpoints.durable_offset,
            anchors=anchors(self._storage, file, self._unread_indexes),
            may_have_holes=is_cleaned or checkpoints.high_watermark is None,
            run_breaks=self._shown.run_breaks,
        )
        window, position, offset = Window(reader, WINDOW_BYTES), 0, self._shown.offset
        if offset is not None:
            indexes = self._unread_indexes
            position, first = walk_start(self._storage, file, offset, window, indexes)
            self._order = OffsetOrder(first)
        walk = SegmentWalk(window, bounds, self._order)
        for item in judged(walk.items(position)):
            match item:
                case ValidBatch():
                    yield from self._batch(item)
                    if offset is not None and item.first_offset > offset:
                        return
                case Defect():
                    yield from self._defect(item, reader)
                case Tail():
                    yield from self._tail(item, reader)

    def _batch(self, batch: ValidBatch) -> Iterator[Content]:
        yield from self._release(batch.first_offset)
        self._is_compacted |= isinstance(batch.unit, RecordBatch) and batch.unit.is_sparse
        found = BatchFound(batch.unit, self._origin, batch, self._marks(batch))
        place = self._origin.segment, batch.unit.position
        hole_start = self.totals.batch(batch, found, is_first=place != self._place)
        self._place = place
        if hole_start is not None:
            is_explained = self._is_compacted or self._is_damaged_since
            is_deleted = batch.first_offset <= self._log_start_offset
            hole = [(hole_start, batch.first_offset)]
            lost = [] if is_explained or is_deleted else without(hole, *self._unread)
            for offsets in sorted([*lost, *without(hole, *lost)]):
                yield HoleFound(*offsets, self._origin, is_explained=offsets not in lost)
        self._is_damaged_since = False
        yield found
        self._previous_offset = batch.last_offset
        header = found.header
        if not header.is_control and self._shown.wants_records(found):
            for record in records_in(batch.unit):
                if record.offset >= self._log_start_offset:
                    yield RecordFound(record, header.timestamp_type, self._origin)

    def _marks(self, batch: ValidBatch) -> tuple[str, ...]:
        last_offset = batch.last_offset
        high_watermark = self._partition.checkpoints.high_watermark
        marks = []
        if last_offset < self._log_start_offset:
            marks.append("below log start")
        elif batch.first_offset < self._log_start_offset:
            marks.append("log start inside")
        if high_watermark is not None and last_offset >= high_watermark:
            marks.append("above high watermark")
        return tuple(marks)

    def _defect(self, defect: Defect, reader: Reader) -> Iterator[Content]:
        self._is_damaged_since = True
        is_in_batch = (self._origin.segment, defect.position) == self._place
        self.totals.defect(defect, is_in_batch=is_in_batch)
        claims, found = damage(defect, self._origin, self._previous_offset, reader)
        # The valid parts of a batch that is damaged inside have already been shown.
        if claims is not None and not is_in_batch:
            yield from self._show(claims)
        yield from self._show(found)

    def _tail(self, tail: Tail, reader: Reader) -> Iterator[Content]:
        self.totals.tail(tail)
        if tail.kind is TailKind.UNFLUSHED:
            claims = claimed_batch(reader, tail.position, tail.size_bytes, self._origin, tail.kind)
            if claims is not None:
                yield from self._show(claims)
        yield from self._show(TailFound(tail, self._origin))

    def _show(self, content: Content) -> Iterator[Content]:
        """Yield an item; hold back damage, and items after it, until a valid offset is known."""
        if isinstance(content, DefectFound):
            self._waiting_bytes += len(content.raw.content)
        elif not self._waiting:
            yield content
            return
        self._waiting.append(content)
        if len(self._waiting) >= _MOST_WAITING or self._waiting_bytes >= _MOST_WAITING_BYTES:
            yield from self._release(None)

    def _release(self, next_offset: int | None) -> Iterator[Content]:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for content in waiting:
            if isinstance(content, DefectFound):
                yield content._replace(next_offset=next_offset)
            else:
                yield content
