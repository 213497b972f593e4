"""Decides whether a log on a disk is the log that was ingested into the lake.

If the broker has written a topic id, the id shows it. Otherwise the last ingested batch shows it:
the same log has a batch with the same checksum at the same offset, unless the log cleaner has
rewritten the batch. A different leader epoch alone proves nothing, since no checksum covers it.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from seglake.kafka_log.replica import Replica
from seglake.kafka_log.segment_survey import LastBatch

_MOST_NAMED = 3


class LogBatch(NamedTuple):
    """A valid batch of a log, on a disk or in the lake.

    Attributes:
        header: the header fields that the ledger stores; a wrapper's base offset is its last
            offset.
        is_wrapper: whether the batch is a compressed message of an old format.
        is_whole: whether the batch has a record for each of its offsets and no delete horizon, so
            the cleaner may never have rewritten it.
    """

    header: LastBatch
    first_offset: int
    last_offset: int
    magic: int
    is_wrapper: bool
    is_whole: bool


class Likeness(Enum):
    """Result of comparing an ingested batch with the disk's batch at its offset."""

    SAME = auto()
    OTHER = auto()
    UNKNOWN = auto()  # the disk has no batch at this offset


def likeness(ingested: LastBatch, found: LogBatch | None) -> Likeness:
    """Compare an ingested batch with the first batch on the disk at or above its base offset."""
    if found is None:
        return Likeness.UNKNOWN
    is_at_place = found.first_offset <= ingested.base_offset <= found.last_offset
    # Perhaps the lake has only a part of the disk's batch.
    if is_at_place and found.header.crc == ingested.crc:
        return Likeness.SAME
    if found.header.base_offset == ingested.base_offset:
        return Likeness.OTHER
    # A batch above the offset proves nothing: the ingested batch may be damaged or deleted by now.
    # A batch that contains the offset but begins below it proves that the log never had the
    # ingested batch.
    is_inside = found.first_offset <= ingested.base_offset
    return Likeness.OTHER if is_inside else Likeness.UNKNOWN


def may_be_cleaned(
    ingested: LogBatch, found: LogBatch, cleaner_offset: int | None, *, lake_is_compacted: bool
) -> bool:
    """Return whether the log cleaner may have made one of two batches from the other.

    The cleaner may have run on this disk or on the disk that was ingested.

    Args:
        ingested: the ingested batch.
        found: the disk's batch at the same offset.
        cleaner_offset: exclusive end of the range that the cleaner has processed on this disk; None
            if it never ran.
        lake_is_compacted: whether the lake has gaps of this partition that the cleaner made.
    """
    if cleaner_offset is not None and found.header.base_offset < cleaner_offset:
        return True
    is_cleaned = cleaner_offset is not None or lake_is_compacted
    if ingested.magic != found.magic:  # since Kafka 4.0 the cleaner converts batches of old formats
        return is_cleaned or not ingested.is_whole
    are_whole = ingested.is_whole and found.is_whole
    one, other = ((batch.first_offset, batch.last_offset) for batch in (ingested, found))
    if one == other:
        return not are_whole
    # The cleaner keeps a batch's first and last offset, and old messages as they are.
    is_part = (max(one[0], other[0]), min(one[1], other[1])) in (one, other)
    is_wrapper = ingested.is_wrapper or found.is_wrapper
    return is_part and is_wrapper and (is_cleaned or not are_whole)


class ShorterLog(NamedTuple):
    """Copy of a log that ends below the ingested offsets.

    Attributes:
        end: where the copy ends, as text.
        covered_offset: exclusive end of the ingested offsets.
        has_older_epoch: whether the copy lacks the leader epoch of the last ingested batch.
    """

    replica: Replica
    end: str
    covered_offset: int
    has_older_epoch: bool

    def note(self, *, has_won: bool, has_lost: bool) -> str:
        """Return the summary's note on the copy, which says if it won or lost an election."""
        what = "an older or lagging replica"
        if has_won:
            what = "a replica whose end won an election against rows that were ingested before"
        elif has_lost:
            what = "a replica whose end lost an election"
        elif self.has_older_epoch:
            what += ", or one that lost an election"
        return (
            f"{self.replica.key}: {self.end} and the lake covers up to {self.covered_offset}: "
            f"{what}, nothing is ingested above"
        )


