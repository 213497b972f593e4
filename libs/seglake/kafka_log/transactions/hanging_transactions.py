"""Transactions that do not end: how old they are, and what becomes of them. Pure.

Ages are measured against the partition's newest record, never against the clock: disks are copied.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from seglake.kafka_log.replica import PartitionKey
from seglake.segment_codec.transactions import Marker, OpenTransaction


class EarlierRun(NamedTuple):
    """How a run saw a log.

    `next_offset` is the end of what it took, from `upper_offset` on nothing counted for it.
    """

    next_offset: int
    last_stable_offset: int
    upper_offset: int


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
    """Say which transactions were committed after an earlier run had skipped them."""
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
                f"earlier run had skipped it: its records below {earlier.next_offset} are not in "
                "records"
            )
