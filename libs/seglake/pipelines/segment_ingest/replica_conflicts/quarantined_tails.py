"""Reads the losing tails in quarantine. Effect: reads a table."""

from collections.abc import Mapping
from typing import Any

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.tables import QUARANTINE
from seglake.log_tables.source_ledger import SourceLedger
from seglake.pipelines.losing_tails import TAIL_COLUMNS, TailsOfPartition, tails_of
from seglake.pipelines.segment_ingest.run_context import RunContext

Row = Mapping[str, Any]  # Any: the columns of a row have many types


def quarantined_tails(
    ledger: SourceLedger, context: RunContext
) -> dict[PartitionKey, TailsOfPartition]:
    """Return the losing tails of each partition of the run's source; none in a dry run.

    Args:
        ledger: the lake's ledger, which has topic ids that rows lack.
    """
    if context.is_dry_run or not context.tables.has(QUARANTINE):
        return {}
    columns = ("topic_id", "topic", "partition", *TAIL_COLUMNS)
    by_key: dict[PartitionKey, list[Row]] = {}
    for row in context.tables.rows(QUARANTINE, context.source_id, columns).to_pylist():
        by_key.setdefault(ledger.key_of(row), []).append(row)
    found = {key: tails_of(rows) for key, rows in by_key.items()}
    return {key: tails for key, tails in found.items() if tails}
