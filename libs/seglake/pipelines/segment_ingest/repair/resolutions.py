"""Resolves quarantined bytes whose offsets are in the tables now. Pure.

Nothing is changed in a table: a resolution is another row with the same place and hash.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_gaps import GapCause
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.lake.tables import QUARANTINE
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.quarantine_rows import IDENTITY
from seglake.pipelines.segment_ingest.committing.range_result import RangeResult
from seglake.segment_codec.errors import DefectCode

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

_MISPLACED = frozenset(
    {
        DefectCode.OFFSET_OUT_OF_ORDER,
        DefectCode.OFFSET_OUT_OF_SEGMENT,
        DefectCode.OFFSET_CONTRADICTED,
    }
)

Row = Mapping[str, Any]


class Resolution(StrEnum):
    """Way in which the offsets of quarantined bytes came into the tables."""

    REPLAYED = "replayed"  # from the same bytes
    SIBLING = "sibling"  # from another copy


class _Filled(NamedTuple):
    """Offsets that a repair filled, and the bytes that it took them from."""

    offsets: OffsetRange
    broker_id: int | None
    segment: str
    bytes: range


def unresolved(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of damage that no later row resolves; sound bytes of another log are none."""
    listed = [row for row in rows if row["defect_code"] != DefectCode.REPLICA_CONFLICT]
    done: dict[tuple[Any, ...], int] = {}
    for row in listed:
        if row["resolution"] is not None:
            identity = identity_of(row)
            done[identity] = max(row["generation"], done.get(identity, 0))
    # The same bytes may be damage again, to a later retake of the offsets.
    return [
        row
        for row in listed
        if row["resolution"] is None and row["generation"] > done.get(identity_of(row), 0)
    ]


def is_sound_outside(row: Row) -> bool:
    """Return whether the checksum of the quarantined batch holds, so that it fails inside."""
    return row["defect_code"] in _SOUND_OUTSIDE


def is_inside_batch(row: Row) -> bool:
    """Return whether the quarantined bytes lie inside of a compressed batch of an old format."""
    return row["codec"] is not None and row["magic"] in (0, 1)


def is_misplaced(row: Row) -> bool:
    """Return whether only the offsets of the quarantined batch are not believed."""
    return row["defect_code"] in _MISPLACED


def resolution_rows(
    results: Sequence[RangeResult],
    rows: Iterable[Row],
    gaps: Iterable[CurrentGap],
    stamp: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return the rows that resolve what the repairs of one partition filled.

    Args:
        rows: of its unresolved damage.
        gaps: that stood before the repairs.
        stamp: columns that tell when, and by whom.
    """
    filled = [repaired for result in results for repaired in _filled(result)]
    left = _left(results, gaps)
    found = []
    for row in rows:
        region = region_of(row)
        overlapping = [repaired for repaired in filled if _overlap(repaired.offsets, region)]
        if overlapping and not any(_overlap(hole, region) for hole in left):
            found.append({**row, "resolution": _kind(row, overlapping), **stamp})
    return found


def resolutions_table(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return the rows as Arrow, without bytes."""
    return pa.RecordBatch.from_pylist([{**row} for row in rows], schema=QUARANTINE.file_schema)


def _filled(result: RangeResult) -> list[_Filled]:
    return [
        _Filled(
            (report.first_offset, report.next_offset),
            split.broker_id,
            piece.file.name,
            range(
                piece.file.origin_position + piece.start, piece.file.origin_position + piece.stop
            ),
        )
        for split, report in zip(result.plan.splits, result.reports, strict=True)
        if report.first_offset is not None and report.next_offset is not None
        for piece in [split.segment_splits[0]]
    ]


def _left(results: Sequence[RangeResult], gaps: Iterable[CurrentGap]) -> list[OffsetRange]:
    """Return the ranges in which offsets may still be missing because of damage."""
    repaired = {result.plan.start_offset for result in results}
    left = [
        (gap.start_offset, gap.next_offset)
        for gap in gaps
        if gap.cause is GapCause.QUARANTINED and gap.start_offset not in repaired
    ]
    for result in results:
        left += [
            (gap.start_offset, gap.next_offset)
            for gap in result.gaps
            if gap.cause is GapCause.QUARANTINED
        ]
        left += [
            (report.first_offset, report.next_offset)  # its own holes are in the tables only
            for report in result.reports
            if report.totals.gaps
            and report.first_offset is not None
            and report.next_offset is not None
        ]
    return left


def region_of(row: Row) -> OffsetRange:
    """Return the offset range whose gap these damaged bytes explain.

    Where a neighbour is not known, what the bytes claim to be stands for it.
    """
    before, behind = row["previous_offset"], row["next_offset"]
    base, last = row["base_offset"], row["last_offset"]
    start = before + 1 if before is not None else base or 0
    stop = OPEN_END if last is None else last + 1
    return start, stop if behind is None else behind


def _overlap(one: OffsetRange, other: OffsetRange) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _kind(row: Row, filled: Sequence[_Filled]) -> str:
    is_same = any(
        (row["broker_id"], row["segment"]) == (repaired.broker_id, repaired.segment)
        and row["position"] in repaired.bytes
        for repaired in filled
    )
    return str(Resolution.REPLAYED if is_same else Resolution.SIBLING)


def identity_of(row: Row) -> tuple[Any, ...]:
    """Return the key that rows of the same bytes at the same place share."""
    return tuple(row[name] for name in IDENTITY)
