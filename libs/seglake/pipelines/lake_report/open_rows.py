"""Counts records of transactions that have not ended. Effect: reads `batches`.

Only batches above a log's last stable offset are read: below it, every transaction has ended.
"""

from collections.abc import Iterator, Mapping, Sequence

from seglake.kafka_log.observation import Observation
from seglake.lake.parquet_rows import Within, read_rows
from seglake.lake.snapshots import StoredFile
from seglake.pipelines.lake_report.ledger import Ledger, LogName, Row
from seglake.storage.storage import Storage

_COLUMNS = (
    *("source_id", "topic_id", "partition", "base_offset", "generation"),
    *("producer_id", "row_count", "control_type", "transaction_state"),
)


def open_records(
    storage: Storage,
    files: Sequence[StoredFile],
    seen: Mapping[LogName, Observation],
    ledger: Ledger,
) -> dict[LogName, int]:
    """Count the open records of each log that has any.

    Args:
        files: data files of `batches`.
        seen: newest observation of each log.
    """
    found: dict[LogName, int] = {}
    for log, observation in seen.items():
        stable = observation.last_stable_offset
        covered = ledger.of(log).covered
        if stable is None or not covered or covered[-1][1] <= stable:
            continue
        count = _count(_batches(storage, files, log, stable, ledger))
        if count:
            found[log] = count
    return found


def _batches(
    storage: Storage, files: Sequence[StoredFile], log: LogName, start_offset: int, ledger: Ledger
) -> Iterator[Row]:
    """Yield the covered batches of a log, from an offset on."""
    number = log.key.partition
    only = [Within("partition", number, number), Within("base_offset", at_least=start_offset)]
    for file in files:
        if file.topic not in (None, log.key.topic) or not file.may_hold(only):
            continue
        for rows in read_rows(storage, file.path, _COLUMNS, only):
            for row in rows.to_pylist():
                if ledger.name_of(row["source_id"], {**row, "topic": log.key.topic}) != log:
                    continue
                if ledger.of(log).is_current(row["base_offset"], row["generation"]):
                    yield row


def _count(batches: Iterator[Row]) -> int:
    """Count the records without a later marker of their producer."""
    waiting: dict[int, int] = {}
    for row in sorted(batches, key=lambda row: (row["base_offset"], row["generation"])):
        producer_id = row["producer_id"]
        if row["control_type"] in ("commit", "abort"):
            waiting.pop(producer_id, None)
        elif row["transaction_state"] == "open":
            waiting[producer_id] = waiting.get(producer_id, 0) + row["row_count"]
    return sum(waiting.values())
