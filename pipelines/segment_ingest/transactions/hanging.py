"""Transactions that do not end: how old they are, and what becomes of them. Pure.

Ages are measured against the partition's newest record, never against the clock: disks are copied.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from pipelines.segment_ingest.planning.coverage import EarlierRun
from pipelines.segment_ingest.progress import show_duration
from pipelines.segment_ingest.sources.partition_log import PartitionKey
from segment_codec.transactions import Marker, OpenTransaction


class Fate(StrEnum):
    """What a run does about an open transaction."""

    WAITS = "waits"
    PASSED = "passed"
    TAKEN = "taken_as_open"


class StillOpen(NamedTuple):
    """A transaction without an end, as the summary names it; an age of None is not known."""

    partition: str
    producer_id: int
    first_offset: int
    age_ms: int | None
    fate: Fate

    def __str__(self) -> str:
        begin = f"producer {self.producer_id} has a transaction open since offset "
        if not self.age_ms:
            return begin + str(self.first_offset)
        age = show_duration(self.age_ms)
        return f"{begin}{self.first_offset}, {age} before the newest record"


def age_ms(transaction: OpenTransaction, newest_ms: int | None) -> int | None:
    """How much older than the newest record a transaction is; None where times are missing."""
    if transaction.timestamp_ms is None or newest_ms is None:
        return None
    return max(newest_ms - transaction.timestamp_ms, 0)


def is_hanging(transaction: OpenTransaction, newest_ms: int | None, after_ms: int | None) -> bool:
    """Whether an open transaction is too old to be waited for; `after_ms` None waits for ever."""
    age = age_ms(transaction, newest_ms)
    return after_ms is not None and age is not None and age > after_ms


def late_commits(
    key: PartitionKey,
    ended: Iterable[tuple[OpenTransaction, Marker]],
    earlier: EarlierRun | None,
) -> Iterator[str]:
    """Say which transactions were committed after an earlier run had passed them."""
    for transaction, marker in ended:
        if (
            earlier is not None
            and marker.is_commit
            and earlier.last_stable_offset <= transaction.first_offset < earlier.next_offset
            and marker.offset >= earlier.upper_offset
        ):
            yield (
                f"{key}: producer {transaction.producer_id}'s transaction from offset "
                f"{transaction.first_offset} on was committed at offset {marker.offset}, after an "
                f"earlier run had passed it: its records below {earlier.next_offset} are not in "
                "records"
            )
