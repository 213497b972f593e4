"""Decides which valid batches have the right offsets, and describes the faults of the others."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seglake.segment_codec.formats import message_set
from seglake.segment_codec.formats.errors import DefectCode, DefectError, Fault
from seglake.segment_codec.formats.message_set import MessageRun, Wrapper, wrapped_messages
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.formats.reference_decoder import decode
from seglake.segment_codec.formats.units import Unit
from seglake.segment_codec.kernels.batch_run import BatchRun
from seglake.segment_codec.kernels.damaged_wrapper import InnerPart, pieces_of
from seglake.segment_codec.walk.offset_chain import Claim, OffsetChain
from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment_bounds import SegmentBounds

_MOST_WRAPPED_BYTES = 64 << 20


class OffsetPlaces:
    """Checks batches' offsets against the earlier batches and the bounds of the segment."""

    def __init__(self, order: OffsetOrder, bounds: SegmentBounds) -> None:
        """Start with no batch; the walk adds them in the order of bytes.

        Args:
            order: offsets of the partition that were read; valid batches are added.
            bounds: bounds of the segment.
        """
        self._order = order
        self._base_offset = bounds.base_offset
        self._limit_offset = bounds.limit_offset

    @property
    def hole_count(self) -> int:
        """Return the number of holes that no damage explains; 0 if neighbours are not compared."""
        return 0

    @property
    def run_offset(self) -> int | None:
        """Return the offset from which runs of batches need no check; None if all need one."""
        return self._order.next_offset

    def accept_run(self, run: BatchRun) -> None:
        """Accept a run of batches unchecked; it begins at or above `run_offset`."""
        self._order.advance(run.stretches())

    def damage(self) -> None:
        """Record that damaged bytes follow, which may explain missing offsets."""

    def place(self, unit: Unit) -> tuple[Unit, Fault | None]:
        """Return the batch with the offsets that its records prove, and the offsets' fault."""
        return unit, self._judged(unit, None)

    def _judged(self, unit: Unit, first_offset: int | None) -> Fault | None:
        """Return why order or bounds contradict a unit's offsets; None if they do not."""
        expected = self._order.next_offset
        code = self._order.judge(unit, self._base_offset, self._limit_offset, first_offset)
        if code is None:
            return None
        first = unit.first_offset if first_offset is None else first_offset
        offsets = f"offsets {first} to {unit.last_offset}"
        if code is DefectCode.OFFSET_OUT_OF_SEGMENT:
            last = self._limit_offset - 1
            return code, f"{offsets} are outside the segment's range, {self._base_offset} to {last}"
        return code, f"{offsets} are not above {expected - 1}, an offset of an earlier batch"


def places_of(
    bounds: SegmentBounds,
    order: OffsetOrder,
    *,
    is_whole: bool,
    reaches_end: bool,
    items: Callable[[int], Iterable[object]] | None,
    headers_only: bool,
) -> OffsetPlaces:
    """Return the check of offsets for a walk.

    Args:
        bounds: bounds of the segment.
        order: offsets of the partition that were read; valid batches are added.
        is_whole: whether the walk begins at the segment's start.
        reaches_end: whether the walk ends at the segment's end.
        items: returns the batches, defects and tail from a position on, before their offsets are
            checked; None to compare no batch with its neighbours.
        headers_only: whether contradictions stay unresolved. A later full walk resolves them.
    """
    if items is None:
        return OffsetPlaces(order, bounds)
    chain = OffsetChain(
        order,
        max(order.next_offset, bounds.base_offset),
        is_start_known=is_whole,
        may_have_holes=bounds.may_have_holes,
        durable_offset=bounds.durable_offset,
        ends_log=bounds.is_last and reaches_end,
    )
    is_end_known = reaches_end and not bounds.is_last
    return _ComparedPlaces(order, bounds, chain, items, is_end_known, headers_only)


