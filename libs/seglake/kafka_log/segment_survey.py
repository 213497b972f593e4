"""What the survey of a segment is asked and what it answers; it crosses to an executor."""

from dataclasses import dataclass
from typing import NamedTuple

from seglake.kafka_log.transaction_markers import Marker, OpenTransaction
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import TailKind
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction


class SplitPoint(NamedTuple):
    """Where a task may begin: a proved batch start, or the segment's.

    `expected_offset` is the end of what lies before it. From here to the next one `is_plain` says
    that nothing odd was met.
    """

    position: int
    expected_offset: int
    first_offset: int
    crc: int
    is_plain: bool = True


class DataSpan(NamedTuple):
    """The first transactional batch of a producer since its last marker or damage in a segment."""

    offset: int
    producer_id: int
    timestamp_ms: int | None = None  # its newest record's


Event = Marker | DataSpan


class DamagedSpan(NamedTuple):
    """Offsets that are not there, where a marker may have been; None: up to the next segment."""

    start_offset: int
    next_offset: int | None


class OpenTransactions(NamedTuple):
    """What a producer snapshot says was open at its offset."""

    offset: int
    transactions: tuple[OpenTransaction, ...]


@dataclass(frozen=True, slots=True)
class TransactionFiles:
    """What the small files tell of transactions; the markers in the log are the truth.

    Attributes:
        aborted: the segment's transaction index, None without one that can be used.
        has_index: there is one; brokers write it with its first entry.
        snapshot: the newest producer snapshot that can be used, None without one.
        notes: files that cannot be used, and why.
        unreadable: files that are there and cannot be read, and why.
    """

    aborted: tuple[AbortedTransaction, ...] | None = None
    has_index: bool = False
    snapshot: OpenTransactions | None = None
    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class SegmentTransactions(NamedTuple):
    """What a survey learned of the transactions in a segment.

    Attributes:
        events: in the order of their offsets.
        damage: offsets that damage hides, or that are skipped where no cleaner was; in order.
    """

    events: tuple[Event, ...] = ()
    damage: tuple[DamagedSpan, ...] = ()
    files: TransactionFiles = TransactionFiles()


NO_TRANSACTIONS = SegmentTransactions()


class TimeWindow(NamedTuple):
    """Where a window of time begins and ends in a segment.

    Each is the first offset of the first batch whose newest record is at or after that time, None
    when there is none.
    """

    from_offset: int | None = None
    to_offset: int | None = None


NO_WINDOW = TimeWindow()


class LastBatch(NamedTuple):
    """The header of the last sound batch of a segment."""

    base_offset: int
    crc: int
    leader_epoch: int | None


class EndDamage(NamedTuple):
    """Damaged bytes behind the last sound batch.

    Attributes:
        claimed_offset: the end of what unfinished batches among them claim, 0 for nothing.
    """

    position: int
    stop: int
    claimed_offset: int = 0


def damage_joined(before: EndDamage | None, defect: Defect) -> EndDamage:
    """Return the damage with one more defect behind it."""
    start, _, claimed = before or EndDamage(defect.position, 0)
    stop = defect.position + defect.size_bytes
    return EndDamage(start, stop, max(claimed, defect.unfinished_offset or 0))


@dataclass(frozen=True, slots=True)
class SegmentSurvey:
    """What a segment holds; `missing` says why nothing could be read of it.

    Attributes:
        splits: where tasks may begin; the first is the start of what is wanted, or of the segment
            where anything is odd.
        next_offset: behind the last sound batch, its base offset if it has none; higher where
            batches came before lower ones that left nothing out in front of them.
        highest_offset: behind the highest offset of all; above `next_offset` where a batch is in
            doubt, since lower ones stand behind it and others are missing.
        is_plain: nothing odd was met: offsets rise, every byte belongs to a batch or the tail.
        end_damage: what follows the last sound batch, None if that is no damage.
        hole_count: holes in the offsets that no damage explains. No neighbour proves the offsets of
            the batches beside them.
        walk_offset: what lies below was left out of the walk, None for nothing.
        newest_ms: the newest time of all batches that were walked, None when they have none.
        epochs: leader epochs as the batches have them: of those in a row with the same one, the
            first and the last.
    """

    size_bytes: int
    first_offset: int | None
    next_offset: int
    highest_offset: int
    is_plain: bool
    splits: tuple[SplitPoint, ...] = ()
    end_damage: EndDamage | None = None
    has_compacted_batch: bool = False
    hole_count: int = 0
    tail: TailKind | None = None
    window: TimeWindow = NO_WINDOW
    walk_offset: int | None = None
    newest_ms: int | None = None
    transactions: SegmentTransactions = NO_TRANSACTIONS
    epochs: tuple[EpochStart, ...] = ()
    missing: str | None = None

    @property
    def is_cut_open(self) -> bool:
        """Whether damage follows the last sound batch."""
        return self.end_damage is not None
