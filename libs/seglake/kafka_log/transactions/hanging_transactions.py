"""Ages of open transactions, and which of them are too old to wait for. Pure.

Ages are measured against the partition's newest record, never against the clock: disks are copied.
"""

from seglake.kafka_log.transaction_markers import OpenTransaction


def age_ms(transaction: OpenTransaction, newest_ms: int | None) -> int | None:
    """Return a transaction's age in ms at the newest record; None without both times."""
    if transaction.timestamp_ms is None or newest_ms is None:
        return None
    return max(newest_ms - transaction.timestamp_ms, 0)


def is_hanging(transaction: OpenTransaction, newest_ms: int | None, after_ms: int | None) -> bool:
    """Return whether an open transaction is too old to wait for; `after_ms` None waits for ever."""
    age = age_ms(transaction, newest_ms)
    return after_ms is not None and age is not None and age > after_ms
