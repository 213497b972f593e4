"""Finds the outcomes of a log's transactions, and the open transactions.

Markers in the log decide the outcome. Two small files add what the markers lack: a producer
snapshot lists the transactions that were open before the first header that is read, and a
transaction index has the abort markers in damaged bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import attrgetter
from typing import NamedTuple

from seglake.kafka_log.replica import PartitionKey, Replica
from seglake.kafka_log.segment_survey import Event, SegmentSurvey
from seglake.kafka_log.transaction_markers import (
    Marker,
    Markers,
    OpenTransaction,
    TransactionFold,
    TransactionState,
)
from seglake.kafka_log.transactions.replica_evidence import ReplicaEvidence, resolve_from_replicas
from seglake.kafka_log.transactions.surveyed_log import (
    WalkedLog,
    damaged_ranges,
    own_events,
    walked_log,
)
from seglake.kafka_log.transactions.transaction_evidence import DamagedRange, Evidence, Verdict
from seglake.kafka_log.transactions.transaction_index_check import disagreements

_MOST_DETAILS = 3


class UnknownOutcome(NamedTuple):
    """A transaction whose marker may be damaged.

    The range [start, next) includes the transaction's data and the damage.

    Attributes:
        text: a sentence for the summary.
        state: the state in which its records are ingested.
    """

    text: str
    start_offset: int
    next_offset: int
    state: TransactionState


class Transactions(NamedTuple):
    """The transactions of one log below its upper bound.

    Attributes:
        markers: markers by offset. Small files or other copies prove markers that could not be
            read.
        open: open transactions, the oldest first.
        notes: sentences for the summary about conclusions from the small files.
        unknown_outcomes: transactions whose markers may be in damaged bytes.
    """

    markers: tuple[Marker, ...]
    open: tuple[OpenTransaction, ...]
    notes: tuple[str, ...]
    unknown_outcomes: tuple[UnknownOutcome, ...]


def transactions_of(
    replica: Replica,
    surveys: Sequence[SegmentSurvey],
    upper: int,
    evidence: Sequence[ReplicaEvidence] = (),
) -> Transactions:
    """Find the transactions in the last segments of a log.

    Args:
        replica: the replica, with its checkpoints.
        surveys: surveys of its last segments, in order.
        upper: exclusive end; batches at or above it are ignored.
        evidence: markers and transactional data of other copies, for ranges damaged in this one.
    """
    log = walked_log(replica, surveys, upper)
    events = own_events(log)
    damage = damaged_ranges(log, events)
    unknown, known = resolve_from_replicas(evidence, damage)
    events = sorted([*events, *known], key=attrgetter("offset"))
    fold = _Fold(replica.key, log, events, unknown)
    fold.run(events)
    disagreement = _disagreement(replica.key, log, fold, damage)
    return Transactions(
        markers=tuple(fold.markers),
        open=fold.open_transactions(),
        notes=(
            *(note for survey in surveys for note in survey.transactions.files.notes),
            *fold.notes,
            *disagreement,
        ),
        unknown_outcomes=tuple(fold.uncertain()),
    )


class _Fold(TransactionFold):
    """Follows transactions over one log's data, markers and damage, in order of offsets."""

    def __init__(
        self,
        key: PartitionKey,
        log: WalkedLog,
        events: Sequence[Event],
        damage: Sequence[DamagedRange],
    ) -> None:
        """Start with the transactions that are open by the log's producer snapshot."""
        super().__init__()
        self.ended: list[tuple[OpenTransaction, Marker]] = []
        self.notes: list[str] = []
        self._key = key
        self._doubts: list[tuple[OpenTransaction, DamagedRange]] = []
        aborted = [
            entry
            for segment in log.segments
            for entry in segment.aborted
            if entry.last_offset < log.upper_offset
        ]
        markers = [event for event in events if isinstance(event, Marker)]
        self._damage = damage
        self._evidence = Evidence(markers, aborted, log.snapshot, damage)
        for transaction in log.snapshot.transactions if log.snapshot else ():
            if transaction.first_offset < log.walk_offset:
                self.data(*transaction)

    def run(self, events: Iterable[Event]) -> None:
        """Process events and damage together, in offset order; each is sorted by offset."""
        for step in merge(self._damage, events, key=_first_offset):
            if isinstance(step, Marker):
                self.marker(step)
            elif isinstance(step, DamagedRange):
                self._pass(step)
            else:
                self.data(step.producer_id, step.offset, step.timestamp_ms)

    def marker(self, marker: Marker) -> OpenTransaction | None:
        """Add a marker; store the transaction that it ends in `ended`, and return it."""
        transaction = super().marker(marker)
        if transaction is not None:
            self.ended.append((transaction, marker))
        return transaction

    def _pass(self, damage: DamagedRange) -> None:
        """End the open transactions that ended in a damaged range, as index or snapshot prove."""
        for transaction in self.open_transactions():
            producer_id = transaction.producer_id
            verdict = self._evidence.verdict(transaction, damage)
            name = f"producer {producer_id}'s transaction from offset {transaction.first_offset} on"
            aborted = self._evidence.next_aborted(producer_id, damage.start_offset)
            if verdict is Verdict.UNCERTAIN:
                self._doubts.append((transaction, damage))
            elif verdict is Verdict.ABORTED and aborted is not None:
                self.marker(Marker(aborted.last_offset, producer_id, False, False))
                self.notes.append(
                    f"{self._key}: the abort of {name} is damaged (offset {aborted.last_offset}); "
                    ".txnindex names it, so it counts"
                )
            elif verdict is Verdict.COMMITTED:
                later = any(damage.next_offset <= other.start_offset for other in self._damage)
                marker = Marker(damage.next_offset - 1, producer_id, True, False, not later)
                self.marker(marker)
                self.notes.append(
                    f"{self._key}: the end of {name} is damaged ({_shown(damage)}); it has ended "
                    "and .txnindex names no abort, so it counts as committed"
                )

    def uncertain(self) -> Iterator[UnknownOutcome]:
        """Yield each transaction with an uncertain outcome, and the state that its records get."""
        outcomes = Markers(self.markers)
        for transaction, damage in self._doubts:
            state = outcomes.state(transaction.producer_id, transaction.first_offset)
            is_open = state is TransactionState.OPEN
            text = (
                f"{self._key}: producer {transaction.producer_id}'s transaction from offset "
                f"{transaction.first_offset} on may have ended in damaged or missing bytes "
                f"({_shown(damage)}); "
                + ("no later marker ends it, so it" if is_open else "by the next marker it")
                + f" counts as {state}"
            )
            yield UnknownOutcome(text, transaction.first_offset, damage.next_offset, state)


def _disagreement(
    key: PartitionKey, log: WalkedLog, fold: _Fold, damage: Sequence[DamagedRange]
) -> list[str]:
    """Return one note on all differences between log and indexes; empty if they agree."""
    found = disagreements(log, fold.markers, fold.ended, damage)
    if not found:
        return []
    more = f" (and {len(found) - _MOST_DETAILS} more)" if len(found) > _MOST_DETAILS else ""
    details = "; ".join(found[:_MOST_DETAILS])
    return [f"{key}: .txnindex and the log disagree, and the log decides: {details}{more}"]


def _first_offset(step: DamagedRange | Event) -> int:
    """Return the first offset of an event or of damage."""
    return step.start_offset if isinstance(step, DamagedRange) else step.offset


def _shown(damage: DamagedRange) -> str:
    """Return the damaged offsets as text for a note."""
    if len(damage.offsets) == 1:
        return f"offset {damage.start_offset}"
    return f"offsets [{damage.start_offset}, {damage.next_offset})"
