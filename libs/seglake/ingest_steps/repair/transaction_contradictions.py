"""Finds transactions that were ingested with another outcome than their end. Effect: reads tables.

A run decides transactions by the markers that it can read. A repair may add markers that show a
wrong outcome; rows are final, so it is reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import OffsetRange, merged, subtracted
from seglake.kafka_log.replica import PartitionKey
from seglake.kafka_log.transaction_markers import Marker, Markers, TransactionState
from seglake.lake.tables import BATCHES
from seglake.log_tables.current_rows import current_rows
from seglake.log_tables.partition_ledger import PartitionLedger
from seglake.segment_codec.formats.control_record import ControlType

_MARKER_COLUMNS = ("base_offset", "producer_id", "control_type")
_DATA_COLUMNS = ("base_offset", "last_offset", "producer_id", "transaction_state")
_ENDS = (ControlType.COMMIT, ControlType.ABORT)
_SETTLED = (TransactionState.COMMITTED, TransactionState.ABORTED)

Row = Mapping[str, Any]  # Any: a row's columns have many types


class _Transaction(NamedTuple):
    """Marker of a transaction, and the state with which the transaction was ingested."""

    marker: Marker
    state: str


def lake_markers(ledger: PartitionLedger, context: RunContext) -> list[Marker]:
    """Return the transaction markers of a partition in the lake, without holding its batches."""
    rows = _rows(ledger, context, _MARKER_COLUMNS, "control_type", _ENDS)
    return [
        Marker(row["base_offset"], row["producer_id"], row["control_type"] == ControlType.COMMIT)
        for row in rows
    ]


def settled_otherwise(
    key: PartitionKey, repaired: Sequence[OffsetRange], state: RepairState
) -> list[Finding]:
    """Return findings on transactions whose markers contradict the ingested outcome.

    A transaction before missing offsets may have ended in them, whatever removed the offsets.

    Args:
        key: the partition.
        repaired: ranges filled since; only transactions whose end they may change are checked.
        state: the lake after the fills.
    """
    ledger, context = state.ledger.of(key), state.context
    known = lake_markers(ledger, context)
    if not known:
        return []
    markers, holes = Markers(known), [gap.offsets for gap in state.gaps.get(key, ())]
    unknown = merged([*holes, *state.compacted(key), *_not_covered(ledger.current)])
    found: dict[_Transaction, list[int]] = {}
    for row in _rows(ledger, context, _DATA_COLUMNS, "transaction_state", _SETTLED):
        marker = markers.next_marker(row["producer_id"], row["base_offset"])
        if marker is None or row["transaction_state"] == marker.state:
            continue
        between = row["last_offset"] + 1, marker.offset
        is_filled = any(start <= marker.offset and between[0] < stop for start, stop in repaired)
        if is_filled and not any(
            start < between[1] and between[0] < stop for start, stop in unknown
        ):
            transaction = _Transaction(marker, row["transaction_state"])
            found.setdefault(transaction, []).append(row["base_offset"])
    return [
        _finding(ledger.key, *transaction, min(offsets))
        for transaction, offsets in sorted(found.items())
    ]


def _finding(key: PartitionKey, marker: Marker, state: str, first_offset: int) -> Finding:
    text = (
        f"{key}: producer {marker.producer_id}'s transaction from offset {first_offset} on was "
        f"{marker.state} at offset {marker.offset}, and an earlier run ingested it as {state}: its "
        "rows stay as they are"
    )
    ranges, facts = ((first_offset, marker.offset),), {"producer_id": marker.producer_id}
    return Finding(FindingKind.CONTRADICTED, text, str(key), ranges, facts)


def _not_covered(ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Return the offsets between merged ranges."""
    return subtracted((ranges[0][0], ranges[-1][1]), ranges) if ranges else []


def _rows(
    ledger: PartitionLedger,
    context: RunContext,
    columns: Sequence[str],
    column: str,
    values: Sequence[str],
) -> Iterator[Row]:
    """Yield the rows of `batches` of a partition that have one of `values` in a column."""
    import pyarrow.compute as pc  # takes 0.05 s, for which a run without news need not wait

    requested = pa.array([str(value) for value in values])
    for rows in current_rows(ledger, context.tables, context.source_id, BATCHES, columns):
        texts = rows.column(column).cast(pa.string())
        yield from rows.filter(pc.is_in(texts, value_set=requested)).to_pylist()
