"""Result of surveying one segment; the values are sent from executors to the driver."""

from dataclasses import dataclass, field
from typing import NamedTuple

from seglake.kafka_log.transaction_markers import Marker, OpenTransaction
from seglake.segment_codec.formats.defects import Defect
from seglake.segment_codec.formats.errors import TailKind
from seglake.segment_codec.formats.side_files.checkpoint_files import EpochStart
from seglake.segment_codec.formats.side_files.transaction_index import AbortedTransaction


class SplitPoint(NamedTuple):
    """Position at which a task may begin: the proved start of a batch or of the segment.

    Attributes:
        position: byte position in the segment.
        expected_offset: exclusive end of the offsets before this position.
        first_offset: first offset of the batch at this position.
        crc: checksum of the batch at this position.
        is_plain: whether offsets rise and no bytes are damaged up to the next split point.
    """

    position: int
    expected_offset: int
    first_offset: int
    crc: int
    is_plain: bool = True


class DataSpan(NamedTuple):
    """A producer's first transactional batch after its last marker or after damaged bytes."""

    offset: int
    producer_id: int
    timestamp_ms: int | None = None  # newest timestamp in the batch


Event = Marker | DataSpan


class DamagedSpan(NamedTuple):
    """Missing or damaged offsets of a segment, which may include a transaction marker.

    If `next_offset` is None, the range ends at the next segment.
    """

    start_offset: int
    next_offset: int | None


class OpenTransactions(NamedTuple):
    """The transactions that a producer snapshot lists as open at the snapshot's offset."""

    offset: int
    transactions: tuple[OpenTransaction, ...]


class TransactionFiles(NamedTuple):
    """Transactions in the index and snapshot beside a segment; markers in the log override them.

    Attributes:
        aborted: entries of the segment's transaction index; None without a usable one.
        has_index: whether the segment has a transaction index; a broker creates this file with its
            first entry.
        snapshot: the newest usable producer snapshot; None if there is none.
        notes: a sentence for each file that cannot be used, with the reason.
        unreadable: a sentence for each existing file that cannot be read, with the reason.
    """

    aborted: tuple[AbortedTransaction, ...] | None = None
    has_index: bool = False
    snapshot: OpenTransactions | None = None
    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class SegmentTransactions(NamedTuple):
    """Transaction markers, transactional data and damage in a segment.

    Attributes:
        events: markers and transactional data, sorted by offset.
        damage: offsets in damaged bytes, and offsets missing from a log that was never cleaned;
            sorted by offset.
        files: transaction index and producer snapshot beside the segment.
    """

    events: tuple[Event, ...] = ()
    damage: tuple[DamagedSpan, ...] = ()
    files: TransactionFiles = TransactionFiles()


NO_TRANSACTIONS = SegmentTransactions()


class TimeWindow(NamedTuple):
    """Offsets at which a time window begins and ends in a segment.

    Each is the first offset of the first batch whose newest record is at or after the window's
    start or end; None without such a batch.
    """

    from_offset: int | None = None
    to_offset: int | None = None


NO_WINDOW = TimeWindow()


class LastBatch(NamedTuple):
    """The header of the last valid batch of a segment."""

    base_offset: int
    crc: int
    leader_epoch: int | None


class EndDamage(NamedTuple):
    """Damaged bytes [position, stop) after the last valid batch of a segment.

    Attributes:
        claimed_offset: highest exclusive end offset in headers of unfinished batches among these
            bytes; 0 without such a batch.
    """

    position: int
    stop: int
    claimed_offset: int = 0


def damage_joined(before: EndDamage | None, defect: Defect) -> EndDamage:
    """Return the end damage, extended by the next defect; `before` is None for the first one."""
    start, _, claimed = before or EndDamage(defect.position, 0)
    stop = defect.position + defect.size_bytes
    return EndDamage(start, stop, max(claimed, defect.unfinished_offset or 0))


@dataclass(frozen=True, slots=True)
class SegmentSurvey:
    """Offsets, damage and transactions of a segment, read from its batch headers.

    Attributes:
        first_offset: first offset of the first valid batch; None if there is none.
        next_offset: exclusive end of the last valid batch, or of an earlier batch with higher
            offsets if no offsets below that batch are missing; the segment's base offset without a
            valid batch.
        highest_offset: exclusive end of the batch with the highest offsets. It is above
            `next_offset` if that batch is doubtful: batches with lower offsets come after it, and
            offsets below it are missing.
        is_plain: whether offsets rise and every byte belongs to a batch or the tail.
        splits: positions at which tasks may begin. The first is the start of the requested range;
            if the segment is not plain, the segment's start.
        end_damage: damage after the last valid batch; None without damage.
        hole_count: number of holes between batches that no damage explains. Nothing confirms the
            offsets of a batch next to a hole.
        tail: kind of the unfinished bytes at the segment's end; None if there is none.
        walk_offset: first offset that was read, if lower offsets were skipped; else None.
        newest_ms: newest timestamp of the batches that were read, in ms since 1970; None without
            batches.
        epochs: leader epochs in batch headers; of consecutive batches with the same epoch, only the
            first and the last are kept.
        missing: why the segment could not be read; None if it was read.
        is_unreadable: whether the segment's object in a remote tier cannot be decoded, because a
            key is missing or the manifest is damaged; another try would fail in the same way.
        manifest: content of its manifest in a remote tier, for later steps; see `RemoteObject`.
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
    is_unreadable: bool = False
    manifest: bytes | None = field(default=None, repr=False)

    @property
    def is_cut_open(self) -> bool:
        """Return whether damaged bytes follow the last valid batch."""
        return self.end_damage is not None
