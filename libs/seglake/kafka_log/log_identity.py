"""Decides whether a log on a disk is still the log that the lake has ingested. Pure.

If brokers write a topic id, it decides. Otherwise the last ingested batch does: the same log has a
batch with the same checksum at the same offset, unless the cleaner has rewritten it. A different
leader epoch alone proves nothing, for no checksum covers it.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from seglake.kafka_log.replica import Replica
from seglake.kafka_log.segment_survey import LastBatch

_MOST_NAMED = 3


class LogBatch(NamedTuple):
    """A sound batch of a log, on a disk or in the lake.

    Attributes:
        header: the header fields that the ledger keeps; for a wrapper, its base offset is the last.
        is_wrapper: the batch is a compressed message of an old format.
        is_whole: the batch has a record for each offset from the first to the last and no delete
            horizon, so the cleaner may have left it unchanged.
    """

    header: LastBatch
    first_offset: int
    last_offset: int
    magic: int
    is_wrapper: bool
    is_whole: bool


class Likeness(Enum):
    """Result of comparing a batch of the lake with the disk's batch at its offset."""

    SAME = auto()
    OTHER = auto()
    UNKNOWN = auto()  # the disk has no batch there, or a later one


def likeness(ingested: LastBatch, found: LogBatch | None) -> Likeness:
    """Compare an ingested batch with the first batch of the disk at or after its base offset."""
    if found is None:
        return Likeness.UNKNOWN
    is_at_place = found.first_offset <= ingested.base_offset <= found.last_offset
    if is_at_place and found.header.crc == ingested.crc:  # the lake may have only a part of it
        return Likeness.SAME
    if found.header.base_offset == ingested.base_offset:
        return Likeness.OTHER
    # A later batch: the ingested one is damaged now, or gone. One that begins before and reaches
    # over its offset: this log never had the ingested one.
    is_inside = found.first_offset <= ingested.base_offset
    return Likeness.OTHER if is_inside else Likeness.UNKNOWN


def may_be_cleaned(
    ingested: LogBatch, found: LogBatch, cleaner_offset: int | None, *, lake_is_compacted: bool
) -> bool:
    """Return whether two different batches may be one, before and after the cleaner rewrote it.

    The cleaner may have run on this disk or on the one that was ingested.

    Args:
        ingested: the ingested batch.
        found: the batch of the disk at its place.
        cleaner_offset: end of the range that the cleaner has processed on this disk; None if none.
        lake_is_compacted: the lake has gaps in this partition that the cleaner made.
    """
    if cleaner_offset is not None and found.header.base_offset < cleaner_offset:
        return True
    is_cleaned = cleaner_offset is not None or lake_is_compacted
    if ingested.magic != found.magic:  # since 4.0 the cleaner converts old formats to the new one
        return is_cleaned or not ingested.is_whole
    are_whole = ingested.is_whole and found.is_whole
    one, other = ((batch.first_offset, batch.last_offset) for batch in (ingested, found))
    if one == other:
        return not are_whole
    # A cleaned batch keeps its first and last offset; a kept message of an old format is unchanged.
    is_part = (max(one[0], other[0]), min(one[1], other[1])) in (one, other)
    is_wrapper = ingested.is_wrapper or found.is_wrapper
    return is_part and is_wrapper and (is_cleaned or not are_whole)


class ShorterLog(NamedTuple):
    """A copy that ends below the ingested offsets.

    Attributes:
        end: where the copy ends, in words for the note.
        covered_offset: exclusive end of the ingested offsets.
        has_older_epoch: the copy does not have the leader epoch of the last ingested batch.
    """

    replica: Replica
    end: str
    covered_offset: int
    has_older_epoch: bool

    def note(self, *, has_won: bool, has_lost: bool) -> str:
        """Return the summary's note on a replica whose batches may have won or lost an election."""
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
    """Return one note on all older or lagging replicas; a single one is described in full."""
    if len(shorter) < 2:
        return [each.note(has_won=False, has_lost=False) for each in shorter]
    names = ", ".join(str(each.replica.key) for each in shorter[:_MOST_NAMED])
    more = len(shorter) - _MOST_NAMED
    return [
        f"{len(shorter)} partitions end below what the lake covers (older or lagging replicas), "
        f"nothing is ingested above: {names}{f' and {more} more' if more > 0 else ''}"
    ]


def contradiction_note(replica: Replica, ingested: LastBatch, found: LastBatch) -> str:
    """Return the summary's note on rows that lost an election after they were ingested."""
    return (
        f"{replica.key}: {difference(ingested, found)}. An election has gone against rows that "
        "were ingested before; they stay, and ingesting goes on where they end"
    )


def lost_to_newer_epoch(ingested: LastBatch, found: LastBatch) -> bool:
    """Return whether the disk's batch has an older leader epoch than the ingested batch."""
    known = None not in (ingested.leader_epoch, found.leader_epoch)
    return known and (found.leader_epoch or 0) < (ingested.leader_epoch or 0)


def newer_epoch_note(replica: Replica, ingested: LastBatch, found: LastBatch) -> str:
    """Return the summary's note on a replica whose end lost an election to the ingested log."""
    return (
        f"{replica.key}: {difference(ingested, found)}. An election has gone against "
        f"{replica.folder}: nothing more is ingested from it"
    )


def refusal(replica: Replica, ingested: LastBatch, found: LastBatch) -> str:
    """Return the reason why nothing is ingested from a different log, and the remedy."""
    return (
        f"{replica.key}: {difference(ingested, found)}, so {replica.folder} is not the log that "
        "this lake has: the topic was deleted and made again, or its disk was wiped, and there is "
        f"no topic id that would tell them apart. Take it into another lake, or leave it out with "
        f"--topics '!{replica.key.topic}'"
    )


def second_log_refusal(replica: Replica, ingested: LastBatch, found: LastBatch | None) -> str:
    """Return the reason why nothing is ingested from a broker's second log, and the remedy."""
    disk = "nothing" if found is None else _shown(found)
    return (
        f"{replica.key}: the lake has {_shown(ingested)}, {replica.folder} has {disk}, both of "
        f"broker {replica.broker_id}. One broker cannot lose an election to itself, so this is a "
        "second log of it, as after a log dir that failed and came back: nothing of it is "
        "ingested, its batches are in quarantine (replica_conflict). If it is the right one, take "
        "it into another lake"
    )


def undecided_refusal(replica: Replica, what: str) -> str:
    """Return the reason to ingest nothing from a different log if no leader epoch decides."""
    key = replica.key
    return (
        f"{key}: {what}. There are no leader epochs here, so nothing says which of the two logs "
        f"won an election, and nothing is ingested from {replica.folder}. `seglake audit --source` "
        "shows what differs. If this log is the right one, `seglake retake --all --topics "
        f"{key.topic} --partition {key.partition}` with this source ingests it again"
    )


def difference(ingested: LastBatch, found: LastBatch) -> str:
    """Return a text that shows the batch of the lake and that of the disk at one offset."""
    return f"the lake has {_shown(ingested)}, the disk has {_shown(found)}"


def _shown(batch: LastBatch) -> str:
    """Return a text with a batch's offset, checksum and leader epoch."""
    epoch = "" if batch.leader_epoch is None else f" and leader epoch {batch.leader_epoch}"
    return f"the batch at offset {batch.base_offset} with checksum {batch.crc:#010x}{epoch}"
