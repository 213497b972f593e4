"""Chooses the uploads of a remote tier that make up a partition's log.

Each attempt to upload a segment has its own id, and each leader uploads its own segments, so
uploads overlap. Leader epochs show up to which offset an upload is part of the log; below that
offset, overlapping uploads have the same batches.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seglake.kafka_log.leader_epochs import OPEN_END, LeaderEpochs, leader_epochs_of
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.remote_events import RemoteState
from seglake.kafka_log.replica import RemoteGap, SegmentFile
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart

_UNPROVED = frozenset({None, RemoteState.COPY_STARTED})
_UNFINISHED = "unfinished upload"
_LOST = "of a leader epoch that lost an election"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An upload of a segment, from the tier's listing and its events.

    Attributes:
        next_offset: exclusive end of the segment.
        epochs: leader epochs within the segment; empty if unknown.
        file: the segment's object; None if the tier does not have it.
        state: state of the upload by its events; None without events.
        is_deleted: whether an event shows that the upload was deleted, although its state is
            unknown.
        unreadable: why the object cannot be read, and what to do; empty if it can be read.
        order: position of the upload's newest event among the partition's events.
        was_finished: whether an event states that the upload was finished, even if it is deleted
            now.
        has_ended: whether the upload was finished; without events, its objects decide.
    """

    segment_id: str
    start_offset: int
    next_offset: int
    epochs: tuple[EpochStart, ...] = ()
    file: SegmentFile | None = None
    state: RemoteState | None = None
    is_deleted: bool = False
    unreadable: str = ""
    order: int = -1
    was_finished: bool = False
    has_ended: bool = True


class Chosen(NamedTuple):
    """Upload, and the offset up to which it is read; another segment has the later offsets."""

    upload: Upload
    next_offset: int


class TierLog(NamedTuple):
    """The log of a partition in a tier.

    Attributes:
        chosen: the uploads to read, by offset.
        others: groups of uploads of the same log, which replace damaged parts of chosen uploads. A
            chosen upload that is not read to its end is listed here, too. The uploads of a group do
            not overlap.
        gaps: offsets that the tier should have, with the reason why they cannot be read.
        lineage: all leader epochs of the log.
        left_out: for each reason, number of objects that are not read.
        is_confirmed: whether events describe all chosen uploads.
        log_start: the given log start, or a higher one that deleted uploads prove.
        absent_end: exclusive end of the finished uploads that cannot be read; 0 without any.
        unproved: segment ids of the chosen uploads that no event states to be finished.
        rivals: segment ids of the readable uploads that begin within the last chosen one.
    """

    chosen: tuple[Chosen, ...]
    others: tuple[tuple[Chosen, ...], ...]
    gaps: tuple[RemoteGap, ...]
    lineage: tuple[EpochStart, ...]
    left_out: Mapping[str, int]
    is_confirmed: bool
    log_start: int
    absent_end: int
    unproved: frozenset[str]
    rivals: tuple[str, ...] = ()


def tier_log(
    uploads: Sequence[Upload],
    *,
    lineage: tuple[EpochStart, ...] = (),
    log_start: int = 0,
    local_start: int = OPEN_END,
    includes_unknown: bool,
    includes_deleted: bool = False,
) -> TierLog:
    """Choose the uploads that make up the log of a partition.

    Args:
        uploads: all uploads of the partition.
        lineage: leader epochs of the most advanced local replica; if empty, those of the uploads.
        log_start: log start of the partition, which may be out of date.
        local_start: first offset on the brokers' disks.
        includes_unknown: whether uploads without events may be part of the log, because events are
            missing. An upload above all uploads with events may always be part of it.
        includes_deleted: whether to read uploads that the cluster deleted and the tier still has.
    """
    if not includes_deleted:
        log_start = max(log_start, min(_deleted_up_to(uploads, log_start), local_start))
    left_out: Counter[str] = Counter()
    live = [
        upload
        for upload in _possible(uploads, left_out, includes_unknown, includes_deleted)
        if upload.next_offset > log_start
    ]
    lineage = _newer(lineage, live)
    inside = _inside(live, lineage)
    left_out[_LOST] += len(live) - len(inside)
    readable = [each for each in inside if _is_readable(each.upload)]
    absent = [each for each in inside if not _is_readable(each.upload)]
    useful, absent_end = _useful(readable), _absent_end(absent)
    end = max([absent_end, *(each.next_offset for each in useful)])
    begun = [each for each in absent if each.upload.start_offset >= end]
    left_out[_UNFINISHED] += len(readable) - len(useful) + len(begun)
    chosen = _cover(useful)
    return TierLog(
        chosen=chosen,
        others=_unread_parts(useful, chosen),
        gaps=tuple(_gaps(absent, _offsets(chosen))),
        lineage=lineage,
        left_out=+left_out,
        is_confirmed=all(each.upload.state is not None for each in chosen or absent),
        log_start=log_start,
        absent_end=absent_end,
        unproved=_unproved(chosen),
        rivals=tuple(sorted(_rivals(uploads, chosen[-1]))) if chosen else (),
    )


