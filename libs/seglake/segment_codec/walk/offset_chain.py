"""Decides from neighbouring batches whether the offsets in a batch's header are right.

A checksum covers the number of a batch's offsets, but not its base offset. In a log that was never
compacted, each batch begins where the previous batch ends. So if two batches overlap, the wrong
batch is the one whose removal leaves no hole in the log. If neither removal leaves a hole, or if
both do, neither batch is trusted.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from seglake.segment_codec.walk.offset_order import OffsetOrder


class Claim(NamedTuple):
    """Offsets [first_offset, next_offset) stated in a header.

    Attributes:
        position: position of the header in the segment; -1 for the end of the segment.
        is_adjacent: whether there is no damage between the batch and the previous one.
    """

    position: int
    first_offset: int
    next_offset: int
    is_adjacent: bool = True

    @property
    def spanned(self) -> int:
        """Return the number of stated offsets; the batch's checksum covers this number."""
        return self.next_offset - self.first_offset

    def __str__(self) -> str:
        """Return the first and last offset as text."""
        return f"offsets {self.first_offset} to {self.next_offset - 1}"


class _Verdict(Enum):
    """Verdict on whether a batch's offsets are right."""

    IN_PLACE = 0
    FALSE = 1
    UNDECIDED = 2


class OffsetChain:
    """Chain of a segment's batches: neighbours show which offsets in headers are right."""

    def __init__(
        self,
        order: OffsetOrder,
        next_offset: int,
        *,
        is_start_known: bool,
        may_have_holes: bool,
        durable_offset: int,
        ends_log: bool,
    ) -> None:
        """Start before the segment's first batch.

        Args:
            order: offsets of the partition that were read.
            next_offset: expected offset of the first batch.
            is_start_known: whether offsets missing before the first batch are a hole of the log.
            may_have_holes: whether the log cleaner may have removed batches.
            durable_offset: exclusive end up to which the log is proved to exist.
            ends_log: whether the segment is the last known one.
        """
        self._order = order
        self.next_offset = next_offset
        self._is_explained = not is_start_known
        self._is_cleaned = may_have_holes
        self._has_holes = may_have_holes
        self._durable_offset = durable_offset
        self._ends_log = ends_log
        self._doubted: dict[int, str] = {}
        self.hole_count = 0  # number of holes so far, except those next to damage

    @property
    def has_doubts(self) -> bool:
        """Return whether a later batch is in doubt, because an earlier batch contradicted it."""
        return bool(self._doubted)

    @property
    def proved_end(self) -> int | None:
        """Return the offset at which the next batch must begin; None if the log may have a hole."""
        return None if self._is_explained or self._has_holes else self.next_offset

    def contradiction(self, claim: Claim, following: Iterator[Claim]) -> str | None:
        """Return why the offsets of a batch are not trusted, as text; None if they are.

        Args:
            claim: offsets in the batch's header.
            following: offsets in the headers of the batches after it.
        """
        if claim.position in self._doubted:
            self._is_explained = True
            return self._doubted.pop(claim.position)
        if claim.first_offset == self.next_offset:
            return None
        if claim.first_offset < self.next_offset:
            return self._late(claim, following)
        later = next(following, None)
        if later is None:
            return self._at_the_end(claim)
        if later.first_offset >= claim.next_offset:
            return None
        match self._early(claim, later, next(following, None)):
            case _Verdict.FALSE:
                return self._reason(claim, later)
            case _Verdict.UNDECIDED:
                reason = f"{claim} and {_span(later)} overlap, and nothing shows which are wrong"
                self._doubted[later.position] = reason
                self._is_explained = True
                return reason
        return None

    def unproved_end(self, claim: Claim, following: Iterator[Claim]) -> str | None:
        """Return why headers alone do not prove the last batch of a log; None if they do.

        Args:
            claim: offsets in the batch's header.
            following: offsets in the headers of the batches after it.
        """
        is_odd = claim.first_offset > self.next_offset and not self._has_holes and self._ends_log
        return self._at_the_end(claim) if is_odd and next(following, None) is None else None

    def accept(self, first_offset: int, next_offset: int, *, is_cleaned: bool) -> None:
        """Extend the chain by a batch with trusted offsets [first_offset, next_offset).

        Args:
            first_offset: first offset of the batch.
            next_offset: exclusive end of the batch's offsets.
            is_cleaned: whether the cleaner has removed records from the batch.
        """
        self._is_cleaned |= is_cleaned
        if first_offset >= self.next_offset:
            has_hole = first_offset > self.next_offset and not self._is_explained
            self.hole_count += has_hole
            self._has_holes |= has_hole or is_cleaned
            self.next_offset = next_offset
            self._is_explained = False

    def reject(self, claim: Claim, following: Iterator[Claim]) -> str:
        """Extend the chain by a batch without trusted offsets.

        Args:
            claim: offsets in the batch's header.
            following: offsets in the headers of the batches after it.

        Returns:
            A text with the offsets that its neighbours prove; empty if they prove none.
        """
        later = next(following, None)
        if later is None or not self._proves(claim, later):
            self._is_explained = True
            return ""
        proved = claim._replace(
            first_offset=self.next_offset, next_offset=self.next_offset + claim.spanned
        )
        self.next_offset = proved.next_offset
        return f"; its neighbours prove that it has {proved}"

    def damage(self) -> None:
        """Add damaged bytes, which may explain missing offsets."""
        self._is_explained = True

    def _proves(self, claim: Claim, later: Claim) -> bool:
        """Return whether the batch exactly fills the offsets between its neighbours."""
        is_known = not self._is_explained and later.is_adjacent
        return is_known and later.first_offset == self.next_offset + claim.spanned

    def _reason(self, claim: Claim, later: Claim) -> str:
        """Return, as text, how a batch's offsets contradict those before and after it."""
        return f"{claim} are between offset {self.next_offset - 1} and {_span(later)}"

    def _early(self, claim: Claim, later: Claim, third: Claim | None) -> _Verdict:
        """Judge a batch that follows a hole and shares offsets with the next batch.

        The explanation that leaves the fewest holes in the log is chosen.
        """
        false = self._holes_if_false(claim, later, third)
        true = self._holes_if_true(claim, later, third)
        if false is None and true is None:
            is_true = _hole(claim.next_offset, third) == 0
            return _Verdict.IN_PLACE if is_true else _Verdict.UNDECIDED
        if false is None or true is None:
            return _Verdict.IN_PLACE if false is None else _Verdict.FALSE
        if self._has_holes:
            # In a log with holes, only a third batch directly after the next one is a proof.
            is_sure = third is not None and third.is_adjacent
            is_sure = is_sure and _hole(later.next_offset, third) == 0
            return _Verdict.FALSE if is_sure else _Verdict.UNDECIDED
        if false == true:
            return _Verdict.UNDECIDED
        return _Verdict.FALSE if false < true else _Verdict.IN_PLACE

    def _holes_if_false(self, claim: Claim, later: Claim, third: Claim | None) -> int | None:
        """Count the holes of a log if a batch's offsets are false; None if it contradicts.

        Then the batch's records are between those before it and the next batch.
        """
        fits = self.next_offset + claim.spanned
        if later.first_offset < fits:
            return None
        is_hole = not self._is_explained and later.is_adjacent and later.first_offset != fits
        return int(is_hole) + _hole(later.next_offset, third)

    def _holes_if_true(self, claim: Claim, later: Claim, third: Claim | None) -> int | None:
        """Count the fewest holes of a log if a batch's offsets are true; None if it contradicts.

        Then the next batch's offsets are false, or the next batch is out of order.
        """
        found: list[int] = []
        follows = claim.next_offset + later.spanned
        if third is None or third.first_offset >= follows:
            found.append(int(not self._is_explained) + _hole(follows, third))
        if self.next_offset <= later.first_offset and later.next_offset <= claim.first_offset:
            # Either the log goes on after the batch, or batches out of order go on.
            ends = claim.next_offset, later.next_offset
            if third is None or third.first_offset >= ends[0] or third.first_offset == ends[1]:
                hole = self.next_offset, claim.first_offset
                is_filled = (later.first_offset, later.next_offset) == hole
                goes_on = third is None or third.first_offset in ends
                found.append(int(not is_filled) + int(not goes_on))
        return min(found, default=None)

    def _late(self, claim: Claim, following: Iterator[Claim]) -> str | None:
        """Judge a batch with offsets below earlier batches: out of order, or with wrong offsets."""
        hole = self._order.hole_around(claim.first_offset, claim.next_offset)
        later = next(following, None)
        if hole is None:
            return None  # an earlier batch has these offsets; `OffsetOrder` reports them
        fits = self.next_offset + claim.spanned
        if later is not None and later.first_offset < fits:
            return None
        is_whole = hole == (claim.first_offset, claim.next_offset)
        if later is None and is_whole and not self._is_cleaned:
            return None
        if later is None:
            place = f"{claim} after offset {self.next_offset - 1}"
            return f"{place}, and nothing shows whether they are only out of order"
        return self._reason(claim, later)

    def _at_the_end(self, claim: Claim) -> str | None:
        """Judge the last batch of a log if offsets are missing before it."""
        is_odd = self._ends_log and not self._has_holes and not self._is_explained
        if not is_odd or claim.next_offset <= self._durable_offset:
            return None
        place = f"{claim} after offset {self.next_offset - 1}"
        return f"{place} in a log without holes, and no later batch proves them"


def _hole(next_offset: int, claim: Claim | None) -> int:
    """Return 1 if offsets before a batch are missing without damage that explains them, else 0."""
    return int(claim is not None and claim.is_adjacent and claim.first_offset != next_offset)


def _span(claim: Claim) -> str:
    """Return the first and last offset of a claim as text."""
    return f"{claim.first_offset} to {claim.next_offset - 1}"
