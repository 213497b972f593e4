"""Result of the survey of one segment; values that cross between driver and executor."""

from dataclasses import dataclass
from typing import NamedTuple

from seglake.kafka_log.transaction_markers import Marker, OpenTransaction
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import TailKind
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction


class SplitPoint(NamedTuple):
    """A position where a task may begin: a proved start of a batch, or of the segment.

    Attributes:
        position: byte position in the segment.
        expected_offset: exclusive end of the offsets before the position.
        first_offset: first offset of the batch there.
        crc: checksum of the batch there.
        is_plain: nothing odd was found between this point and the next one.
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
    timestamp_ms: int | None = None  # newest record of the batch


Event = Marker | DataSpan


class DamagedSpan(NamedTuple):
    """Missing offsets that may have held a marker; `next_offset` None: up to the next segment."""

    start_offset: int
    next_offset: int | None


class OpenTransactions(NamedTuple):
    """The transactions that a producer snapshot lists as open at its offset."""

    offset: int
    transactions: tuple[OpenTransaction, ...]


@dataclass(frozen=True, slots=True)
class TransactionFiles:
    """Facts about transactions from the files beside a segment; the log's markers overrule them.

    Attributes:
        aborted: entries of the segment's transaction index, None without a usable one.
        has_index: the segment has an index file; brokers create it with its first entry.
        snapshot: the newest usable producer snapshot, None without one.
        notes: sentences about files that cannot be used, with the reason.
        unreadable: sentences about existing files that cannot be read, with the reason.
    """

    aborted: tuple[AbortedTransaction, ...] | None = None
    has_index: bool = False
    snapshot: OpenTransactions | None = None
    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class SegmentTransactions(NamedTuple):
    """Facts about the transactions in a segment.

    Attributes:
        events: markers and transactional data, by offset.
        damage: offsets that damage hides, or that are missing in a log that was never cleaned; by
            offset.
        files: facts from the files beside the segment.
    """

    events: tuple[Event, ...] = ()
    damage: tuple[DamagedSpan, ...] = ()
    files: TransactionFiles = TransactionFiles()


NO_TRANSACTIONS = SegmentTransactions()


class TimeWindow(NamedTuple):
    """Offsets at which a window of time begins and ends in a segment.

    Each is the first offset of the first batch whose newest record is at or after that time, None
    if there is none.
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
    """Damaged bytes [position, stop) after the last sound batch of a segment.

    Attributes:
        claimed_offset: end of the offsets that unfinished batches among the bytes claim, 0 if none.
    """

    position: int
    stop: int
    claimed_offset: int = 0


def damage_joined(before: EndDamage | None, defect: Defect) -> EndDamage:
    """Return the end damage extended by the next defect; `before` is None for the first one."""
    start, _, claimed = before or EndDamage(defect.position, 0)
    stop = defect.position + defect.size_bytes
    return EndDamage(start, stop, max(claimed, defect.unfinished_offset or 0))


@dataclass(frozen=True, slots=True)
class SegmentSurvey:
    """Facts about a segment, from a walk through its batch headers.

    Attributes:
        first_offset: first offset of the first sound batch, None without one.
        next_offset: exclusive end of the last sound batch; the segment's base offset without one.
            Higher if batches with lower offsets came late and nothing is missing before them.
        highest_offset: exclusive end of the highest batch; above `next_offset` if that batch is
            doubtful: lower offsets follow it, and offsets before it are missing.
        is_plain: nothing odd was found: offsets rise, every byte belongs to a batch or the tail.
        splits: positions where tasks may begin; the first is the start of the requested range, or
            of the segment if anything is odd.
        end_damage: damage after the last sound batch, None without any.
        hole_count: number of offset holes that no damage explains. The batches beside a hole are
            not confirmed by a neighbour.
        tail: kind of the unfinished bytes at the end, None without any.
        walk_offset: first offset of the walk if it skipped lower ones, None if it skipped none.
        newest_ms: newest time of the batches walked, in ms since 1970; None without one.
        epochs: leader epochs in batch headers: of consecutive batches with the same epoch, the
            first and the last.
        missing: reason why nothing of the segment could be read, None if it was read.
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
        """Return whether damage follows the last sound batch."""
        return self.end_damage is not None