def lagging_notes(shorter: Sequence[ShorterLog]) -> list[str]:
    """Return one note for all older or lagging replicas, with details if there is only one."""
    if len(shorter) < 2:
        return [each.note(has_won=False, has_lost=False) for each in shorter]
    names = ", ".join(str(each.replica.key) for each in shorter[:_MOST_NAMED])
    more = len(shorter) - _MOST_NAMED
    return [
        f"{len(shorter)} partitions end below what the lake covers (older or lagging replicas), "
        f"nothing is ingested above: {names}{f' and {more} more' if more > 0 else ''}"
    ]


def contradiction_note(replica: Replica, ingested: LastBatch, found: LastBatch) -> str:
    """Return the summary's note on ingested rows that an election removed from the log."""
    return (
        f"{replica.key}: {difference(ingested, found)}. An election has gone against rows that "
        "were ingested before; they stay in the lake, and this run continues where they end"
    )


def lost_to_newer_epoch(ingested: LastBatch, found: LastBatch) -> bool:
    """Return whether the disk's batch has an older leader epoch: its replica lost an election."""
    known = None not in (ingested.leader_epoch, found.leader_epoch)
    return known and (found.leader_epoch or 0) < (ingested.leader_epoch or 0)


def newer_epoch_note(replica: Replica, ingested: LastBatch, found: LastBatch) -> str:
    """Return the summary's note on a replica that lost an election to the ingested log."""
    return (
        f"{replica.key}: {difference(ingested, found)}. An election has gone against "
        f"{replica.folder}: nothing more is ingested from it"
    )


def refusal(replica: Replica, ingested: LastBatch, found: LastBatch) -> str:
    """Return the reason for rejecting a log that is not the ingested one, and what to do."""
    return (
        f"{replica.key}: {difference(ingested, found)}, so {replica.folder} is not the log that "
        "this lake has: the topic was deleted and created again, or its disk was wiped, and there "
        "is no topic id to distinguish the two logs. Ingest it into another lake, or exclude it "
        f"with --topics '!{replica.key.topic}'"
    )


def second_log_refusal(replica: Replica, ingested: LastBatch, found: LastBatch | None) -> str:
    """Return the reason for rejecting a broker's second log of a partition, and what to do."""
    disk = "nothing" if found is None else _shown(found)
    return (
        f"{replica.key}: the lake has {_shown(ingested)}, {replica.folder} has {disk}, both of "
        f"broker {replica.broker_id}. One broker cannot lose an election to itself, so this is a "
        "second log of the partition, as after a log dir failed and came back: its batches are not "
        "ingested, they are in quarantine (replica_conflict). If it is the right log, ingest it "
        "into another lake"
    )


def undecided_refusal(replica: Replica, what: str) -> str:
    """Return the reason for rejecting a log that differs, if no leader epoch decides."""
    key = replica.key
    return (
        f"{key}: {what}. Without leader epochs it is unknown which of the two logs won an "
        f"election, so nothing is ingested from {replica.folder}. `seglake audit --source` shows "
        "the differences. If this log is the right one, `seglake retake --all --topics "
        f"{key.topic} --partition {key.partition}` with this source ingests it again"
    )


def difference(ingested: LastBatch, found: LastBatch) -> str:
    """Describe the two different batches that lake and disk have at one offset."""
    return f"the lake has {_shown(ingested)}, the disk has {_shown(found)}"


def _shown(batch: LastBatch) -> str:
    """Describe a batch in a message: its offset, checksum and leader epoch."""
    epoch = "" if batch.leader_epoch is None else f" and leader epoch {batch.leader_epoch}"
    return f"the batch at offset {batch.base_offset} with checksum {batch.crc:#010x}{epoch}"
