"""Proves outcomes of transactions whose markers are missing from all copies of a log.

An existing marker always decides the outcome. If the marker's offset is missing from all copies,
transaction indexes and producer snapshots decide, by the same rules as in an ingest. These files
are then the only evidence, so a file is not used if the log or another copy contradicts it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from operator import attrgetter, itemgetter
from typing import NamedTuple

from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.segment_survey import DataSpan, OpenTransactions
from seglake.kafka_log.transaction_markers import Marker, Markers, OpenTransaction
from seglake.kafka_log.transactions.transaction_evidence import DamagedRange, Evidence, Verdict
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction

_Entry = tuple[int, int, int]  # producer, first offset, marker


class SegmentFiles(NamedTuple):
    """A segment with the offsets [start, next) and its transaction index.

    Attributes:
        is_last: whether the segment is the last one of its copy.
        has_index: whether the segment has an index file.
        aborted: entries of the index; None if it is not usable.
    """

    path: str
    start_offset: int
    next_offset: int
    is_last: bool
    has_index: bool
    aborted: tuple[AbortedTransaction, ...] | None


class CopyFiles(NamedTuple):
    """Transaction indexes and snapshots of one copy, for the part of the log that the lake has."""

    segments: tuple[SegmentFiles, ...]
    snapshots: tuple[OpenTransactions, ...]


class KnownLog(NamedTuple):
    """Markers and missing offsets of a partition, from the lake and all copies together.

    Attributes:
        markers: all known markers, by offset.
        ends: the same markers, for lookups by producer.
        holes: missing offsets, as sorted, disjoint ranges.
        cleaned: missing offsets that the cleaner removed, as sorted, disjoint ranges.
        covered_offset: exclusive end of the ingested offsets.
        waiting: transactional data whose marker may be in a hole.
    """

    key: PartitionKey
    markers: tuple[Marker, ...]
    ends: Markers
    holes: tuple[OffsetRange, ...]
    covered_offset: int
    waiting: tuple[DataSpan, ...]
    cleaned: tuple[OffsetRange, ...] = ()

    def holes_after(self, data: DataSpan) -> list[OffsetRange]:
        """Return the holes in which the marker of this data's transaction may have been."""
        end = self.ends.next_marker(data.producer_id, data.offset)
        holes = self.holes[bisect_right(self.holes, data.offset, key=itemgetter(1)) :]
        return list(takewhile(lambda hole: end is None or hole[0] < end.offset, holes))

    def is_cleaned(self, hole: OffsetRange) -> bool:
        """Return whether the cleaner removed any offset of a hole."""
        place = bisect_right(self.cleaned, hole[0], key=itemgetter(1))
        return place < len(self.cleaned) and self.cleaned[place][0] < hole[1]


class MissingMarkers(NamedTuple):
    """Proved outcomes of transactions whose markers are missing.

    Attributes:
        markers: the missing markers.
        settled: the data whose outcome these markers prove.
    """

    markers: tuple[Marker, ...] = ()
    settled: frozenset[DataSpan] = frozenset()
    notes: tuple[str, ...] = ()


def missing_markers(log: KnownLog, files: Iterable[CopyFiles]) -> MissingMarkers:
    """Return the outcomes of waiting data that the files prove.

    Args:
        log: markers and missing offsets, from the lake and all copies.
        files: transaction indexes and snapshots of each copy.
    """
    notes: list[str] = []
    trusted = [_trusted(copy, log, notes) for copy in files]
    asked = sorted({hole for data in log.waiting for hole in log.holes_after(data)})
    # The cleaner removes a marker together with its abort in the index.
    damage = [
        DamagedRange(
            *hole,
            not log.is_cleaned(hole) and any(_is_indexed(copy, hole, log) for copy in trusted),
        )
        for hole in asked
    ]
    disputed = {hole for hole in asked if _is_disputed(hole, trusted, log)}
    evidence = Evidence(log.markers, _entries(trusted), _snapshot(trusted, log), damage)
    markers: list[Marker] = []
    settled: list[DataSpan] = []
    for data in log.waiting:
        holes = log.holes_after(data)
        hiding = [span for span in damage if (span.start_offset, span.next_offset) in holes]
        end = None if disputed.intersection(holes) else _end(data, hiding, log, evidence)
        if end is not None:
            settled.append(data)
            markers += [] if end.is_read else [end]
            notes.append(
                f"{log.key}: the marker of producer {data.producer_id}'s transaction with data at "
                f"offset {data.offset} is missing; .txnindex and .snapshot prove that it was "
                f"{end.state}"
            )
    return MissingMarkers(tuple(markers), frozenset(settled), tuple(dict.fromkeys(notes)))


