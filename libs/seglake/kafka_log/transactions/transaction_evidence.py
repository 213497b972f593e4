"""Proves by index and snapshot files how transactions with damaged markers ended.

For each abort, a broker writes the transaction's first offset to the transaction index of the
marker's segment. Its producer snapshots list open transactions. So even if a marker is damaged, the
outcome can often be proved. If the transaction was aborted, the index has it. If it ended and is
not in the index, it was committed.
"""

from bisect import bisect_left
from collections.abc import Iterable
from enum import Enum, auto
from operator import attrgetter
from typing import NamedTuple

from seglake.grouping import grouped
from seglake.kafka_log.segment_survey import OpenTransactions
from seglake.kafka_log.transaction_markers import Marker, Markers, OpenTransaction
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction


class DamagedRange(NamedTuple):
    """Offsets [start, next) that are damaged or missing.

    Attributes:
        is_indexed: whether the segment's transaction index is usable and was written after these
            offsets, so that it has every abort among them.
    """

    start_offset: int
    next_offset: int
    is_indexed: bool

    @property
    def offsets(self) -> range:
        """Return the damaged offsets as a range."""
        return range(self.start_offset, self.next_offset)


class Verdict(Enum):
    """Outcome that a damaged range proves for a transaction that was open before the range."""

    NO_END = auto()  # no marker is known: the transaction ended after the range, or is still open
    ABORTED = auto()
    COMMITTED = auto()
    UNCERTAIN = auto()


class Evidence:
    """Markers, transaction indexes and snapshot of a partition, which prove what damage hides."""

    def __init__(
        self,
        markers: Iterable[Marker],
        aborted: Iterable[AbortedTransaction],
        snapshot: OpenTransactions | None,
        damage: Iterable[DamagedRange],
    ) -> None:
        """Sort the markers and the index entries by producer.

        Args:
            markers: markers that were read, here or in another copy.
            aborted: entries of all usable transaction indexes.
            snapshot: the newest snapshot that is not above the end of the log; None if there is
                none.
            damage: all ranges that may have lost markers.
        """
        self._markers = Markers(markers)
        entries = sorted(aborted, key=attrgetter("last_offset"))
        self._aborted = grouped((entry.producer_id, entry) for entry in entries)
        self._abort_ends = sorted({(e.last_offset, e.producer_id) for e in entries})
        self._snapshot = snapshot
        self._damage = tuple(damage)

    def next_aborted(self, producer_id: int, offset: int) -> AbortedTransaction | None:
        """Return a producer's first indexed abort at or above an offset; None if there is none."""
        entries = self._aborted.get(producer_id, [])
        index = bisect_left(entries, offset, key=attrgetter("last_offset"))
        return entries[index] if index < len(entries) else None

    def verdict(self, transaction: OpenTransaction, damage: DamagedRange) -> Verdict:
        """Return the outcome of a transaction that was open before a damaged range."""
        marker = self._markers.next_marker(transaction.producer_id, damage.start_offset - 1)
        if marker is not None and marker.offset in damage.offsets:
            return Verdict.NO_END
        if self._is_of_others(transaction.producer_id, damage):
            return Verdict.NO_END
        aborted = self.next_aborted(transaction.producer_id, damage.start_offset)
        if aborted is not None and aborted.first_offset <= transaction.first_offset:
            is_lost = aborted.last_offset < damage.next_offset
            return Verdict.ABORTED if is_lost else Verdict.NO_END
        if not damage.is_indexed:
            return Verdict.UNCERTAIN
        if marker is None and aborted is None:
            return self._by_snapshot(transaction, damage)
        if aborted is None or (marker is not None and marker.offset < aborted.last_offset):
            # An earlier lost marker of the transaction would give the records the same state.
            is_commit = marker is not None and marker.is_commit
            return Verdict.NO_END if is_commit else Verdict.UNCERTAIN
        # The transaction ended before the producer's next aborted one, without an abort in the
        # index.
        is_indexed = self._is_indexed(damage, aborted.first_offset)
        return Verdict.COMMITTED if is_indexed else Verdict.UNCERTAIN

    def _is_of_others(self, producer_id: int, damage: DamagedRange) -> bool:
        """Return whether all damaged offsets are abort markers of other producers."""
        start = bisect_left(self._abort_ends, (damage.start_offset,))
        stop = bisect_left(self._abort_ends, (damage.next_offset,))
        named = self._abort_ends[start:stop]
        is_filled = len({offset for offset, _ in named}) == len(damage.offsets)
        return is_filled and all(producer != producer_id for _, producer in named)

    def _by_snapshot(self, transaction: OpenTransaction, damage: DamagedRange) -> Verdict:
        """Decide by the producer snapshot how a transaction without later markers ended."""
        if self._snapshot is None or self._snapshot.offset < damage.next_offset:
            return Verdict.UNCERTAIN
        is_open = any(
            entry.producer_id == transaction.producer_id
            and entry.first_offset < damage.start_offset
            for entry in self._snapshot.transactions
        )
        if is_open:
            return Verdict.NO_END
        is_indexed = self._is_indexed(damage, self._snapshot.offset)
        return Verdict.COMMITTED if is_indexed else Verdict.UNCERTAIN

    def _is_indexed(self, damage: DamagedRange, offset: int) -> bool:
        """Return whether indexes have each abort in this and later damage below `offset`."""
        return all(
            span.is_indexed
            for span in self._damage
            if damage.start_offset <= span.start_offset < offset
        )
