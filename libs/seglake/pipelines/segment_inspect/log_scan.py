"""The walk through the segments of one partition, shown as it goes. Effect: reads.

Damage is shown once the next sound offset is known, so what follows it waits that long.
"""

from collections.abc import Callable
from functools import cache

from seglake.pipelines.segment_inspect.batch_facts import claimed_batch, record_facts, sound_batch
from seglake.pipelines.segment_inspect.defect_facts import claims_of, defect_facts
from seglake.pipelines.segment_inspect.findings import FileFound, Report, TailFound
from seglake.pipelines.segment_inspect.partition_log import WINDOW_BYTES, SegmentPlace, read_index
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.surroundings import Standing
from seglake.pipelines.segment_inspect.totals import Totals
from seglake.pipelines.segment_inspect.verdicts import MOST_DECOMPRESSED_BYTES, Sound, judged
from seglake.segment_codec.errors import SegmentCodecError, TailKind
from seglake.segment_codec.offset_order import OffsetOrder
from seglake.segment_codec.reference_decoder import decode
from seglake.segment_codec.segment import Defect, SegmentBounds, SegmentWalk, Tail
from seglake.segment_codec.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import Reader, Storage

_MOST_WAITING = 1024
_MOST_WAITING_BYTES = 16 << 20

Action = Callable[[int | None], None]


class LogScan:
    """Shows the segments of one partition, in their order.

    Args:
        first_offset: where the partition begins, the base offset of its first segment.
        with_records: show records too, but for control records and those below `log_start_offset`.
    """

    def __init__(
        self,
        storage: Storage,
        standing: Standing,
        report: Report,
        *,
        first_offset: int,
        with_records: bool,
        log_start_offset: int | None,
    ) -> None:
        self.totals = Totals()
        self.notes: list[str] = []
        self._storage = storage
        self._standing = standing
        self._report = report
        self._with_records = with_records
        self._log_start_offset = log_start_offset or 0
        self._order = OffsetOrder(first_offset)
        self._previous_offset: int | None = None
        self._waiting: list[Action] = []
        self._waiting_bytes = 0

    def segment(self, place: SegmentPlace, kind: PathKind = PathKind.LOG) -> None:
        """Show one segment; one that cannot be read to its end becomes a note."""
        try:
            with self._storage.open_reader(place.path) as reader:
                self._file(FileFound(place.path, kind, reader.size_bytes, place.base_offset))
                self.totals.size_bytes += reader.size_bytes
                self.totals.segments += 1
                self._walk(place, reader)
        except (StorageError, SegmentCodecError) as error:
            self.notes.append(f"{place.name} was not read to its end: {error}")

    def finish(self) -> None:
        """Show what still waits for a next sound offset: there is none."""
        self._release(None)

    def _file(self, found: FileFound) -> None:
        self._show(lambda _: self._report.file(found))

    def _walk(self, place: SegmentPlace, reader: Reader) -> None:
        @cache
        def anchors() -> tuple[int, ...]:
            index = read_index(self._storage, place, self.notes)
            return tuple(entry.position for entry in index.entries)

        bounds = SegmentBounds(
            place.base_offset,
            place.limit_offset,
            place.is_last,
            self._standing.settled_offset,
            anchors,
        )
        walk = SegmentWalk(Window(reader, WINDOW_BYTES), bounds, self._order)
        for item in judged(walk.items()):
            match item:
                case Sound():
                    self._sound(item, place)
                case Defect():
                    self._defect(item, place, reader)
                case Tail():
                    self._tail(item, place, reader)

    def _sound(self, sound: Sound, place: SegmentPlace) -> None:
        self._release(sound.first_offset)
        found = sound_batch(sound, self._standing.origin, place.name)
        hole_start = self.totals.batch(found, sound.first_offset, sound.record_count)
        if hole_start is not None:
            self._report.hole(hole_start, sound.first_offset)
        self._report.batch(found, self._marks(sound))
        self._previous_offset = found.last_offset
        if self._with_records and not found.is_control:
            self._records(sound)

    def _marks(self, sound: Sound) -> tuple[str, ...]:
        last_offset = sound.unit.last_offset
        high_watermark = self._standing.high_watermark
        marks = []
        if last_offset < self._log_start_offset:
            marks.append("below log start")
        elif sound.first_offset < self._log_start_offset:
            marks.append("log start inside")
        if high_watermark is not None and last_offset >= high_watermark:
            marks.append("above high watermark")
        return tuple(marks)

    def _records(self, sound: Sound) -> None:
        for record in decode(sound.unit, MOST_DECOMPRESSED_BYTES):
            if record.offset >= self._log_start_offset:
                self._report.record(record_facts(record, sound.unit, self._standing.origin))

    def _defect(self, defect: Defect, place: SegmentPlace, reader: Reader) -> None:
        self.totals.defect(defect)
        origin = self._standing.origin
        claims = claims_of(defect, origin, place.name, reader)
        found = defect_facts(defect, origin, place.name, self._previous_offset, reader)
        marks = (str(defect.code),)

        def show(next_offset: int | None) -> None:
            if claims is not None:
                self._report.batch(claims, marks)
            self._report.defect(found._replace(next_offset=next_offset))

        self._wait(show, len(found.raw))

    def _tail(self, tail: Tail, place: SegmentPlace, reader: Reader) -> None:
        self.totals.tail(tail)
        origin = self._standing.origin
        found = TailFound(
            origin.topic, origin.partition, place.name, tail.kind, tail.position, tail.size_bytes
        )
        if tail.kind is TailKind.UNFLUSHED:
            claims = claimed_batch(reader, tail.position, tail.size_bytes, origin, place.name)
            if claims is not None:
                batch = claims
                self._show(lambda _: self._report.batch(batch, (str(tail.kind),)))
        self._show(lambda _: self._report.tail(found))

    def _show(self, action: Action) -> None:
        """Show something now, or behind the damage that waits."""
        if self._waiting:
            self._wait(action)
        else:
            action(None)

    def _wait(self, action: Action, size_bytes: int = 0) -> None:
        self._waiting.append(action)
        self._waiting_bytes += size_bytes
        if len(self._waiting) >= _MOST_WAITING or self._waiting_bytes >= _MOST_WAITING_BYTES:
            self._release(None)

    def _release(self, next_offset: int | None) -> None:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for action in waiting:
            action(next_offset)
