"""Derives from the markers in a log whether its transactions were committed or aborted.

A marker ends the transaction of its producer id, whatever its producer epoch. Transactional data is
committed or aborted by the producer's next marker, and open without one. Source: apache/kafka
1eb7644, ProducerAppendInfo.java, CompletedFetch.java.
"""

from bisect import bisect_right
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seglake.grouping import grouped


class TransactionState(StrEnum):
    """State of a record's transaction; `none` if the record is in no transaction."""

    NONE = "none"
    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


_STATES = tuple(TransactionState)


class Marker(NamedTuple):
    """A commit or abort marker.

    Attributes:
        is_read: whether the marker was read from the log; False if its batch is damaged or deleted,
            and other files or copies prove the marker.
        is_placed: whether the offset of the marker is known; False if it is assumed.
    """

    offset: int
    producer_id: int
    is_commit: bool
    is_read: bool = True
    is_placed: bool = True

    @property
    def state(self) -> TransactionState:
        """Return the state of the records in the transaction that the marker ends."""
        return TransactionState.COMMITTED if self.is_commit else TransactionState.ABORTED


class OpenTransaction(NamedTuple):
    """A transaction without a marker.

    Attributes:
        timestamp_ms: newest timestamp in its first batch, in ms since 1970; None if unknown.
    """

    producer_id: int
    first_offset: int
    timestamp_ms: int | None = None


class _Ends(NamedTuple):
    """Markers of one producer as arrays; a further state is for data after the last marker."""

    offsets: NDArray[np.int64]
    states: NDArray[np.int8]


class Markers:
    """Markers of one partition, for lookups by producer and offset.

    >>> markers = Markers([Marker(10, producer_id=7, is_commit=False)])
    >>> [str(markers.state(7, offset)) for offset in (9, 11)], str(markers.state(8, 9))
    (['aborted', 'open'], 'open')
    """

    def __init__(self, markers: Iterable[Marker]) -> None:
        """Sort the markers by producer.

        Args:
            markers: markers of one partition, in any order.
        """
        self._by_producer = grouped((marker.producer_id, marker) for marker in sorted(markers))
        self._ends: dict[int, _Ends] = {}

    def next_marker(self, producer_id: int, offset: int) -> Marker | None:
        """Return the marker that ends the transaction of data at `offset`; None if it is open."""
        markers = self._by_producer.get(producer_id, [])
        index = bisect_right(markers, offset, key=lambda marker: marker.offset)
        return markers[index] if index < len(markers) else None

    def state(self, producer_id: int, offset: int) -> TransactionState:
        """Return whether transactional data at `offset` is committed, aborted or open."""
        marker = self.next_marker(producer_id, offset)
        return TransactionState.OPEN if marker is None else marker.state

    def states(self, producer_id: int, offsets: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the states of data at many offsets, as indexes into `TransactionState`."""
        if producer_id not in self._ends:
            markers = self._by_producer.get(producer_id, [])
            states = [*(marker.state for marker in markers), TransactionState.OPEN]
            self._ends[producer_id] = _Ends(
                np.array([marker.offset for marker in markers], np.int64),
                np.array([_STATES.index(state) for state in states], np.int8),
            )
        ends = self._ends[producer_id]
        return ends.states[np.searchsorted(ends.offsets, offsets, side="right")]


class TransactionFold:
    """Follows transactional data and markers in the order of their offsets.

    >>> fold = TransactionFold()
    >>> fold.data(7, first_offset=3)
    >>> fold.data(8, first_offset=5)
    >>> ended = fold.marker(Marker(9, producer_id=7, is_commit=True))
    >>> ended.first_offset, [still_open.producer_id for still_open in fold.open_transactions()]
    (3, [8])
    """

    def __init__(self) -> None:
        """Start without transactions and markers."""
        self.markers: list[Marker] = []
        self._open: dict[int, OpenTransaction] = {}

    def data(self, producer_id: int, first_offset: int, timestamp_ms: int | None = None) -> None:
        """Add a batch of transactional data; only the first batch of a transaction is kept."""
        transaction = OpenTransaction(producer_id, first_offset, timestamp_ms)
        self._open.setdefault(producer_id, transaction)

    def marker(self, marker: Marker) -> OpenTransaction | None:
        """Add a marker; return the transaction that it ends, None if none was open."""
        self.markers.append(marker)
        return self._open.pop(marker.producer_id, None)

    def open_transactions(self) -> tuple[OpenTransaction, ...]:
        """Return the open transactions, the oldest first."""
        return tuple(sorted(self._open.values(), key=lambda transaction: transaction.first_offset))
