"""Whatever is changed in a lake that adds up, the audit finds it, names it and ends with 3."""

import shutil
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from seglake.findings.findings import Finding
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.text_report import to_text
from support.accounts import imbalances_of
from support.audits import audited, falsified
from support.cases import cases, every
from support.lakes import Row, read_table

Change = Callable[[list[Row]], list[Row]]

_NAME = "cmp-v2-0"
_LEDGER = "checkpoints"


def _sorted(rows: list[Row], column: str) -> list[Row]:
    return sorted(rows, key=lambda row: row[column])


def _without(column: str, place: int) -> Change:
    def change(rows: list[Row]) -> list[Row]:
        kept = _sorted(rows, column)
        del kept[place]
        return kept

    return change


def _twice(column: str, place: int) -> Change:
    return lambda rows: [*rows, _sorted(rows, column)[place]]


def _with(column: str, place: int, **values: Callable[[Row], object]) -> Change:
    """Change some values of the row at a place."""

    def change(rows: list[Row]) -> list[Row]:
        changed = _sorted(rows, column)
        row = changed[place]
        changed[place] = row | {name: value(row) for name, value in values.items()}
        return changed

    return change


def _more(column: str, by: int = 1) -> Change:
    """Change a number of the ledger's row."""
    return _with("start_offset", 0, **{column: lambda row: row[column] + by})


class Case(NamedTuple):
    """A change of one table, what it must be called, and words that say where."""

    name: str
    table: str
    change: Change
    kinds: set[str]
    said: str


