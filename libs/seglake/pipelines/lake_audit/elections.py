"""Ledger coverage after lost elections.

This module repeats `log_tables.ledger_layers`, which runs use: an audit shares no code with runs.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from seglake.findings.findings import Finding
from seglake.findings.kinds import FindingKind
from seglake.findings.shown_offsets import shown_range
from seglake.kafka_log.offset_ranges import OffsetRange, merged, without
from seglake.log_tables.ledger_layers import RangeKind
from seglake.pipelines.lake_audit.ledger import LakePartition, Row
from seglake.pipelines.lake_audit.problems import problem

_COVERS_NOTHING = (
    RangeKind.SUPERSEDED,
    RangeKind.RELEASED,
    RangeKind.REPAIR,
    RangeKind.REFILL,
    RangeKind.ERASED,
    RangeKind.EXPIRED,
)


class Coverage(NamedTuple):
    """Ranges of one partition after all commits in its ledger.

    Attributes:
        current: ranges whose rows have not lost an election.
        superseded: ranges whose rows lost an election, and that no retake has replaced.
        doubles: texts on ranges that were ingested again although the lake had them.
    """

    current: list[OffsetRange]
    superseded: list[OffsetRange]
    doubles: list[str]


def coverage_of(rows: Iterable[Row]) -> Coverage:
    """Return the coverage after all commits of a partition.

    Repairs add no ranges.
    """
    found = Coverage([], [], [])
    waiting: list[OffsetRange] = []  # ranges ingested after the newest election so far
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
    """Return the coverage with another ingested range.

    If the range overlaps a covered range, the overlap is added to `doubles`.
    """
    doubles = [*known.doubles]
    reached = 0
    covered = [(*offsets, False) for offsets in (*known.current, *known.superseded)]
    for start, stop, is_new in sorted([*covered, *((*offsets, True) for offsets in ingested)]):
        if is_new and start < min(stop, reached):  # a range without offsets covers none
            doubles.append(f"[{start}, {stop}) begins below {reached}")
        reached = max(reached, stop)
    return Coverage(merged([*known.current, *ingested]), known.superseded, doubles)


def _order(row: Row) -> tuple[int, int]:
    """Return a sort key: by commit; in a commit, superseding rows come first and releases last."""
    places = {RangeKind.SUPERSEDED: -1, RangeKind.RELEASED: 1}
    return row["generation"], places.get(row["kind"], 0)


def superseded_problems(partition: LakePartition, ranges: Sequence[OffsetRange]) -> list[Finding]:
    """Return the problems of ranges that need a retake, each with the command."""
    key = partition.key
    shown = [shown_range(*offsets) for offsets in ranges]
    if shown:
        mend = f"`seglake retake --topics {key.topic} --partition {key.partition}`"
        shown[0] = f"{shown[0]} (to ingest them again: {mend})"
    return problem(FindingKind.SUPERSEDED, partition, len(shown), shown)