class _ComparedPlaces(OffsetPlaces):
    """Check of batches' offsets that also compares each batch with its neighbours."""

    def __init__(
        self,
        order: OffsetOrder,
        bounds: SegmentBounds,
        chain: OffsetChain,
        items: Callable[[int], Iterable[object]],
        is_end_known: bool,
        headers_only: bool,
    ) -> None:
        """Start with no batch; see `places_of` for the arguments; `chain` compares neighbours."""
        super().__init__(order, bounds)
        self._chain = chain
        self._items = items
        self._is_end_known = is_end_known
        self._headers_only = headers_only
        self._may_have_holes = bounds.may_have_holes
        self._sparse_runs = 0

    @property
    def hole_count(self) -> int:
        """Return the number of holes that no damage explains."""
        return self._chain.hole_count + self._sparse_runs

    @property
    def run_offset(self) -> int | None:
        """Return the offset from which runs need no check; None while a batch is in doubt."""
        if self._chain.has_doubts:
            return None
        return max(self._order.next_offset, self._chain.next_offset)

    def accept_run(self, run: BatchRun) -> None:
        """Accept a run of batches unchecked; it begins at or above `run_offset`."""
        super().accept_run(run)
        is_sparse = bool(run.is_sparse.any())
        for start, stop in run.stretches():
            self._chain.accept(start, stop, is_cleaned=is_sparse)

    def damage(self) -> None:
        """Record that damaged bytes follow, which may explain missing offsets."""
        self._chain.damage()

    def place(self, unit: Unit) -> tuple[Unit, Fault | None]:
        """Return the batch with the offsets that its records prove, and the offsets' fault."""
        chain, first = self._chain, unit.first_offset
        if isinstance(unit, Wrapper):
            try:
                unit, claim = proved(unit, chain.proved_end)
            except DefectError as error:
                return unit, self._unreadable(unit, error)
            if self._headers_only and unit.is_resolved:
                return unit, (DefectCode.OFFSET_CONTRADICTED, "")
            return unit, self._compared(unit, claim)
        if first != chain.next_offset:
            return unit, self._compared(unit, next(claims_of(unit)))
        if isinstance(unit, RecordBatch) and unit.is_sparse:
            unit = self._corrected(unit)
        fault = self._judged(unit, None)
        if fault is None:
            self._accept(unit, first)
        return unit, fault

    def _corrected(self, batch: RecordBatch) -> RecordBatch:
        """Return the batch; correct a wrong last offset by its records and the next batch.

        In a log that was never cleaned, no batch has fewer records than offsets. So the last offset
        is wrong if it overlaps the next batch and the next batch begins directly after the records.
        """
        if self._may_have_holes or self._headers_only:
            return batch
        following = next(self._following(batch), None)
        if (
            following is None
            or not following.is_adjacent
            or following.first_offset > batch.last_offset
        ):
            return batch
        try:
            records = decode(batch, _MOST_WRAPPED_BYTES)
        except DefectError:
            return batch
        if not records or records[-1].offset + 1 != following.first_offset:
            return batch
        header = batch.header._replace(last_offset_delta=records[-1].offset - batch.first_offset)
        return replace(batch, header=header, is_corrected=True)

    def _compared(self, unit: Unit, claim: Claim) -> Fault | None:
        """Return why neighbours, order or bounds contradict a unit's offsets; None if none does."""
        reason: str | None = None
        if self._is_inside(claim):
            ask = self._chain.unproved_end if self._headers_only else self._chain.contradiction
            reason = ask(claim, self._following(unit))
        if reason is not None:
            fault: Fault | None = (DefectCode.OFFSET_CONTRADICTED, reason)
        else:
            fault = self._judged(unit, claim.first_offset)
        if fault is None:
            self._accept(unit, claim.first_offset)
            return None
        code, detail = fault
        return code, detail + self._chain.reject(claim, self._following(unit, goes_on=False))

    def _accept(self, unit: Unit, first_offset: int) -> None:
        """Add a unit with accepted offsets to the chain."""
        is_sparse = False
        if isinstance(unit, RecordBatch):
            is_sparse = unit.is_sparse
        elif isinstance(unit, MessageRun):
            self._sparse_runs += unit.message_count <= unit.last_offset - first_offset
        self._chain.accept(first_offset, unit.last_offset + 1, is_cleaned=is_sparse)

    def _unreadable(self, wrapper: Unit, error: DefectError) -> Fault | None:
        """Return the fault of a damaged wrapper's offset; decoding finds its other faults."""
        self._chain.damage()
        is_inside = self._base_offset <= wrapper.last_offset < self._limit_offset
        if (
            not is_inside or error.code is DefectCode.DECOMPRESSION_LIMIT
        ):  # with another limit of decompressed bytes, the wrapper may be decodable
            return self._judged(wrapper, None)
        is_false = error.code is DefectCode.OFFSET_CONTRADICTED
        return (error.code, error.detail) if is_false else None

    def _following(self, unit: Unit, *, goes_on: bool = True) -> Iterator[Claim]:
        """Yield the offsets that the headers after a batch state.

        With `goes_on`, headers after damage and after batches outside the segment's bounds are
        included. Without it, the first of these ends the offsets: a walk through many batches
        outside the bounds would take too long. That is enough if only the next batch can be a
        proof.
        """
        is_adjacent = True
        if isinstance(unit, MessageRun):
            claims = claims_of(unit)
            next(claims)
            yield from claims
        stop = unit.position + unit.size_bytes
        for item in self._items(stop):
            try:
                claims = claims_of(item)
                first = next(claims, None)
            except DefectError:
                first = None
            if first is None or not self._is_inside(first):
                if not goes_on:
                    return
                is_adjacent = False
                continue
            yield first._replace(is_adjacent=is_adjacent)
            yield from claims
            is_adjacent = True
        if self._is_end_known:
            yield Claim(-1, self._limit_offset, self._limit_offset, is_adjacent)

    def _is_inside(self, claim: Claim) -> bool:
        """Return whether all offsets of a claim are within the segment's bounds."""
        is_above = claim.first_offset >= self._base_offset
        return is_above and claim.next_offset <= self._limit_offset