def _deleted_up_to(uploads: Sequence[Upload], log_start: int) -> int:
    """Return the end of the deleted uploads that begin at or below the log start.

    Kafka deletes a log from its start. So a deleted upload above a live one does not prove deleted
    records: the same segment may have been uploaded twice.
    """
    live = [each.start_offset for each in uploads if each.state is RemoteState.COPY_FINISHED]
    gone = merged(
        (each.start_offset, each.next_offset)
        for each in uploads
        if each.was_finished and each.state is not RemoteState.COPY_FINISHED
    )
    reached = max((stop for start, stop in gone if start <= log_start), default=log_start)
    return min([reached, *live])


def _useful(readable: list[Chosen]) -> list[Chosen]:
    """Return the uploads, except unfinished ones whose offsets finished uploads have.

    The events of an old disk may lack the end of the last uploads. So a complete object without an
    end event is read if no finished upload has its offsets.
    """
    finished = _offsets(each for each in readable if not _is_begun(each.upload))
    return [
        each
        for each in readable
        if not _is_begun(each.upload)
        or any(True for _ in subtracted((each.upload.start_offset, each.next_offset), finished))
    ]


def _offsets(uploads: Iterable[Chosen]) -> list[OffsetRange]:
    """Return the offset range of each upload."""
    return merged((each.upload.start_offset, each.next_offset) for each in uploads)