_ADDS_UP = {"equation", "ledger_sums"}
_CASES = [
    Case(
        "a record is gone",
        "records",
        _without("offset", 3),
        {"row_count", *_ADDS_UP},
        "batch 191 to 230 counts 11 and has 10",
    ),
    Case(
        "a record is there twice",
        "records",
        _twice("offset", 5),
        {"offset_twice", "row_count", *_ADDS_UP},
        "offsets more than once in records: offset 214",
    ),
    Case(
        "a record lies outside of its batch",
        "records",
        _with("offset", 5, offset=lambda row: 100),
        {"row_outside_batch", "ledger_sums"},
        "batch_base_offset 191 has offsets 100 to 229",
    ),
    Case(
        "a record lies above its batch",
        "records",
        _with("offset", 5, offset=lambda row: 239),
        {"row_outside_batch", "ledger_sums"},
        "batch_base_offset 191 has offsets 193 to 239",
    ),
    Case(
        "a record lies above what is covered",
        "records",
        _with("offset", 5, offset=lambda row: 400),
        {"row_count", "outside_ledger", *_ADDS_UP},
        "records has offset 400",
    ),
    Case(
        "a record is of another batch",
        "records",
        _with("offset", 5, batch_base_offset=lambda row: 1000),
        {"row_count", "row_without_batch"},
        "batch_base_offset 1000 has offsets 214 to 214",
    ),
    Case(
        "a record is of another partition",
        "records",
        _with("offset", 5, partition=lambda row: 7),
        {"row_count", "outside_ledger", *_ADDS_UP},
        "cmp-v2-7",
    ),
    Case(
        "a value is shorter",
        "records",
        _with("offset", 5, value=lambda row: row["value"][1:]),
        {"ledger_sums"},
        "value_bytes: ",
    ),
    Case(
        "a key is null",
        "records",
        _with("offset", 5, key=lambda row: None),
        {"ledger_sums"},
        "key_bytes: ",
    ),
    Case(
        "a record is older",
        "records",
        _with("offset", 5, timestamp_ms=lambda row: 17),
        {"ledger_sums"},
        "17 in the tables",
    ),
    Case(
        "a batch is gone",
        "batches",
        _without("base_offset", 4),
        {"not_accounted", "row_without_batch", "bytes", *_ADDS_UP},
        "covered offsets with neither a batch nor a gap: [191, 231)",
    ),
    Case(
        "a batch is there twice",
        "batches",
        _twice("base_offset", 4),
        {"overlap", "bytes", *_ADDS_UP},
        "batch 191 to 230 and batch 191 to 230",
    ),
    Case(
        "a batch counts other rows",
        "batches",
        _with("base_offset", 4, row_count=lambda row: 12),
        {"row_count", *_ADDS_UP},
        "batch 191 to 230 counts 12 and has 11",
    ),
    Case(
        "a batch is longer",
        "batches",
        _with("base_offset", 4, last_offset=lambda row: row["last_offset"] + 1),
        {"overlap", "equation"},
        "batch 231 to 241 and batch 191 to 231",
    ),
    Case(
        "a batch lies above what is covered",
        "batches",
        _with("base_offset", -1, last_offset=lambda row: 1000),
        {"outside_ledger", "not_accounted", "bytes", "ledger_sums"},
        "batches has offsets 307 to 1000",
    ),
    Case(
        "a gap is gone",
        "gaps",
        _without("start_offset", 1),
        {"not_accounted", "equation"},
        "[78, 129)",
    ),
    Case(
        "a gap is shorter",
        "gaps",
        _with("start_offset", 1, next_offset=lambda row: row["next_offset"] - 2),
        {"not_accounted", "equation"},
        "covered offsets with neither a batch nor a gap: [127, 129)",
    ),
    Case(
        "a gap is longer",
        "gaps",
        _with("start_offset", 1, start_offset=lambda row: row["start_offset"] - 1),
        {"overlap", "equation"},
        "gap [77, 129) and batch",
    ),
    Case(
        "a gap reaches beyond what is covered",
        "gaps",
        _with("start_offset", -1, next_offset=lambda row: 1000),
        {"gap_beyond_coverage", "not_accounted", "equation"},
        "gaps at offsets outside the range of the commit that recorded them: [136, 1000)",
    ),
    Case(
        "a gap lies outside",
        "gaps",
        lambda rows: [*rows, rows[0] | {"start_offset": 900, "next_offset": 910}],
        {"outside_ledger"},
        "gaps has offsets [900, 910)",
    ),
    Case(
        "a gap has no explanation",
        "gaps",
        _with("start_offset", 1, cause=lambda row: "missing"),
        {"missing"},
        "missing without a known cause: [78, 129)",
    ),
    Case(
        "a gap is said to be quarantined",
        "gaps",
        _with("start_offset", 1, cause=lambda row: "quarantined"),
        {"no_evidence"},
        "without rows in quarantine: [78, 129)",
    ),
    Case(
        "a gap has a cause that does not exist",
        "gaps",
        _with("start_offset", 1, cause=lambda row: "moths"),
        {"unknown_cause"},
        "[78, 129) 'moths'",
    ),
    Case(
        "a gap is of a strange attempt",
        "gaps",
        _with("start_offset", 1, attempt_id=lambda row: "another"),
        {"unknown_attempt", "equation"},
        "[78, 129) of another",
    ),
    Case(
        "a record is of another commit",
        "records",
        _with("offset", 5, generation=lambda row: 2),
        {"outside_ledger", "row_count", *_ADDS_UP},
        "records has offset 214",
    ),
    Case(
        "a batch is of another commit",
        "batches",
        _with("base_offset", 4, generation=lambda row: 2),
        {"outside_ledger", "bytes", *_ADDS_UP},
        "batches has offsets 191 to 230",
    ),
    *(
        Case(f"the ledger has other {column}", _LEDGER, _more(column), {"ledger_sums"}, column)
        for column in (
            *("records", "batches", "key_bytes", "value_bytes"),
            *("min_timestamp_ms", "max_timestamp_ms"),
        )
    ),
    Case(
        "the ledger has another sum of offsets",
        "checkpoints",
        _with("start_offset", 0, offset_sum=lambda row: row["offset_sum"] - Decimal(1)),
        {"ledger_sums"},
        "offset_sum: ",
    ),
    *(
        Case(f"the ledger has other {column}", _LEDGER, _more(column), {"bytes"}, column)
        for column in ("bytes", "quarantined_batches")
    ),
    Case(
        "the ledger covers more",
        "checkpoints",
        _more("next_offset", 10),
        {"not_accounted", "equation"},
        "covered offsets with neither a batch nor a gap: [312, 322)",
    ),
    Case(
        "the ledger covers less",
        "checkpoints",
        _more("start_offset", 200),
        {"outside_ledger", "row_count", "bytes", *_ADDS_UP},
        "rows at offsets that the ledger does not cover: ",
    ),
    Case(
        "the ledger has a range twice",
        "checkpoints",
        _twice("start_offset", 0),
        {"ledger_overlap", "ledger_sums", "bytes"},
        "ingest ranges of the ledger that overlap: [0, 312) begins below 312",
    ),
    Case(
        "the ledger has a repair of what was never taken",
        "checkpoints",
        lambda rows: [*rows, _repair(rows[0], 500, 510)],
        {"repair_outside", "not_accounted", "equation"},
        "repair ranges outside of ingest ranges: [500, 510)",
    ),
    Case(
        "the ledger has a repair that reaches beyond what was taken",
        "checkpoints",
        lambda rows: [*rows, _repair(rows[0], 300, 330)],
        {"repair_outside", "not_accounted", "equation"},
        "repair ranges outside of ingest ranges: [300, 330)",
    ),
    Case(
        "the ledger has a range of a strange kind",
        "checkpoints",
        _with("start_offset", 0, kind=lambda row: "wish"),
        {"unknown_kind"},
        "[0, 312) 'wish'",
    ),
    Case(
        "a repair takes a gap's place and states nothing",
        "checkpoints",
        lambda rows: [*rows, _repair(rows[0], 78, 129)],
        {"not_accounted", "equation"},
        "covered offsets with neither a batch nor a gap: [78, 129)",
    ),
]


