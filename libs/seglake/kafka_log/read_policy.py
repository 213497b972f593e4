"""Settings that limit how far a log is read, and decide what happens to transactions."""

from dataclasses import dataclass
from enum import StrEnum


class Isolation(StrEnum):
    """Records of transactions to ingest, by the values of Kafka's `isolation.level`."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


class UpperBound(StrEnum):
    """Offset up to which a partition is ingested."""

    HIGH_WATERMARK = "high_watermark"
    LOG_END = "log_end"


class UndecidedTransactions(StrEnum):
    """Treatment of open transactions for which a read_committed run no longer waits."""

    GAPS = "gaps"
    ROWS = "rows"


class LosingTails(StrEnum):
    """Treatment of batches that exist only in replicas that lost an election."""

    QUARANTINE = "quarantine"
    ROWS = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPolicy:
    """Rules for the end of reading and for open transactions.

    Attributes:
        isolation: read_committed waits for open transactions, read_uncommitted does not.
        upper_bound: end of the range to ingest. LOG_END is for logs whose broker is gone:
            read_committed then waits for no transaction.
        hanging_after_ms: highest age, in ms, of an open transaction for which read_committed waits,
            measured at the partition's newest record; None to wait for ever.
    """

    isolation: Isolation = Isolation.READ_COMMITTED
    upper_bound: UpperBound = UpperBound.HIGH_WATERMARK
    hanging_after_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPolicy:
    """Rules for reading remote tiers.

    Attributes:
        includes_deleted: whether to also read segments that the cluster has deleted but the tier
            still has.
        includes_other_ids: whether to also read tiers whose topic ids contradict the cluster's.
        key_paths: files of private keys, by key id.
    """

    includes_deleted: bool = False
    includes_other_ids: bool = False
    key_paths: tuple[tuple[str, str], ...] = ()


PLAIN_TIERS = TierPolicy()
