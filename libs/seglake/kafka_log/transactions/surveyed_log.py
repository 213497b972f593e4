"""One log as its survey saw it: the segments, what counts in them, and where markers may be gone.

Pure; what `transaction_outcomes` folds.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from seglake.kafka_log.replica import Replica
from seglake.kafka_log.segment_survey import DataSpan, Event, OpenTransactions, SegmentSurvey
from seglake.kafka_log.transaction_markers import Marker, TransactionFold
from seglake.kafka_log.transactions.transaction_evidence import Damage
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction


@dataclass(frozen=True, slots=True)
class WalkedSegment:
    """One surveyed segment and the offsets [start, next) that can be in it."""

    survey: SegmentSurvey
    start_offset: int
    next_offset: int
    is_last: bool

    @property
    def aborted(self) -> tuple[AbortedTransaction, ...]:
        """What its transaction index names, nothing without one that can be used."""
        return self.survey.transactions.files.aborted or ()


@dataclass(frozen=True, slots=True)
class WalkedLog:
    """The last segments of a log; nothing counts from `upper_offset` on.

    Attributes:
        walk_offset: what lies below was not read.
        cleaned_offset: below, the cleaner may have taken batches away.
        snapshot: the newest that lies where headers were read: what an older one says may have
            changed since.
    """

    segments: tuple[WalkedSegment, ...]
    upper_offset: int
    walk_offset: int
    cleaned_offset: int
    snapshot: OpenTransactions | None


def walked_log(replica: Replica, surveys: Sequence[SegmentSurvey], upper: int) -> WalkedLog:
    """The log of one replica; `surveys` are of its last segments, in order."""
    files = replica.segments[len(replica.segments) - len(surveys) :]
    stops = [*(file.base_offset for file in files[1:]), upper]
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
    """What the walk met, in the order of offsets."""
    found = [
        event
        for segment in log.segments
        for event in segment.survey.transactions.events
        if event.offset < segment.next_offset
    ]
    return sorted(found, key=attrgetter("offset"))


def damage_of(log: WalkedLog, events: Sequence[Event]) -> list[Damage]:
    """Where markers may be gone: damage inside the segments, and what is missing between them.

    A marker with a false offset behind its segment is damage too, whatever the cleaner skipped: no
    checksum covers offsets. It stood somewhere behind what is known of the segment.
    """
    aborts = _aborts_of_data(events)
    found: list[Damage] = []
    for segment in log.segments:
        for span in segment.survey.transactions.damage:
            stop = segment.next_offset if span.next_offset is None else span.next_offset
            stop = min(stop, segment.next_offset)
            if span.start_offset < stop:
                is_indexed = _is_indexed(log, segment, stop, aborts)
                found.append(Damage(span.start_offset, stop, is_indexed))
    for before, behind in pairwise(log.segments):
        start, stop = before.survey.next_offset, min(behind.start_offset, log.upper_offset)
        if log.cleaned_offset <= start < stop and not before.survey.is_cut_open:
            found.append(Damage(start, stop, is_indexed=False))
        known_end = _known_end(before, behind.start_offset)
        if known_end is None or known_end >= stop:
            continue
        if all(each.next_offset != stop for each in found):
            found.append(Damage(known_end, stop, _is_indexed(log, before, stop, aborts)))
    return sorted(found)


def _known_end(segment: WalkedSegment, next_base: int) -> int | None:
    """Behind the last event of a segment with a marker that cannot be in it; None without one."""
    events = segment.survey.transactions.events
    if not any(isinstance(each, Marker) and each.offset >= next_base for each in events):
        return None
    inside = (each.offset + 1 for each in events if each.offset < next_base)
    return max(inside, default=segment.start_offset)


def _is_indexed(
    log: WalkedLog, segment: WalkedSegment, next_offset: int, aborts: Collection[int]
) -> bool:
    """Return whether a segment's index would name an abort below an offset.

    The index of the last segment may be older than its log, unless it names an abort of the log
    that comes later. A missing index may mean that nothing was aborted, or be lost: a later
    snapshot shows that the files are there.
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
    """Where the markers are that ended a transaction by an abort, so that an index names them."""
    fold = TransactionFold()
    found = []
    for event in events:
        if isinstance(event, DataSpan):
            fold.data(event.producer_id, event.offset)
        elif fold.marker(event) is not None and not event.is_commit:
            found.append(event.offset)
    return frozenset(found)
