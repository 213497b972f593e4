"""Values that say where reading ends, and which records of transactions are ingested."""

from dataclasses import dataclass
from enum import StrEnum


class Isolation(StrEnum):
    """Records of transactions to ingest; the values are Kafka's `isolation.level`."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


class UpperBound(StrEnum):
    """End of a partition's range to ingest."""

    HIGH_WATERMARK = "high_watermark"
    LOG_END = "log_end"


class UndecidedTransactions(StrEnum):
    """Treatment of open transactions that read_committed does not wait for."""

    GAPS = "gaps"
    ROWS = "rows"


class LosingTails(StrEnum):
    """Treatment of batches that only losing replicas have."""

    QUARANTINE = "quarantine"
    ROWS = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPolicy:
    """Rules for the end of reading, and for open transactions to wait for.

    Attributes:
        isolation: read_committed waits for open transactions, read_uncommitted does not.
        upper_bound: end of the range to ingest. If it is the log end, no broker will end a
            transaction any more: read_committed waits for none.
        hanging_after_ms: age in ms, measured at the newest record, above which read_committed does
            not wait for an open transaction; None waits for ever.
    """

    isolation: Isolation = Isolation.READ_COMMITTED
    upper_bound: UpperBound = UpperBound.HIGH_WATERMARK
    hanging_after_ms: int | None = None