def _unread_parts(
    uploads: Iterable[Chosen], chosen: Iterable[Chosen]
) -> tuple[tuple[Chosen, ...], ...]:
    """Return the uploads that are not read up to their end, in groups without overlaps."""
    whole = {(each.upload.segment_id, each.next_offset) for each in chosen}
    groups: list[list[Chosen]] = []
    for each in sorted(uploads, key=_start):
        if (each.upload.segment_id, each.next_offset) in whole:
            continue
        group = next((own for own in groups if own[-1].next_offset <= _start(each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    return tuple(map(tuple, groups))


def lineage_of(uploads: Iterable[Upload]) -> tuple[EpochStart, ...]:
    """Return the leader epochs of a log, each from the newest upload that states it.

    An upload lists only the epochs of its own offsets, so it states a later start for its first
    epoch.
    """
    found: dict[int, int] = {}
    ranked = sorted(uploads, key=_rank, reverse=True)
    for upload in ranked:
        newer = min((start for epoch, start in found.items()), default=OPEN_END)
        for epoch, start in reversed(upload.epochs):
            is_older = all(known > epoch for known in found)
            if epoch in found:
                newer = min(newer, start)
                found[epoch] = min(found[epoch], start)
            elif is_older and start < newer:
                found[epoch] = newer = start
    return tuple(EpochStart(epoch, found[epoch]) for epoch in sorted(found))


def _unproved(uploads: Iterable[Chosen]) -> frozenset[str]:
    """Return the ids of the uploads that no event states to be finished."""
    return frozenset(each.upload.segment_id for each in uploads if each.upload.state in _UNPROVED)


def _rivals(uploads: Iterable[Upload], last: Chosen) -> Iterator[str]:
    """Yield the segment ids of the readable uploads that begin within the last chosen one."""
    start, following = last.upload.start_offset, last.next_offset
    for upload in uploads:
        is_within = start <= upload.start_offset < following and upload is not last.upload
        if is_within and _is_readable(upload):
            yield upload.segment_id


def _newer(lineage: tuple[EpochStart, ...], uploads: Sequence[Upload]) -> tuple[EpochStart, ...]:
    """Return the replica's or the uploads' leader epochs, whichever are newer."""
    newest = max((_rank(upload)[0] for upload in uploads), default=-1)
    return lineage_of(uploads) if not lineage or lineage[-1].epoch < newest else lineage


def _possible(
    uploads: Sequence[Upload],
    left_out: Counter[str],
    includes_unknown: bool,
    includes_deleted: bool,
) -> Iterator[Upload]:
    """Yield the uploads that may be part of the log; count the objects of the others by reason."""
    # The events of an old disk may end before the tier does: objects above them may be newer.
    described = max((each.next_offset for each in uploads if each.state is not None), default=0)
    for upload in uploads:
        may_be_new = includes_unknown or upload.start_offset >= described
        why = _why_not(upload, includes_unknown=may_be_new, includes_deleted=includes_deleted)
        if why:
            left_out[why] += upload.file is not None
        else:
            yield upload


def _why_not(upload: Upload, *, includes_unknown: bool, includes_deleted: bool) -> str:
    """Return why an upload is not part of the log, as text; empty if it may be part of it."""
    if _is_begun(upload) and not _is_readable(upload):
        return _UNFINISHED
    if upload.is_deleted or (upload.state is not None and upload.state.is_deleted):
        return "" if includes_deleted and upload.file is not None else "deleted by the cluster"
    if upload.state is None and not (includes_unknown or includes_deleted):
        return "unknown to __remote_log_metadata"
    return ""


def _is_begun(upload: Upload) -> bool:
    """Return whether an upload's last event says that the upload began."""
    return upload.state is RemoteState.COPY_STARTED


def _is_readable(upload: Upload) -> bool:
    return upload.file is not None and not upload.unreadable


def _rank(upload: Upload) -> tuple[int, int, int]:
    last = upload.epochs[-1].epoch if upload.epochs else -1
    return last, upload.order, upload.next_offset


def _inside(uploads: Sequence[Upload], lineage: tuple[EpochStart, ...]) -> list[Chosen]:
    """Return the uploads with records of the log, each with the end that leader epochs allow."""
    epochs = leader_epochs_of(lineage)
    valid = [Chosen(upload, _valid_next(upload, epochs)) for upload in uploads]
    return [each for each in valid if each.upload.start_offset < each.next_offset]


def _absent_end(absent: Sequence[Chosen]) -> int:
    """Return the exclusive end of the finished uploads among unreadable ones; 0 without any."""
    ends = (stop if upload.has_ended else upload.start_offset for upload, stop in absent)
    return max(ends, default=0)


def _valid_next(upload: Upload, lineage: LeaderEpochs) -> int:
    """Return the offset up to which an upload is part of the log, by the log's leader epochs."""
    if not upload.epochs or not lineage.epochs:
        return upload.next_offset
    first = lineage.epochs[0]
    # The upload's epochs are older than all known epochs of the log.
    if upload.epochs[-1].epoch < first.epoch:
        return min(upload.next_offset, first.start_offset)
    return min(upload.next_offset, lineage.divergence_offset(leader_epochs_of(upload.epochs)))


def _start(chosen: Chosen) -> int:
    return chosen.upload.start_offset


def _cover(uploads: Sequence[Chosen]) -> tuple[Chosen, ...]:
    """Select the fewest uploads that cover all offsets.

    Each selected upload is read up to the start of the next one.
    """
    waiting = deque(sorted(uploads, key=_start))
    chosen: list[Chosen] = []
    reached = -1
    while waiting:
        limit = max(_start(waiting[0]), reached)
        near: list[Chosen] = []
        while waiting and _start(waiting[0]) <= limit:
            near.append(waiting.popleft())
        best = max(near, key=lambda each: (each.next_offset, _rank(each.upload)))
        if best.next_offset <= reached:
            continue
        if chosen:
            chosen[-1] = chosen[-1]._replace(next_offset=min(chosen[-1].next_offset, _start(best)))
        chosen.append(best)
        reached = best.next_offset
    return tuple(chosen)


def _gaps(
    missing: Iterable[tuple[Upload, int]], has: Sequence[tuple[int, int]]
) -> Iterable[RemoteGap]:
    """Yield the offsets that no readable upload has, each once, with the reason."""
    known = [*has]
    for upload, stop in sorted(missing, key=lambda each: each[0].start_offset):
        for start, following in subtracted((upload.start_offset, stop), known):
            yield RemoteGap(start, following, upload.unreadable or _absent(upload))
        known = merged([*known, (upload.start_offset, stop)])


def _absent(upload: Upload) -> str:
    return f"the tier has no object of segment {upload.segment_id}"
