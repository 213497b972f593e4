"""Finds transactions whose end marker contradicts the ingested outcome. Reads tables.

A run decides the outcome of a transaction by the markers that it can read. A later repair may add a
marker that proves this outcome wrong. Ingested rows are never changed, so the contradiction is only
reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.repair.repair_state import RepairState
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.offset_ranges import OffsetRange, common, merged, subtracted
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
    """Transaction with its end marker, and the outcome with which it was ingested."""

    marker: Marker
    state: str


def lake_markers(ledger: PartitionLedger, context: RunContext) -> list[Marker]:
    """Return a partition's transaction markers in the lake, without loading all batches."""
    rows = _rows(ledger, context, _MARKER_COLUMNS, "control_type", _ENDS)
    return [
        Marker(row["base_offset"], row["producer_id"], row["control_type"] == ControlType.COMMIT)
        for row in rows
    ]


def settled_otherwise(
    key: PartitionKey, repaired: Sequence[OffsetRange], state: RepairState
) -> list[Finding]:
    """Return findings on transactions whose markers contradict the ingested outcome.

    If offsets are missing between a transaction and its next marker, there is no finding, because
    the transaction may have ended in the missing offsets.

    Args:
        key: the partition.
        repaired: ranges that were filled; only transactions that may end in these ranges are
            checked.
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
        start, stop = row["last_offset"] + 1, marker.offset
        if common(repaired, (start, stop + 1)) and not common(unknown, (start, stop)):
            transaction = _Transaction(marker, row["transaction_state"])
            found.setdefault(transaction, []).append(row["base_offset"])
    return [
        _finding(ledger.key, *transaction, min(offsets))
        for transaction, offsets in sorted(found.items())
    ]


def _finding(key: PartitionKey, marker: Marker, state: str, first_offset: int) -> Finding:
    text = (
        f"{key}: producer {marker.producer_id}'s transaction from offset {first_offset} on was "
        f"{marker.state} at offset {marker.offset}, but an earlier run ingested it as {state}: its "
        "rows stay unchanged"
    )
    ranges, facts = ((first_offset, marker.offset),), {"producer_id": marker.producer_id}
    return Finding(FindingKind.CONTRADICTED, text, str(key), ranges, facts)


def _not_covered(ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Return the offsets between merged, rising ranges."""
    return subtracted((ranges[0][0], ranges[-1][1]), ranges) if ranges else []


def _rows(
    ledger: PartitionLedger,
    context: RunContext,
    columns: Sequence[str],
    column: str,
    values: Sequence[str],
) -> Iterator[Row]:
    """Yield the rows of `batches` of a partition that have one of `values` in a column."""
    import pyarrow.compute as pc  # this import takes 0.05 s, and most runs do not need it

    requested = pa.array([str(value) for value in values])
    for rows in current_rows(ledger, context.tables, context.source_id, BATCHES, columns):
        texts = rows.column(column).cast(pa.string())
        yield from rows.filter(pc.is_in(texts, value_set=requested)).to_pylist()
