"""A made log of two segments with transactions, so that both have a transaction index."""

from seglake.kafka_log.log_bounds import LogBounds
from support.transaction_logs import TransactionLog, abort, commit, sent

# Offsets: 0-2 data of 1, 3-5 of 2, 6 abort 1, 7-9 data of 1, 10 commit 2, 11 abort 1, 12-14 plain.
LOG = TransactionLog.of([sent(1), sent(2), abort(1), sent(1), commit(2), abort(1), sent()])
EDGES = (0, 7)
INDEXES = ("00000000000000000000.txnindex", "00000000000000000007.txnindex")


def decisions(bounds: LogBounds) -> tuple[object, ...]:
    """Return the decisions on a log's bounds and transactions, without the notes."""
    return bounds.markers, bounds.open_transactions, bounds.next_offset, bounds.last_stable_offset
