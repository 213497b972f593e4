"""How transactions ended, from the markers in the log.

A marker ends the transaction of its producer id, whatever the epoch: data is committed or aborted
by the first marker of its producer behind it, and open while there is none. Source: apache/kafka
1eb7644, ProducerAppendInfo.java, CompletedFetch.java.
"""

from bisect import bisect_right
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class TransactionState(StrEnum):
    """What became of a record's transaction; `none` for a record outside of any."""

    NONE = "none"
    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


class Marker(NamedTuple):
    """A commit or abort marker."""

    offset: int
    producer_id: int
    is_commit: bool


class OpenTransaction(NamedTuple):
    """A transaction without a marker yet."""

    producer_id: int
    first_offset: int


class Markers:
    """All markers of one partition below a bound, ready to be asked for outcomes."""

    def __init__(self, markers: Iterable[Marker]) -> None:
        self._by_producer: dict[int, list[Marker]] = {}
        for marker in sorted(markers):
            self._by_producer.setdefault(marker.producer_id, []).append(marker)

    def state(self, producer_id: int, offset: int) -> TransactionState:
        """The state of transactional data at `offset`."""
        own = self._by_producer.get(producer_id, [])
        index = bisect_right(own, offset, key=lambda marker: marker.offset)
        if index == len(own):
            return TransactionState.OPEN
        return TransactionState.COMMITTED if own[index].is_commit else TransactionState.ABORTED


class TransactionFold:
    """Follows transactional data and markers in the order of their offsets."""

    def __init__(self) -> None:
        self.markers: list[Marker] = []
        self._open: dict[int, int] = {}

    def data(self, producer_id: int, first_offset: int) -> None:
        """A transactional data batch was met."""
        self._open.setdefault(producer_id, first_offset)

    def marker(self, marker: Marker) -> None:
        """A marker was met; one without an open transaction changes nothing but is kept."""
        self._open.pop(marker.producer_id, None)
        self.markers.append(marker)

    def open_transactions(self) -> tuple[OpenTransaction, ...]:
        """What is open at the end, the oldest first."""
        found = [OpenTransaction(producer, first) for producer, first in self._open.items()]
        return tuple(sorted(found, key=lambda each: each.first_offset))