def _end(
    data: DataSpan, damage: Sequence[DamagedRange], log: KnownLog, evidence: Evidence
) -> Marker | None:
    """Return the marker that ended the data's transaction, read or proved; None if unknown."""
    producer_id = data.producer_id
    for span in damage:
        if span.start_offset <= data.offset:
            return None  # the hole may be before or after the data
        transaction = OpenTransaction(producer_id, data.offset)
        match evidence.verdict(transaction, span):
            case Verdict.ABORTED:
                entry = evidence.next_aborted(producer_id, span.start_offset)
                offset = span.start_offset if entry is None else entry.last_offset
                return Marker(offset, producer_id, False, False, is_placed=entry is not None)
            case Verdict.COMMITTED:
                offset = span.next_offset - 1
                return Marker(offset, producer_id, True, False, is_placed=False)
            case Verdict.UNCERTAIN:
                return None
            case Verdict.NO_END:
                pass
    return log.ends.next_marker(producer_id, data.offset)


def _trusted(copy: CopyFiles, log: KnownLog, notes: list[str]) -> CopyFiles:
    """Return a copy's files except indexes that contradict the log; add a note for each of those.

    Only entries that could decide an outcome are compared.
    """
    waits = {data.producer_id: data.offset for data in reversed(log.waiting)}
    segments = []
    for segment in copy.segments:
        asked = [
            e for e in segment.aborted or () if e.last_offset > waits.get(e.producer_id, OPEN_END)
        ]
        fault = next((fault for entry in asked for fault in _faults(entry, log)), None)
        if fault is not None:
            notes.append(
                f"{log.key}: .txnindex and the log disagree, and the log decides: {segment.path} "
                f"names {fault}"
            )
            segment = segment._replace(aborted=None)
        segments.append(segment)
    return copy._replace(segments=tuple(segments))


def _faults(entry: AbortedTransaction, log: KnownLog) -> Iterator[str]:
    """Yield a text for each contradiction between an index entry and the log."""
    producer_id, last = entry.producer_id, entry.last_offset
    name = f"an abort of producer {producer_id} at offset {last}"
    is_in_hole = any(start <= last < stop for start, stop in log.holes)
    at_end = log.ends.next_marker(producer_id, last - 1)
    if at_end is not None and at_end.offset == last:
        if at_end.is_commit:
            yield f"{name}, but the log has a commit there"
    elif last < log.covered_offset and not is_in_hole:
        yield f"{name}, but the log has none"
    before = log.ends.next_marker(producer_id, entry.first_offset)
    if before is not None and before.offset < last:
        yield f"{name}, begun at {entry.first_offset}, but the log has a marker at {before.offset}"


def _is_indexed(copy: CopyFiles, hole: OffsetRange, log: KnownLog) -> bool:
    """Return whether the indexes of a copy would list each abort marker in a hole."""
    start, stop = hole
    parts = [
        file for file in copy.segments if file.start_offset < stop and start < file.next_offset
    ]
    is_there = bool(parts) and parts[0].start_offset <= start and stop <= parts[-1].next_offset
    return is_there and all(_is_complete(copy, part, stop, log) for part in parts)


def _is_complete(copy: CopyFiles, segment: SegmentFiles, stop: int, log: KnownLog) -> bool:
    """Return whether a segment's index has all known aborts up to `stop`."""
    end = min(stop, segment.next_offset)
    is_closed = any(snapshot.offset >= end for snapshot in copy.snapshots)
    aborts = {
        (marker.producer_id, marker.offset)
        for marker in log.markers
        if not marker.is_commit and segment.start_offset <= marker.offset < segment.next_offset
    }
    if not segment.has_index:
        return is_closed and not aborts
    if segment.aborted is None:
        return False
    named = {(entry.producer_id, entry.last_offset) for entry in segment.aborted}
    return (is_closed or not segment.is_last) and aborts <= named


def _entries(copies: Iterable[CopyFiles]) -> list[AbortedTransaction]:
    """Return all aborts in the copies' indexes, each once."""
    named = [entry for copy in copies for file in copy.segments for entry in file.aborted or ()]
    return list({(e.producer_id, e.first_offset, e.last_offset): e for e in named}.values())


def _is_disputed(hole: OffsetRange, copies: Iterable[CopyFiles], log: KnownLog) -> bool:
    """Return whether two copies' indexes name different aborts in a hole."""
    listed: list[set[_Entry]] = []
    complete: list[set[_Entry]] = []
    for copy in copies:
        entries = {
            (entry.producer_id, entry.first_offset, entry.last_offset)
            for segment in copy.segments
            for entry in segment.aborted or ()
            if hole[0] <= entry.last_offset < hole[1]
        }
        listed.append(entries)
        complete += [entries] if _is_indexed(copy, hole, log) else []
    named = set().union(*listed)
    is_one = len({(producer, last) for producer, _, last in named}) == len(named)
    return not is_one or any(entries != named for entries in complete)


def _snapshot(copies: Iterable[CopyFiles], log: KnownLog) -> OpenTransactions | None:
    """Return the newest snapshot up to the end of the ingested offsets; None if there is none."""
    found = [snapshot for copy in copies for snapshot in copy.snapshots]
    usable = [snapshot for snapshot in found if snapshot.offset <= log.covered_offset]
    return max(usable, key=attrgetter("offset"), default=None)
