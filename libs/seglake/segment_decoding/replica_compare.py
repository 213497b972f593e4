"""Compares a copy's batches with the ingested log. Runs in tasks.

Only one broker writes in a leader epoch. So all copies have the same bytes at the same offset of an
epoch. A batch is a conflict if its bytes differ, or if the copy lost an election before this batch.
Damage is no conflict: an invalid checksum on either side proves nothing.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from typing import NamedTuple

from seglake.kafka_log.replica import Replica
from seglake.kafka_log.segment_survey import LastBatch
from seglake.lake.tables import QUARANTINE
from seglake.log_dirs.batch_walk import BatchHead, LogHeads
from seglake.log_tables.batch_rows import Place
from seglake.log_tables.quarantine_rows import RawBytes, most_raw_bytes, quarantine_row
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import DefectCode, SegmentCodecError
from seglake.segment_decoding.conflict_counts import ConflictKind
from seglake.segment_decoding.decoded_rows import DecodedRows, Row
from seglake.segment_decoding.erased_rows import RuledBatches
from seglake.segment_decoding.listed_copies import (
    CopyBefore,
    is_conflict,
    overlap,
)
from seglake.segment_decoding.replica_compare_values import (
    CompareRequest,
    FoundConflicts,
    RecordReport,
    RecordRequest,
    Winner,
    is_listed,
)
from seglake.segment_decoding.table_files import TableFiles
from seglake.storage.errors import StorageError


class _Conflict(NamedTuple):
    """A conflicting batch, and the ingested log's batch at its offsets (None if it has none)."""

    kind: ConflictKind
    theirs: BatchHead
    ours: BatchHead | None


def find_conflicts(requests: tuple[CompareRequest, ...]) -> list[FoundConflicts]:
    """Find the conflicts of each request, and write nothing."""
    return [_find(request) for request in requests]


def record_conflicts(requests: tuple[RecordRequest, ...]) -> list[RecordReport]:
    """Write a row for each conflicting batch that is not known, and return the reports."""
    return [_record(request) for request in requests]


def _find(request: CompareRequest) -> FoundConflicts:
    """Find the conflicts of one request."""
    log = LogHeads.of(request.storage, request.theirs)
    found: list[tuple[ConflictKind, BatchHead]] = []
    winner: Winner | None = None
    for kind, theirs, ours in _conflicts(request, log):
        found.append((kind, theirs))
        if kind is ConflictKind.CONTRADICTS and ours is not None:
            first = min(theirs.first_offset, ours.first_offset)
            last = LastBatch(theirs.first_offset, theirs.crc, theirs.leader_epoch)
            first = first if winner is None else winner.first_offset
            winner = Winner(first, theirs.leader_epoch, last)
    return FoundConflicts(winner, tuple(found))


def _record(request: RecordRequest) -> RecordReport:
    """Write the conflicts of one request, except known ones."""
    compare, settings = request.compare, request.settings
    log = LogHeads.of(compare.storage, compare.theirs)
    files = TableFiles(settings)
    files.begin(compare.key.topic)
    ruled = RuledBatches.of(compare.key, settings)
    kinds: Counter[ConflictKind] = Counter()
    try:
        for conflict in _conflicts(compare, log):
            most_bytes = most_raw_bytes(compare.key.topic, settings.max_raw_bytes)
            try:
                content = log.content(conflict.theirs, most_bytes)
            except StorageError:  # the copy has vanished meanwhile
                break
            if ruled is not None and ruled.hold(content):
                content = b""
            if not is_listed(conflict.theirs, len(content), request.known):
                files.add(DecodedRows(QUARANTINE, [_row(conflict, content, _place(log, request))]))
                kinds[conflict.kind] += 1
        return RecordReport(kinds, files.finish())
    except BaseException:
        files.abandon()
        raise


def _conflicts(request: CompareRequest, log: LogHeads) -> Iterator[_Conflict]:
    """Yield the conflicts.

    While a conflict is yielded, `log` is at the batch of the conflict.

    If a file has vanished or cannot be read, no more conflicts are yielded.
    """
    with suppress(StorageError, SegmentCodecError):
        yield from _compared(request, log)


def _compared(request: CompareRequest, log: LogHeads) -> Iterator[_Conflict]:
    """Compare the copy with the ingested log batch by batch, and yield the conflicts."""
    reference: LogHeads | None = None
    heads: Generator[BatchHead, None, None]
    if isinstance(request.ours, Replica):
        reference = LogHeads.of(request.storage, request.ours)
        heads = reference.between(request.offsets)
    else:
        heads = (head for head in request.ours)
    before = [
        CopyBefore(copy, LogHeads.of(request.storage, copy.replica), request.offsets)
        for copy in request.before
    ]
    comparison = _Comparison(request, log, reference, before)
    with ExitStack() as stack:
        others = stack.enter_context(closing(log.between(request.offsets)))
        for opened in (heads, *(copy.heads for copy in before)):
            stack.callback(opened.close)
        for theirs, ours in _side_by_side(others, heads):
            conflict = comparison.conflict(theirs, ours)
            if conflict is not None:
                yield conflict


