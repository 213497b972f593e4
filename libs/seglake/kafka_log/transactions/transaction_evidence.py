"""Evidence in the small files on transactions whose end damage may hide. Pure.

For each abort, a broker notes the transaction's first offset in the transaction index of the
marker's segment. Its producer snapshots list open transactions. So the fate of a damaged marker is
often provable: an abort is named, and a transaction that ended without being named was committed.
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


class Damage(NamedTuple):
    """Offsets [start, next) that are damaged or gone.

    Attributes:
        is_indexed: the segment's transaction index is usable and was written after these offsets,
            so an abort that it does not name did not happen here.
    """

    start_offset: int
    next_offset: int
    is_indexed: bool

    @property
    def offsets(self) -> range:
        """Return the damaged offsets as a range."""
        return range(self.start_offset, self.next_offset)


class Verdict(Enum):
    """Outcome, inside damage, of a transaction that was open before it."""

    NO_END = auto()  # it did not end there: it ended later, or it is still open
    ABORTED = auto()
    COMMITTED = auto()
    UNCERTAIN = auto()


class Evidence:
    """Markers and files of one partition, indexed for verdicts on damage."""

    def __init__(
        self,
        markers: Iterable[Marker],
        aborted: Iterable[AbortedTransaction],
        snapshot: OpenTransactions | None,
        damage: Iterable[Damage],
    ) -> None:
        """Index the markers and the files' entries.

        Args:
            markers: markers that were read, here or in another copy.
            aborted: entries of all usable transaction indexes.
            snapshot: the newest snapshot at or below the end of what counts, None without one.
            damage: all ranges where markers may be lost.
        """
        self._markers = Markers(markers)
        entries = sorted(aborted, key=attrgetter("last_offset"))
        self._aborted = grouped((entry.producer_id, entry) for entry in entries)
        self._abort_ends = sorted({(e.last_offset, e.producer_id) for e in entries})
        self._snapshot = snapshot
        self._damage = tuple(damage)

    def next_aborted(self, producer_id: int, offset: int) -> AbortedTransaction | None:
        """Return the index's first abort of a producer at or after an offset, None without one."""
        entries = self._aborted.get(producer_id, [])
        index = bisect_left(entries, offset, key=attrgetter("last_offset"))
        return entries[index] if index < len(entries) else None

    def verdict(self, transaction: OpenTransaction, damage: Damage) -> Verdict:
        """Return the outcome, inside damage, of a transaction that was open before it."""
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
            # Either this marker or a lost one committed the records: the result is the same.
            is_commit = marker is not None and marker.is_commit
            return Verdict.NO_END if is_commit else Verdict.UNCERTAIN
        # The transaction ended before the aborted one began, and no index names an abort of it.
        is_indexed = self._is_indexed(damage, aborted.first_offset)
        return Verdict.COMMITTED if is_indexed else Verdict.UNCERTAIN

    def _is_of_others(self, producer_id: int, damage: Damage) -> bool:
        """Return whether other producers' abort markers fill all damaged offsets, one each."""
        start = bisect_left(self._abort_ends, (damage.start_offset,))
        stop = bisect_left(self._abort_ends, (damage.next_offset,))
        named = self._abort_ends[start:stop]
        is_filled = len({offset for offset, _ in named}) == len(damage.offsets)
        return is_filled and all(producer != producer_id for _, producer in named)

    def _by_snapshot(self, transaction: OpenTransaction, damage: Damage) -> Verdict:
        """Return the verdict on a transaction without later markers, by the producer snapshot."""
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

    def _is_indexed(self, damage: Damage, offset: int) -> bool:
        """Return whether the index would name an abort in this damage and in all after it."""
        return all(
            span.is_indexed
            for span in self._damage
            if damage.start_offset <= span.start_offset < offset
        )