def _repair(row: Row, start: int, stop: int) -> Row:
    """A row of the ledger that repaired nothing."""
    sums = ("records", "batches", "quarantined_batches", "bytes", "key_bytes", "value_bytes")
    times = {"min_timestamp_ms": None, "max_timestamp_ms": None}
    return {
        **row,
        **times,
        **dict.fromkeys(sums, 0),
        "offset_sum": Decimal(0),
        "kind": "repair",
        "start_offset": start,
        "next_offset": stop,
        "generation": 2,
        "attempt_id": "later",
    }


@pytest.fixture(scope="module")
def found(compacted: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeAudit:
    """The audit of a lake in which each case is a source of its own, beside the sound one."""
    lake = shutil.copytree(compacted, tmp_path_factory.mktemp("falsified") / "lake")

    def with_cases(table: str, rows: list[Row]) -> list[Row]:
        changed = [
            row | {"source_id": case.name}
            for case in _CASES
            for row in (case.change(rows) if case.table == table else rows)
        ]
        return [*rows, *changed]

    for table in sorted({case.table for case in _CASES}):
        falsified(lake, table, partial(with_cases, table))
    return audited(lake)


def _problems(found: LakeAudit, source_id: str) -> list[Finding]:
    own = [each for each in found.partitions if each.partition.source_id == source_id]
    return [problem for partition in own for problem in partition.problems]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_a_falsified_table_is_found_and_named(case: Case, found: LakeAudit) -> None:
    problems = _problems(found, case.name)
    assert {str(problem.kind) for problem in problems} == case.kinds
    assert any(case.said in problem.text for problem in problems)
    assert any(problem.place == _NAME for problem in problems)


def test_nothing_is_named_of_what_is_sound_beside_falsified_rows(
    found: LakeAudit, compacted: Path
) -> None:
    (row,) = read_table(compacted, "checkpoints")
    assert _problems(found, row["source_id"]) == []
    assert (found.exit_code, found.problems) == (3, ())
    headline, *lines = to_text(found).splitlines()
    assert "NOT EXPLAINED: see 43 of 44 partitions" in headline
    assert sum(line.startswith(_NAME) for line in lines) >= 39  # the rest is counted
    assert any("batch 191 to 230 counts 11 and has 10" in line for line in lines)


_UNEQUAL = [case for case in _CASES if "equation" in case.kinds and case.table != "checkpoints"]


@pytest.mark.parametrize(
    "case", cases(_UNEQUAL, telling=every(3, _UNEQUAL), name=lambda case: case.name)
)
def test_another_engine_finds_what_does_not_add_up_too(case: Case, lake: Path) -> None:
    falsified(lake, case.table, case.change)
    assert imbalances_of(lake) != []
