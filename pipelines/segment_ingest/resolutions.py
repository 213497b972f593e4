"""Says of quarantined bytes that their offsets are in the tables now. Pure.

Nothing is changed in a table: a resolution is another row with the same place and hash.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import pyarrow as pa

from lake.tables import QUARANTINE
from pipelines.segment_ingest.coverage import OffsetRange
from pipelines.segment_ingest.partition_log import PartitionKey
from pipelines.segment_ingest.seams import RangeResult
from segment_codec.errors import DefectCode

# All but the bytes, which stand in the first row.
QUARANTINE_COLUMNS = tuple(name for name in QUARANTINE.schema.names if name != "raw")

# A checksum that holds says nothing about these: the bytes will be refused again.
_SOUND_OUTSIDE = frozenset(
    {
        DefectCode.UNSUPPORTED_CODEC,
        DefectCode.DECOMPRESSION_FAILED,
        DefectCode.DECOMPRESSION_LIMIT,
        DefectCode.MALFORMED_RECORD,
        DefectCode.RECORD_COUNT_MISMATCH,
        DefectCode.INNER_CRC_MISMATCH,
        DefectCode.NESTED_WRAPPER,
    }
)

_MISPLACED = frozenset({DefectCode.OFFSET_OUT_OF_ORDER, DefectCode.OFFSET_OUT_OF_SEGMENT})

Row = Mapping[str, Any]


class Resolution(StrEnum):
    """How the offsets of quarantined bytes came into the tables after all."""

    REPLAYED = "replayed"  # from the same bytes
    SIBLING = "sibling"  # from another copy


class _Filled(NamedTuple):
    """Offsets that a repair filled, and the bytes that it took them from."""

    offsets: OffsetRange
    broker_id: int | None
    segment: str
    bytes: range


def unresolved(rows: Iterable[Row]) -> list[Row]:
    """The rows of damage that no later row resolves; sound bytes of another log are none."""
    listed = [row for row in rows if row["defect_code"] != DefectCode.REPLICA_CONFLICT]
    done = {_identity(row) for row in listed if row["resolution"] is not None}
    return [row for row in listed if row["resolution"] is None and _identity(row) not in done]


def is_sound_outside(row: Row) -> bool:
    """Whether the checksum of the quarantined batch holds, so that it fails inside."""
    return row["defect_code"] in _SOUND_OUTSIDE


def is_misplaced(row: Row) -> bool:
    """Whether only the offsets of the quarantined batch are not believed."""
    return row["defect_code"] in _MISPLACED


def resolution_rows(
    results: Sequence[RangeResult], rows: Iterable[Row], run_id: str, now_us: int
) -> list[dict[str, Any]]:
    """The rows that resolve what the repairs of one topic filled.

    Args:
        rows: unresolved ones, with the topic ids of the results' keys.
    """
    filled: dict[PartitionKey, list[_Filled]] = {}
    for result in results:
        key = result.plan.partition.replica.key
        filled.setdefault(key, []).extend(_filled(result))
    found = []
    for row in rows:
        own = filled.get(PartitionKey(row["topic"], row["partition"], row["topic_id"]), [])
        by = next((each for each in own if _is_resolved(row, each)), None)
        if by is not None:
            stamp = {"resolution": str(_kind(row, by)), "run_id": run_id, "quarantined_at": now_us}
            found.append({**row, **stamp})
    return found


def resolutions_table(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """The rows as Arrow, without bytes."""
    return pa.RecordBatch.from_pylist([{**row} for row in rows], schema=QUARANTINE.file_schema)


def _filled(result: RangeResult) -> list[_Filled]:
    """The pieces of a repair that are there without a hole."""
    return [
        _Filled(
            (report.first_offset, report.next_offset),
            stretch.broker_id,
            stretch.slices[0].file.name,
            range(
                stretch.slices[0].file.origin_position + stretch.slices[0].start,
                stretch.slices[0].file.origin_position + stretch.slices[0].stop,
            ),
        )
        for stretch, report in zip(result.plan.stretches, result.reports, strict=True)
        if report.first_offset is not None
        and report.next_offset is not None
        and not report.totals.gaps
    ]


def _is_resolved(row: Row, filled: _Filled) -> bool:
    """Whether all offsets that the damage took are there; what is not known is not resolved."""
    start, stop = filled.offsets
    if row["base_offset"] is not None and row["last_offset"] is not None:
        return bool(start <= row["base_offset"] <= row["last_offset"] < stop)
    before, behind = row["previous_offset"], row["next_offset"]
    if before is None and behind is None:
        return False
    return (before is None or start <= before + 1 < stop) and (
        behind is None or start < behind <= stop
    )


def _kind(row: Row, filled: _Filled) -> Resolution:
    is_same = (row["broker_id"], row["segment"]) == (filled.broker_id, filled.segment)
    return (
        Resolution.REPLAYED if is_same and row["position"] in filled.bytes else Resolution.SIBLING
    )


def _identity(row: Row) -> tuple[Any, ...]:
    return (row["broker_id"], row["segment"], row["position"], row["raw_sha256"])