def _side_by_side(
    theirs: Iterable[BatchHead], ours: Iterator[BatchHead]
) -> Iterator[tuple[BatchHead, BatchHead | None]]:
    """Yield each batch of a copy with the log's first batch that shares an offset with it."""
    own = next(ours, None)
    for head in theirs:
        while own is not None and own.last_offset < head.first_offset:
            own = next(ours, None)
        yield head, None if own is None or own.first_offset > head.last_offset else own


class _Comparison(NamedTuple):
    """Judge of the batches of a copy and of the ingested log.

    Attributes:
        log: the copy.
        reference: the ingested log; None if its batches come from the lake.
        before: copies whose conflicts are listed already.
    """

    request: CompareRequest
    log: LogHeads
    reference: LogHeads | None
    before: Sequence[CopyBefore]

    def conflict(self, theirs: BatchHead, ours: BatchHead | None) -> _Conflict | None:
        """Return the conflict of a batch with the log's batch at its offsets; None if none is new.

        Headers are compared first, and the bytes only if the headers differ.
        """
        is_beyond = theirs.last_offset >= self.request.divergence_offset
        if not is_conflict(theirs, ours, is_beyond=is_beyond) or not self.log.is_sound(theirs):
            return None
        if not self._is_sound(ours):
            if not is_beyond:
                return None
            ours = None
        if any(copy.lists(theirs, ours) for copy in self.before):
            return None
        theirs = self.log.exact(theirs)
        if ours is not None and self.reference is not None and not is_beyond:
            ours = self.reference.exact(ours)
            if not (overlap(theirs, ours) and is_conflict(theirs, ours, is_beyond=False)):
                return None
        return _Conflict(self._kind(theirs, ours, is_beyond=is_beyond), theirs, ours)

    def _is_sound(self, ours: BatchHead | None) -> bool:
        """Return whether nothing shows that the log's batch is damaged."""
        return ours is None or self.reference is None or self.reference.is_sound(ours)

    def _kind(self, theirs: BatchHead, ours: BatchHead | None, *, is_beyond: bool) -> ConflictKind:
        """Return what kind of conflict two batches at the same offsets are."""
        if self.request.is_same_broker:
            return ConflictKind.SAME_BROKER
        if self.request.is_undecided:
            return ConflictKind.UNDECIDED
        if ours is None:
            return ConflictKind.LOST
        if ours.leader_epoch is None or theirs.leader_epoch is None:
            return ConflictKind.UNDECIDED
        if theirs.leader_epoch == ours.leader_epoch:
            return ConflictKind.DIFFERS
        # Above the divergence, the copy lost to a newer leader.
        # Leader epochs alone do not show this: the newer leader may have kept older batches.
        has_lost = is_beyond or theirs.leader_epoch < ours.leader_epoch
        return ConflictKind.LOST if has_lost else ConflictKind.CONTRADICTS


def _place(log: LogHeads, request: RecordRequest) -> Place:
    """Return source, broker and segment of the batch at the reader's position."""
    settings, file = request.settings, log.file
    if file is None:
        raise RuntimeError("a conflict was found outside a segment")
    return Place(
        origin=settings.origin(request.compare.key),
        broker_id=request.compare.theirs.broker_id,
        segment=file.name,
        origin_position=file.origin_position,
        started_at_us=settings.started_at_us,
    )


def _row(conflict: _Conflict, content: bytes, place: Place) -> Row:
    """Return the row of `quarantine` for a conflicting batch."""
    theirs = conflict.theirs
    defect = Defect(
        position=theirs.position,
        size_bytes=theirs.size_bytes,
        code=DefectCode.REPLICA_CONFLICT,
        detail=_detail(conflict),
        expected_offset=theirs.first_offset,
        base_offset=theirs.first_offset,
        last_offset=theirs.last_offset,
        record_count=theirs.record_count,
        magic=theirs.magic,
        codec_id=theirs.codec_id,
        expected_crc=theirs.crc,
        computed_crc=theirs.crc,
    )
    raw = RawBytes(content, len(content) == theirs.size_bytes)
    return quarantine_row(defect, raw, place, None, None)


def _detail(conflict: _Conflict) -> str:
    """Return a sentence on how two batches conflict."""
    here = _shown(conflict.theirs)
    if conflict.kind is ConflictKind.SAME_BROKER:
        ours = "nothing there" if conflict.ours is None else _shown(conflict.ours)
        return f"{here} is of a second log of the same broker; the first has {ours}"
    if conflict.ours is None and conflict.kind is ConflictKind.UNDECIDED:
        return f"{here} differs from the ingested log, which has nothing valid there"
    if conflict.ours is None:
        return f"{here} lost an election; the log that won has nothing valid there"
    verbs = {
        ConflictKind.LOST: "lost an election to",
        ConflictKind.CONTRADICTS: "won an election, but the tables have",
        ConflictKind.DIFFERS: "differs from",
        ConflictKind.UNDECIDED: "differs from",
    }
    return f"{here} {verbs[conflict.kind]} {_shown(conflict.ours)}"


def _shown(head: BatchHead) -> str:
    """Describe a batch by leader epoch, offsets and checksum."""
    epoch = "no leader epoch" if head.leader_epoch is None else f"leader epoch {head.leader_epoch}"
    offsets = f"offsets {head.first_offset} to {head.last_offset}"
    return f"{epoch}, {offsets}, checksum {head.crc:#010x}"
