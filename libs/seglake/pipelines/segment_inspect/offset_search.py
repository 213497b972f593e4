"""One offset: by the index to a position, on to the batch and the record. Effect: reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from seglake.pipelines.segment_inspect.batch_facts import record_facts, sound_batch
from seglake.pipelines.segment_inspect.defect_facts import claims_of, defect_facts
from seglake.pipelines.segment_inspect.findings import (
    BatchFound,
    DefectFound,
    Report,
    SearchSummary,
)
from seglake.pipelines.segment_inspect.partition_log import WINDOW_BYTES, SegmentPlace, read_index
from seglake.pipelines.segment_inspect.path_kinds import PathKind
from seglake.pipelines.segment_inspect.surroundings import Standing
from seglake.pipelines.segment_inspect.verdicts import MOST_DECOMPRESSED_BYTES, Sound, judged
from seglake.segment_codec.errors import SegmentCodecError
from seglake.segment_codec.offset_index import OffsetPosition
from seglake.segment_codec.offset_order import OffsetOrder
from seglake.segment_codec.reference_decoder import decode
from seglake.segment_codec.segment import Defect, SegmentBounds, SegmentWalk
from seglake.segment_codec.window import Window
from seglake.storage.errors import StorageError
from seglake.storage.storage import Reader, Storage

_MOST_DEFECTS = 16  # kept while it is not known whether the offset lies among them


@dataclass(slots=True)
class _Search:
    """How far a search has come."""

    offset: int
    notes: list[str]
    entry: OffsetPosition | None = None
    walked_batches: int = 0
    sound: Sound | None = None
    before: int | None = None  # the nearest sound offset below
    after: int | None = None  # the nearest sound offset above
    damage: list[tuple[BatchFound | None, DefectFound]] = field(default_factory=list)
    is_found: bool = False


def inspect_offset(
    storage: Storage,
    path: str,
    kind: PathKind,
    segments: Sequence[SegmentPlace],
    standing: Standing,
    offset: int,
    report: Report,
    notes: list[str],
) -> None:
    """Show the index entry, the batch and the record of an offset, or what is there instead."""
    search = _Search(offset, notes)
    place = max(
        (each for each in segments if each.base_offset <= offset),
        key=lambda each: each.base_offset,
        default=None,
    )
    if place is None:
        search.notes.append(f"no segment begins at or below offset {offset}")
    else:
        try:
            with storage.open_reader(place.path) as reader:
                _search_segment(search, storage, place, standing, reader, report)
        except (StorageError, SegmentCodecError) as error:
            search.notes.append(f"{place.name} was not read to its end: {error}")
        _show(search, place, standing, report)
    unit = None if search.sound is None else search.sound.unit
    report.summary(
        SearchSummary(
            path=path,
            kind=kind,
            offset=offset,
            found=search.is_found,
            segment=None if place is None else place.name,
            index_offset=None if search.entry is None else search.entry.offset,
            index_position=None if search.entry is None else search.entry.position,
            walked_batches=search.walked_batches,
            batch_base_offset=None if search.sound is None else search.sound.first_offset,
            batch_position=None if unit is None else unit.position,
            notes=tuple(search.notes),
        )
    )


def _search_segment(
    search: _Search,
    storage: Storage,
    place: SegmentPlace,
    standing: Standing,
    reader: Reader,
    report: Report,
) -> None:
    index = read_index(storage, place, search.notes)
    if index.damage is not None:
        search.notes.append(f"the index is damaged: {index.damage}")
    entry = search.entry = index.lookup(search.offset)
    start = 0
    if entry is not None:
        report.entry({"index": place.index_path, **entry._asdict()})
        if entry.position < reader.size_bytes:
            start = entry.position
        else:
            search.notes.append(f"the entry's position {entry.position} lies behind the file's end")
    is_spanned = _walk(search, place, standing, reader, start)
    if not is_spanned and start:
        # The index misled, or batches lie in the wrong order: the rest of the file decides.
        search.before, search.after, search.walked_batches = None, None, 0
        search.damage.clear()
        if _walk(search, place, standing, reader, 0):
            search.notes.append("the index points behind the batch: found by reading from 0 on")


def _walk(
    search: _Search, place: SegmentPlace, standing: Standing, reader: Reader, start: int
) -> bool:
    """Walk from a position to the batch that spans the offset; False when the file ends before."""
    bounds = SegmentBounds(
        place.base_offset,
        place.limit_offset,
        place.is_last,
        standing.settled_offset,
        run_breaks=(search.offset, search.offset + 1),  # so that a message is shown, not its run
    )
    walk = SegmentWalk(Window(reader, WINDOW_BYTES), bounds, OffsetOrder(place.base_offset))
    damage: list[tuple[BatchFound | None, DefectFound]] = []
    previous: int | None = None
    for item in judged(walk.items(start)):
        if start and not isinstance(item, Sound) and item.position == start:
            return False  # the index is only believed where a batch proves it
        if isinstance(item, Defect):
            if len(damage) < _MOST_DEFECTS:
                claims = claims_of(item, standing.origin, place.name, reader)
                found = defect_facts(item, standing.origin, place.name, previous, reader)
                damage.append((claims, found))
        elif isinstance(item, Sound):
            first, last = item.first_offset, item.unit.last_offset
            if first <= search.offset <= last:
                search.sound = item
                return True
            search.walked_batches += 1
            if last < search.offset:
                search.before = max(last, search.before or last)
                damage.clear()
            elif search.after is None or first < search.after:
                search.after = first
                search.damage = [(claims, f._replace(next_offset=first)) for claims, f in damage]
                damage.clear()
            previous = last
    if search.after is None:
        search.damage = damage
    return False


def _show(search: _Search, place: SegmentPlace, standing: Standing, report: Report) -> None:
    sound = search.sound
    if sound is None:
        before = "the start" if search.before is None else f"offset {search.before}"
        after = "the end" if search.after is None else f"offset {search.after}"
        search.notes.append(
            f"no sound batch of the segment spans offset {search.offset}: "
            f"it lies between {before} and {after}"
        )
        for claims, defect in search.damage:
            if claims is not None:
                report.batch(claims, (defect.defect_code,))
            report.defect(defect)
        return
    batch = sound_batch(sound, standing.origin, place.name)
    report.batch(batch, ())
    if batch.is_control:
        search.is_found = sound.record_count > 0
        search.notes.append(f"it is a control record: {batch.control_type}")
        return
    for record in decode(sound.unit, MOST_DECOMPRESSED_BYTES):
        if record.offset == search.offset:
            search.is_found = True
            report.record(record_facts(record, sound.unit, standing.origin))
    if not search.is_found:
        search.notes.append("the batch spans the offset but has no such record: compacted away")
