"""Sums over rows that were removed from a table, or that a run kept out of it."""

from operator import add
from typing import NamedTuple


class RemovedSums(NamedTuple):
    """Sums over removed rows, or over records that erasure rules keep out, as in the ledger.

    Without `needs_sums` of a `RewriteTask`, `offset_sum` and the bytes are 0.
    """

    records: int = 0
    offset_sum: int = 0
    key_bytes: int = 0
    value_bytes: int = 0

    def plus(self, other: "RemovedSums") -> "RemovedSums":
        """Return the sums over these and other removed rows."""
        return RemovedSums(*map(add, self, other))


NOTHING_REMOVED = RemovedSums()
