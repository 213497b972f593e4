"""What gaps come to, and those that explain nothing."""

import pyarrow as pa

from seglake.kafka_log.gap_ranges import GapRanges
from seglake.kafka_log.replica import PartitionKey
from seglake.pipelines.lake_audit.gap_checks import GapChecks
from seglake.pipelines.lake_audit.gap_rows import GapCollector
from seglake.pipelines.lake_audit.ledger import LakePartition, LedgerRange, PartitionLedger
from seglake.pipelines.lake_audit.problems import ProblemKind
from seglake.pipelines.lake_audit.quarantine_checks import Damage
from seglake.pipelines.lake_audit.sums import RangeSums

_RANGES = (LedgerRange(0, 20, "ingest", 1, "first"), LedgerRange(30, 50, "ingest", 2, "second"))
_LEDGER = PartitionLedger(LakePartition("c", PartitionKey("orders", 0, None)), _RANGES)
_TYPES: dict[str, pa.DataType] = {
    "start_offset": pa.int64(),
    "next_offset": pa.int64(),
    "cause": pa.string(),
    "detail": pa.string(),
    "attempt_id": pa.string(),
}


def _checks(
    *gaps: tuple[int, int, str], attempt: str = "first", cell: tuple[int, int] = (0, 99)
) -> GapChecks:
    rows = [
        {"start_offset": start, "next_offset": stop, "cause": cause, "attempt_id": attempt}
        for start, stop, cause in gaps
    ]
    collector = GapCollector()
    collector.add(pa.Table.from_pylist(rows, schema=pa.schema(_TYPES)))
    return GapChecks(collector.rows(), _LEDGER, _LEDGER.blocks(), cell)


def _no_damage() -> Damage:
    damage = Damage()
    damage.finish(_LEDGER)
    return damage


def _kinds(checks: GapChecks) -> dict[ProblemKind, tuple[str, ...]]:
    return {problem.kind: problem.examples for problem in checks.problems(_no_damage())}


def test_explained_gaps_are_counted_and_no_problem() -> None:
    found = _checks((2, 5, "compacted"), (7, 8, "compacted"), (15, 20, "deleted"))
    assert _kinds(found) == {}
    assert found.counts() == {
        "compacted": GapRanges(2, 4),
        "deleted": GapRanges(1, 5, ((15, 20),)),
    }
    assert found.sums() == {(1, 0): RangeSums(gap_span=9)}


def test_what_reaches_beyond_the_ledgers_range_is_cut_in_the_sums_and_named() -> None:
    found = _checks((15, 25, "compacted"))
    assert found.sums() == {(1, 0): RangeSums(gap_span=5)}
    assert _kinds(found) == {ProblemKind.GAP_BEYOND_COVERAGE: ("[15, 25)",)}


def test_gaps_that_explain_nothing_are_named_each_with_its_reason() -> None:
    found = _checks((2, 3, "missing"), (4, 5, "quarantined"), (6, 7, "moths"), (25, 26, "deleted"))
    assert _kinds(found) == {
        ProblemKind.OUTSIDE_LEDGER: ("gaps has offsets [25, 26)",),
        ProblemKind.UNKNOWN_CAUSE: ("[6, 7) 'moths'",),
        ProblemKind.NO_EVIDENCE: ("[4, 5)",),
        ProblemKind.MISSING: ("[2, 3)",),
    }


def test_an_attempt_that_the_ledger_has_elsewhere_is_unknown_here() -> None:
    found = _checks((2, 3, "deleted"), attempt="second")
    assert _kinds(found) == {ProblemKind.UNKNOWN_ATTEMPT: ("[2, 3) of second",)}


def test_a_gap_counts_in_the_cell_where_it_starts_and_stands_in_all() -> None:
    found = _checks((2, 8, "deleted"), cell=(5, 99))
    assert (found.row_count, found.counts(), found.current.starts.tolist()) == (0, {}, [2])


def test_the_least_explained_gaps_are_shown_first() -> None:
    found = _checks((2, 3, "compacted"), (4, 5, "missing"), (6, 7, "deleted"))
    shown = [gap.cause for gap in found.shown(_no_damage())]
    assert shown == ["missing", "deleted", "compacted"]
