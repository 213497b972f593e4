"""Searches an offset: by the index to a position, on to batch and record. Effect: reads."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from seglake.log_dirs.batch_search import HEADER_READ_BYTES, indexed_start
from seglake.log_dirs.segment_side_files import read_index
from seglake.pipelines.segment_inspect.batch_facts import BatchFound, DefectFound, Origin, damage
from seglake.pipelines.segment_inspect.findings import (
    EntryFound,
    Finding,
    RecordFound,
    SearchSummary,
)
from seglake.pipelines.segment_inspect.partition_log import WINDOW_BYTES, Partition, SegmentPlace
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.verdicts import ValidBatch, judged, records_in, why_not_given
from seglake.segment_codec.errors import SegmentCodecError
from seglake.segment_codec.offset_index import OffsetPosition
from seglake.segment_codec.offset_order import OffsetOrder
from seglake.segment_codec.segment import Defect, SegmentBounds, SegmentWalk
from seglake.segment_codec.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import Reader, Storage

_MOST_DEFECTS = 16  # kept while it is not known whether the offset lies among them


@dataclass(slots=True)
class _Search:
    """Progress of a search."""

    offset: int
    notes: list[str]
    entry: OffsetPosition | None = None
    walked_batches: int = 0
    batch: ValidBatch | None = None
    before: int | None = None  # the nearest valid offset below
    after: int | None = None  # the nearest valid offset above
    damage: list[tuple[BatchFound | None, DefectFound]] = field(default_factory=list)
    is_found: bool = False


def inspect_offset(
    storage: Storage,
    path: str,
    kind: PathKind,
    place: SegmentPlace | None,
    partition: Partition,
    offset: int,
    notes: list[str],
) -> Iterator[Finding]:
    """Show the index entry, the batch and the record of an offset, or what is there instead.

    Args:
        place: the segment that the offset belongs to, None when it lies below all of them.
        notes: what is odd about the files around it; added to.
    """
    search = _Search(offset, notes)
    name = None if place is None else place.file.name
    if place is None:
        notes.append(f"no segment begins at or below offset {offset}")
    else:
        origin = partition.origin._replace(segment=name)
        try:
            with storage.open_reader(place.file.path) as reader:
                durable_offset = partition.checkpoints.durable_offset
                yield from _Segment(storage, place, reader, origin, durable_offset).find(search)
        except (StorageError, SegmentCodecError) as error:
            notes.append(f"{name} was not read to its end: {error}")
        yield from _answer(search, origin, place)
    entry, batch = search.entry, search.batch
    yield SearchSummary(
        path=path,
        kind=kind,
        offset=offset,
        found=search.is_found,
        segment=name,
        index_offset=None if entry is None else entry.offset,
        index_position=None if entry is None else entry.position,
        walked_batches=search.walked_batches,
        batch_base_offset=None if batch is None else batch.first_offset,
        batch_position=None if batch is None else batch.unit.position,
        notes=tuple(notes),
    )


@dataclass(frozen=True, slots=True)
class _Segment:
    """The segment in which an offset is looked for, opened."""

    storage: Storage
    place: SegmentPlace
    reader: Reader
    origin: Origin
    durable_offset: int

    def find(self, search: _Search) -> Iterator[Finding]:
        """Show the index entry, and note in the search what is at the offset."""
        file = self.place.file
        index = read_index(self.storage, file, search.notes)
        if index.damage is not None:
            search.notes.append(f"the index is damaged: {index.damage}")
        entry = search.entry = index.lookup(search.offset)
        start = 0
        if entry is not None:
            yield EntryFound({"index": file.index_path, **entry._asdict()})
            start, _ = indexed_start(index, search.offset, Window(self.reader, HEADER_READ_BYTES))
            if start != entry.position:
                search.notes.append(
                    f"no sound batch of offset {search.offset} or below begins at position "
                    f"{entry.position}, where the index points: read from position {start}"
                )
        is_spanned = self._walk(search, start)
        if not is_spanned and start:
            # The index misled, or batches lie in the wrong order: the rest of the file decides.
            search.before, search.after, search.walked_batches = None, None, 0
            search.damage.clear()
            if self._walk(search, 0):
                search.notes.append("the index points behind the batch: found by reading from 0 on")

    def _walk(self, search: _Search, start: int) -> bool:
        """Walk from a position to the batch that spans the offset; False when there is none."""
        place, offset = self.place, search.offset
        bounds = SegmentBounds(
            place.file.base_offset,
            place.limit_offset,
            place.is_last,
            self.durable_offset,
            run_breaks=(offset, offset + 1),  # so that a message is shown, not its run
        )
        order = OffsetOrder(place.file.base_offset)
        walk = SegmentWalk(Window(self.reader, WINDOW_BYTES), bounds, order)
        defects: list[tuple[BatchFound | None, DefectFound]] = []
        previous: int | None = None
        for item in judged(walk.items(start)):
            if start and not isinstance(item, ValidBatch) and item.position == start:
                return False  # the index is only trusted where a batch proves it
            if isinstance(item, Defect):
                if len(defects) < _MOST_DEFECTS:
                    defects.append(damage(item, self.origin, previous, self.reader))
            elif isinstance(item, ValidBatch):
                first, last = item.first_offset, item.last_offset
                if first <= offset <= last:
                    search.batch = item
                    return True
                search.walked_batches += 1
                if last < offset:
                    search.before = max(last, search.before or last)
                    defects.clear()
                elif search.after is None or first < search.after:
                    search.after = first
                    search.damage = [
                        (claims, d._replace(next_offset=first)) for claims, d in defects
                    ]
                    defects.clear()
                previous = last
        if search.after is None:
            search.damage = defects
        return False


def _answer(search: _Search, origin: Origin, place: SegmentPlace) -> Iterator[Finding]:
    batch = search.batch
    if batch is None:
        search.notes.append(_absence(search, place))
        for claims, defect in search.damage:
            if claims is not None:
                yield claims
            yield defect
        return
    found = BatchFound(batch.unit, origin, batch)
    yield found
    if found.header.is_control:
        search.is_found = batch.record_count > 0
        search.notes.append(f"it is a control record: {found.control_type}")
        return
    before: int | None = None
    after: int | None = None
    for record in records_in(batch.unit):
        if record.offset == search.offset:
            search.is_found = True
            yield RecordFound(record, found.header.timestamp_type, origin)
        elif record.offset < search.offset:
            before = record.offset
        elif after is None:
            after = record.offset
    if not search.is_found:
        lower = "none" if before is None else before
        upper = "none" if after is None else after
        why = why_not_given(batch.unit, search.offset)
        search.notes.append(f"{why} (record before it: {lower}, after it: {upper})")


def _absence(search: _Search, place: SegmentPlace) -> str:
    """Say what is where no batch of the segment spans the offset: damage, a gap or the end."""
    offset, before, after = search.offset, search.before, search.after
    if search.damage:
        lower = "the start" if before is None else f"offset {before}"
        upper = "the end" if after is None else f"offset {after}"
        return (
            f"no sound batch of the segment spans offset {offset}: "
            f"there are damaged bytes between {lower} and {upper}"
        )
    if after is None and not place.is_last:
        after = place.limit_offset  # where the next segment begins
    if after is not None:
        lower = "no batch is before it in the segment"
        if before is not None:
            lower = f"the batch before it ends with offset {before}"
        return f"offset {offset} is in a gap: {lower}, the next one begins with offset {after}"
    if before is None:
        return f"offset {offset} is not there: the segment has no batch"
    return f"offset {offset} is above the segment's last batch, which ends with offset {before}"
