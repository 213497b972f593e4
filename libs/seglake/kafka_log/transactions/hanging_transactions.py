"""Decides which open transactions are too old to wait for.

An age is measured against the partition's newest record, not the clock, since a disk may be an old
copy.
"""

from seglake.kafka_log.transaction_markers import OpenTransaction


def age_ms(transaction: OpenTransaction, newest_ms: int | None) -> int | None:
    """Return a transaction's age in ms, against the partition's newest record; None if unknown."""
    if transaction.timestamp_ms is None or newest_ms is None:
        return None
    return max(newest_ms - transaction.timestamp_ms, 0)


def is_hanging(transaction: OpenTransaction, newest_ms: int | None, after_ms: int | None) -> bool:
    """Return whether an open transaction is older than `after_ms`; False if `after_ms` is None."""
    age = age_ms(transaction, newest_ms)
    return after_ms is not None and age is not None and age > after_ms