def claims_of(item: object) -> Iterator[Claim]:
    """Yield the offsets in an item's headers, one range for each batch or message of a run.

    Raises:
        DefectError: offset_contradicted if only a wrapper's offset is wrong; other codes if the
            wrapper is damaged.
    """
    match item:
        case RecordBatch():
            yield Claim(item.position, item.first_offset, item.last_offset + 1)
        case MessageRun():
            place = 0
            while place < item.size_bytes:
                offset, length, *_ = message_set.PREFIX.unpack_from(item.data, place)
                yield Claim(item.position + place, offset, offset + 1)
                place += message_set.SIZE_STOP + length
        case Wrapper():
            yield proved(item)[1]


def first_offset_of(unit: Unit) -> int | None:
    """Return the first offset of a batch; None if a wrapper is damaged."""
    try:
        return next(claims_of(unit)).first_offset
    except DefectError:
        return None


def proved(wrapper: Wrapper, follows: int | None = None) -> tuple[Wrapper, Claim]:
    """Return the wrapper corrected by its inner messages, and the offsets that they prove.

    Kafka's consumer uses the inner messages' offsets: in magic 0 they are absolute and in the
    checksum; in magic 1 the last one is the wrapper's offset, unless that is 0.

    Args:
        wrapper: the wrapper.
        follows: offset at which the wrapper certainly begins; None if unknown.

    Raises:
        DefectError: offset_contradicted if only the wrapper's offset is wrong; other codes if the
            wrapper is damaged.
    """
    content = np.frombuffer(wrapped_messages(wrapper, _MOST_WRAPPED_BYTES), np.uint8)
    span = np.zeros(2, np.int64)
    # imported only when needed, since numba takes 0.2 s
    from seglake.segment_codec.kernels import message_kernels

    message_kernels.span_messages(content, span)
    first, last, end = int(span[0]), int(span[1]), wrapper.last_offset
    if first < 0:
        try:
            return _damaged(wrapper, content)
        except DefectError:
            if follows is None or wrapper.magic == 0:
                raise
            return _damaged(replace(wrapper, follows=follows), content)
    shift = end - last if wrapper.magic == 1 and end != 0 else 0
    if shift < 0:
        decode(replace(wrapper, last_offset=last), _MOST_WRAPPED_BYTES)
        raise DefectError(
            DefectCode.OFFSET_CONTRADICTED,
            f"the wrapper states offset {end}, its last message has {last}",
        )
    if last + shift != end:
        wrapper = replace(wrapper, last_offset=last, false_offset=end)
    return wrapper, Claim(wrapper.position, first + shift, last + shift + 1)


def _damaged(wrapper: Wrapper, content: NDArray[np.uint8]) -> tuple[Wrapper, Claim]:
    """Return a damaged wrapper and its offsets, corrected by its valid messages."""
    pieces = pieces_of(wrapper, content)
    firsts = [piece.first_offset for piece in pieces if isinstance(piece, InnerPart)]
    if wrapper.magic == 0:
        last = max(piece.last_offset for piece in pieces if isinstance(piece, InnerPart))
        is_known = all(piece.last_offset is not None for piece in pieces)
        if last > wrapper.last_offset or (is_known and last != wrapper.last_offset):
            wrapper = replace(wrapper, last_offset=last, false_offset=wrapper.last_offset)
    return wrapper, Claim(wrapper.position, firsts[0], wrapper.last_offset + 1)
