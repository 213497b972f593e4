"""Marks quarantined bytes as resolved when the tables have got their offsets.

The row of the bytes stays unchanged. A resolution is a second row with the same position and hash.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from seglake.ingest_steps.committing.range_result import RangeResult
from seglake.kafka_log.leader_epochs import OPEN_END
from seglake.kafka_log.offset_gaps import DAMAGE_CAUSES
from seglake.kafka_log.offset_ranges import OffsetRange
from seglake.lake.tables import QUARANTINE
from seglake.log_tables.current_gaps import CurrentGap
from seglake.log_tables.ledger_layers import RangeKind
from seglake.log_tables.quarantine_rows import IDENTITY
from seglake.segment_codec.formats.errors import DefectCode

# All columns except the bytes, which only the damage's first row has.
QUARANTINE_COLUMNS = tuple(name for name in QUARANTINE.schema.names if name != "raw")

# Defects with which a batch would be rejected again, although its checksum is valid.
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
    """Way in which the tables got the offsets of quarantined bytes."""

    REPLAYED = "replayed"  # the same bytes were decoded again
    SIBLING = "sibling"  # another copy had the records


class _Filled(NamedTuple):
    """Separate, ordered ranges that a piece of a segment filled, and the piece's positions."""

    offsets: Sequence[OffsetRange]
    broker_id: int | None
    segment: str
    bytes: range

    def reaches(self, region: OffsetRange) -> bool:
        """Return whether any of the filled offsets is in a range."""
        place = bisect_right(self.offsets, region[0], key=itemgetter(1))
        return place < len(self.offsets) and self.offsets[place][0] < region[1]


def unresolved(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of damage that no later row resolves, except rows of replica conflicts."""
    listed = [row for row in rows if row["defect_code"] != DefectCode.REPLICA_CONFLICT]
    done: dict[tuple[Any, ...], int] = {}
    for row in listed:
        if row["resolution"] is not None:
            identity = identity_of(row)
            done[identity] = max(row["generation"], done.get(identity, 0))
    # A retake that ingests the offsets again may record the same bytes as damage again.
    return [
        row
        for row in listed
        if row["resolution"] is None and row["generation"] > done.get(identity_of(row), 0)
    ]


def is_sound_outside(row: Row) -> bool:
    """Return whether a quarantined batch has a valid checksum, so that only its content is bad."""
    return row["defect_code"] in _SOUND_OUTSIDE


def is_inside_batch(row: Row) -> bool:
    """Return whether quarantined bytes are inside a compressed batch of an old format."""
    return row["codec"] is not None and row["magic"] in (0, 1)


def is_misplaced(row: Row) -> bool:
    """Return whether a quarantined batch is valid except for its offsets."""
    return row["defect_code"] in _MISPLACED


def resolution_rows(
    results: Sequence[RangeResult],
    rows: Iterable[Row],
    gaps: Iterable[CurrentGap],
    stamp: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return rows that mark damage as resolved if a partition's fills ingested its offsets.

    Args:
        results: the fills.
        rows: rows of the partition's unresolved damage.
        gaps: the partition's gaps before the fills.
        stamp: columns that name the run and the time.
    """
    damaged = [gap for gap in gaps if gap.cause in DAMAGE_CAUSES]
    filled = [of_piece for result in results for of_piece in _filled(result)]
    left = _left(results, damaged)
    found = []
    for row in rows:
        region = _explained(row, damaged)
        reaching = [of_piece for of_piece in filled if of_piece.reaches(region)]
        if (
            reaching
            and not any(_overlap(hole, region) for hole in left)
            and not any(_holds_less(result, row, region) for result in results)
        ):
            found.append({**row, "resolution": _kind(row, reaching), **stamp})
    return found


def resolutions_table(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return resolutions of damage as rows of `quarantine`, without the damaged bytes."""
    return pa.RecordBatch.from_pylist([{**row} for row in rows], schema=QUARANTINE.file_schema)


def _filled(result: RangeResult) -> Iterator[_Filled]:
    for split, report in zip(result.plan.splits, result.reports, strict=True):
        offsets: Sequence[OffsetRange] = report.refilled
        if (
            result.plan.kind is not RangeKind.REFILL
            and report.first_offset is not None
            and report.next_offset is not None
        ):
            offsets = [(report.first_offset, report.next_offset)]
        for piece in split.segment_splits if offsets else ():
            origin = piece.file.origin_position
            yield _Filled(
                offsets,
                split.broker_id,
                piece.file.name,
                range(origin + piece.start, origin + piece.stop),
            )


def _left(results: Sequence[RangeResult], damaged: Iterable[CurrentGap]) -> list[OffsetRange]:
    """Return the ranges in which offsets may still be missing because of damage.

    Args:
        results: the fills.
        damaged: gaps caused by damage, before the fills.
    """
    stated = {result.plan.start_offset for result in results}
    stated |= {gap.start_offset for result in results for gap in result.plan.standing_gaps}
    left = [gap.offsets for gap in damaged if gap.start_offset not in stated]
    for result in results:
        left += [gap.offsets for gap in result.gaps if gap.cause in DAMAGE_CAUSES]
        left += [
            # The report has only the number of these gaps, so its whole range counts.
            (report.first_offset, report.next_offset)
            for report in result.reports
            if report.totals.gaps
            and report.first_offset is not None
            and report.next_offset is not None
        ]
    return left


def _holds_less(result: RangeResult, row: Row, region: OffsetRange) -> bool:
    """Return whether a refill replaced a damaged batch by one with fewer records.

    The log cleaner had removed records from the copy's batch, so the damaged batch may have had
    more records.
    """
    return any(
        _overlap(batch.offsets, region) and batch.crc != row["expected_crc"]
        for report in result.reports
        for batch in report.thinned
    )


def _explained(row: Row, damaged: Iterable[CurrentGap]) -> OffsetRange:
    """Return the offsets that damage explains.

    If a neighbouring batch is unknown, the offsets extend to the edge of the gap.
    """
    start, stop = region_of(row)
    around = [gap for gap in damaged if gap.start_offset <= stop and start <= gap.next_offset]
    if row["previous_offset"] is None:
        start = min([start, *(gap.start_offset for gap in around)])
    if row["next_offset"] is None:
        stop = max([stop, *(gap.next_offset for gap in around)])
    return start, stop


def region_of(row: Row) -> OffsetRange:
    """Return the offset range whose gap these damaged bytes explain.

    The range ends at the neighbouring batches. If a neighbour is unknown, the range ends at the
    offset that the damaged bytes state.
    """
    before, after = row["previous_offset"], row["next_offset"]
    base, last = row["base_offset"], row["last_offset"]
    start = before + 1 if before is not None else base or 0
    stop = OPEN_END if last is None else last + 1
    return start, stop if after is None else after


def _overlap(one: OffsetRange, other: OffsetRange) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _kind(row: Row, filled: Sequence[_Filled]) -> str:
    is_same = any(
        (row["broker_id"], row["segment"]) == (of_piece.broker_id, of_piece.segment)
        and row["position"] in of_piece.bytes
        for of_piece in filled
    )
    return str(Resolution.REPLAYED if is_same else Resolution.SIBLING)


def identity_of(row: Row) -> tuple[Any, ...]:
    """Return a key that is equal for rows of the same bytes at the same position."""
    return tuple(row[name] for name in IDENTITY)
