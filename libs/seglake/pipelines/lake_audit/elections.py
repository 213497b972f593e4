"""Ledger coverage after lost elections. Pure.

An audit shares no code with runs, so this is not `log_tables.ledger_layers`, which runs use.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.offset_places import shown_range
from seglake.kafka_log.offset_ranges import OffsetRange, merged, without
from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.pipelines.lake_audit.problems import problem

_COVERS_NOTHING = (
    RangeKind.SUPERSEDED,
    RangeKind.RELEASED,
    RangeKind.REPAIR,
    RangeKind.REFILL,
)


class Coverage(NamedTuple):
    """Ranges of one partition after all commits in its ledger.

    Attributes:
        current: ranges whose rows count.
        superseded: ranges whose rows lost an election, and that no retake has replaced.
        doubles: ranges that were ingested again although the lake had them, in words.
    """

    current: list[OffsetRange]
    superseded: list[OffsetRange]
    doubles: list[str]


def coverage_of(rows: Iterable[Row]) -> Coverage:
    """Return the coverage after all commits of one partition; repairs add none."""
    found = Coverage([], [], [])
    waiting: list[OffsetRange] = []  # ranges ingested since the last election
    for row in sorted(rows, key=_order):
        offsets = row["start_offset"], row["next_offset"]
        kind = row["kind"]
        if kind in (RangeKind.SUPERSEDED, RangeKind.RETAKE, RangeKind.RELEASED):
            current, superseded, doubles = _with(found, waiting)
            waiting = []
            if kind == RangeKind.SUPERSEDED:
                current, superseded = without(current, offsets), merged([*superseded, offsets])
            else:
                superseded = without(superseded, offsets)
            found = Coverage(current, superseded, doubles)
        if kind not in _COVERS_NOTHING:
            waiting.append(offsets)
    return _with(found, waiting)


def _with(known: Coverage, ingested: Sequence[OffsetRange]) -> Coverage:
    """Return the coverage with further ranges, which must not overlap covered ones."""
    doubles = [*known.doubles]
    reached = 0
    covered = [(*offsets, False) for offsets in (*known.current, *known.superseded)]
    for start, stop, is_new in sorted([*covered, *((*offsets, True) for offsets in ingested)]):
        if is_new and start < min(stop, reached):  # an empty range has no offset
            doubles.append(f"[{start}, {stop}) begins below {reached}")
        reached = max(reached, stop)
    return Coverage(merged([*known.current, *ingested]), known.superseded, doubles)


def _order(row: Row) -> tuple[int, int]:
    """Return a sort key: by commit; within one, rows that supersede come first, releases last."""
    places = {RangeKind.SUPERSEDED: -1, RangeKind.RELEASED: 1}
    return row["generation"], places.get(row["kind"], 0)


def superseded_problems(partition: LakePartition, ranges: Sequence[OffsetRange]) -> list[Finding]:
    """Return the problems of ranges that wait for a retake, with its command."""
    key = partition.key
    shown = [shown_range(*offsets) for offsets in ranges]
    if shown:
        mend = f"`seglake retake --topics {key.topic} --partition {key.partition}`"
        shown[0] = f"{shown[0]} (to ingest them again: {mend})"
    return problem(FindingKind.SUPERSEDED, partition, len(shown), shown)
