"""Markers and transactional data of a surveyed log, and ranges that may have lost markers.

Markers and data are called events here. `transaction_outcomes` derives transactions from them.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from seglake.kafka_log.replica import Replica
from seglake.kafka_log.segment_survey import DataSpan, Event, OpenTransactions, SegmentSurvey
from seglake.kafka_log.transaction_markers import Marker, TransactionFold
from seglake.kafka_log.transactions.transaction_evidence import DamagedRange
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction


class WalkedSegment(NamedTuple):
    """Surveyed segment, with the offsets [start, next) that it may have."""

    survey: SegmentSurvey
    start_offset: int
    next_offset: int
    is_last: bool

    @property
    def aborted(self) -> tuple[AbortedTransaction, ...]:
        """Return the entries of the transaction index; empty without a usable index."""
        return self.survey.transactions.files.aborted or ()


class WalkedLog(NamedTuple):
    """The surveyed last segments of a log.

    Attributes:
        upper_offset: exclusive end; batches at or above it are ignored.
        walk_offset: first offset that was read.
        cleaned_offset: exclusive end of the offsets from which the cleaner may have removed
            batches.
        snapshot: the newest producer snapshot at or above `walk_offset`; None without one, since an
            older snapshot may be out of date.
    """

    segments: tuple[WalkedSegment, ...]
    upper_offset: int
    walk_offset: int
    cleaned_offset: int
    snapshot: OpenTransactions | None


def walked_log(replica: Replica, surveys: Sequence[SegmentSurvey], upper: int) -> WalkedLog:
    """Return the surveyed log of one replica.

    Args:
        replica: the replica, with its checkpoints.
        surveys: surveys of its last segments, in order.
        upper: exclusive end; batches at or above it are ignored.
    """
    files = replica.segments[len(replica.segments) - len(surveys) :]
    stops = [*(file.base_offset for file in files[1:]), upper][: len(files)]
    segments = tuple(
        WalkedSegment(
            survey,
            file.base_offset if survey.walk_offset is None else survey.walk_offset,
            min(stop, upper),
            file is files[-1],
        )
        for file, survey, stop in zip(files, surveys, stops, strict=True)
    )
    walk_offset = segments[0].start_offset if segments else 0
    cleaned = [survey.next_offset for survey in surveys if survey.has_compacted_batch]
    snapshots = [
        snapshot
        for survey in surveys
        if (snapshot := survey.transactions.files.snapshot) is not None
        and walk_offset <= snapshot.offset <= upper
    ]
    return WalkedLog(
        segments=segments,
        upper_offset=upper,
        walk_offset=walk_offset,
        cleaned_offset=max([replica.checkpoints.cleaner_offset or 0, *cleaned]),
        snapshot=snapshots[0] if snapshots else None,
    )


def own_events(log: WalkedLog) -> list[Event]:
    """Return the log's markers and transactional data, sorted by offset."""
    found = [
        event
        for segment in log.segments
        for event in segment.survey.transactions.events
        if event.offset < segment.next_offset
    ]
    return sorted(found, key=attrgetter("offset"))


def damaged_ranges(log: WalkedLog, events: Sequence[Event]) -> list[DamagedRange]:
    """Return the ranges that may have lost markers: damage in segments, gaps between segments.

    No checksum covers a marker's offset, so it may be wrong. If it is above the marker's segment,
    the true offset is above the segment's last known event. So all offsets above that event count
    as damage, even in a cleaned log.

    Args:
        log: the surveyed log.
        events: the log's markers and transactional data, sorted by offset.
    """
    aborts = _aborts_of_data(events)
    found: list[DamagedRange] = []
    for segment in log.segments:
        for span in segment.survey.transactions.damage:
            stop = segment.next_offset if span.next_offset is None else span.next_offset
            stop = min(stop, segment.next_offset)
            if span.start_offset < stop:
                is_indexed = _is_indexed(log, segment, stop, aborts)
                found.append(DamagedRange(span.start_offset, stop, is_indexed))
    for before, after in pairwise(log.segments):
        start, stop = before.survey.next_offset, min(after.start_offset, log.upper_offset)
        if log.cleaned_offset <= start < stop and not before.survey.is_cut_open:
            found.append(DamagedRange(start, stop, is_indexed=False))
        known_end = _known_end(before, after.start_offset)
        if known_end is None or known_end >= stop:
            continue
        if all(each.next_offset != stop for each in found):
            found.append(DamagedRange(known_end, stop, _is_indexed(log, before, stop, aborts)))
    return sorted(found)


def _known_end(segment: WalkedSegment, next_base: int) -> int | None:
    """Return the end of a segment's events if a marker's offset is above the segment; else None."""
    events = segment.survey.transactions.events
    if not any(isinstance(each, Marker) and each.offset >= next_base for each in events):
        return None
    inside = (each.offset + 1 for each in events if each.offset < next_base)
    return max(inside, default=segment.start_offset)


def _is_indexed(
    log: WalkedLog, segment: WalkedSegment, next_offset: int, aborts: Collection[int]
) -> bool:
    """Return whether a segment's index has every abort below an offset.

    The index of the last segment may be older than the log. It is used only if it has an abort at
    or above the offset. A missing index may be lost. It counts as empty only if a later snapshot
    shows that the files are complete.
    """
    files = segment.survey.transactions.files
    is_closed = log.snapshot is not None and log.snapshot.offset >= next_offset
    if files.has_index:
        named = (each.last_offset for each in reversed(segment.aborted))
        is_closed = is_closed or next((end for end in named if end in aborts), -1) >= next_offset
        return files.aborted is not None and (is_closed or not segment.is_last)
    inside = range(segment.start_offset, segment.next_offset)
    return is_closed and not any(offset in inside for offset in aborts)


def _aborts_of_data(events: Iterable[Event]) -> frozenset[int]:
    """Return the offsets of abort markers that end data; indexes have only these aborts."""
    fold = TransactionFold()
    found = []
    for event in events:
        if isinstance(event, DataSpan):
            fold.data(event.producer_id, event.offset)
        elif fold.marker(event) is not None and not event.is_commit:
            found.append(event.offset)
    return frozenset(found)
