"""Transactions that ended otherwise than their batches say, against a slow twin."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seglake.lake.parquet_rows import HIGHEST, LOWEST
from seglake.lake.tables import BATCHES
from seglake.pipelines.lake_audit.problems import Problem, ProblemKind
from seglake.pipelines.lake_audit.transaction_checks import (
    BatchSpans,
    CellEnds,
    PartitionTransactions,
    across_cells,
)

_COLUMNS = ("producer_id", "base_offset", "last_offset", "control_type", "transaction_state")


class _Batch(NamedTuple):
    """A batch, and how many offsets in front of it are in none."""

    hole: int
    records: int
    producer_id: int
    control_type: str | None
    state: str


_DATA = st.builds(
    _Batch,
    st.sampled_from([0, 0, 0, 0, 2]),
    st.integers(1, 3),
    st.integers(1, 2),
    st.none(),
    st.sampled_from(["committed", "aborted", "open", "none"]),
)
_MARKERS = st.builds(
    _Batch,
    st.sampled_from([0, 0, 0, 0, 2]),
    st.just(1),
    st.integers(1, 2),
    st.sampled_from(["commit", "abort"]),
    st.just("none"),
)


class _Placed(NamedTuple):
    producer_id: int
    base_offset: int
    last_offset: int
    control_type: str | None
    transaction_state: str


def _placed(batches: Sequence[_Batch]) -> list[_Placed]:
    found, offset = [], 0
    for hole, records, producer_id, control_type, state in batches:
        offset += hole
        found.append(_Placed(producer_id, offset, offset + records - 1, control_type, state))
        offset += records
    return found


def _naive(batches: Sequence[_Placed]) -> set[int]:
    """The markers of transactions that say something else than their data."""
    found = set()
    there = {o for batch in batches for o in range(batch.base_offset, batch.last_offset + 1)}
    for index, data in enumerate(batches):
        if data.transaction_state not in ("committed", "aborted"):
            continue
        for marker in batches[index + 1 :]:
            if marker.control_type and marker.producer_id == data.producer_id:
                is_there = there.issuperset(range(data.base_offset, marker.base_offset))
                if is_there and not data.transaction_state.startswith(marker.control_type):
                    found.add(marker.base_offset)
                break
    return found


def _checked(batches: Sequence[_Placed], edges: Sequence[int]) -> tuple[list[Problem], CellEnds]:
    """Of one cell, which holds every batch that reaches into it."""
    low, high = edges
    own = [batch for batch in batches if batch.base_offset <= high and batch.last_offset >= low]
    checks = PartitionTransactions()
    for each in own[::-1]:
        columns = {
            name: pa.array([value], BATCHES.schema.field(name).type)
            for name, value in zip(_COLUMNS, each, strict=True)
        }
        checks.add(pa.table({**columns, "state": pa.array(["decoded"])}))
    bases = np.array([each.base_offset for each in own], np.int64)
    lasts = np.array([each.last_offset for each in own], np.int64)
    checks.finish(BatchSpans(bases, lasts, (low, high)))
    return checks.problems(), checks.ends()


@given(
    st.lists(_DATA | _MARKERS, max_size=14), st.lists(st.integers(1, 40), max_size=3, unique=True)
)
def test_what_a_marker_denies_is_found_however_the_work_is_cut(
    made: list[_Batch], cuts: list[int]
) -> None:
    batches = _placed(made)
    lows = [LOWEST, *sorted(cuts)]
    cells = zip(lows, [*(low - 1 for low in lows[1:]), HIGHEST], strict=True)
    answers = [_checked(batches, cell) for cell in cells]
    problems = [found_item for found, _ in answers for found_item in found]
    problems += across_cells(ends for _, ends in answers)
    assert {problem.kind for problem in problems} <= {ProblemKind.OUTCOME}
    said = " ".join(example for problem in problems for example in problem.examples)
    markers = {int(offset) for offset in re.findall(r"the marker at offset (\d+)", said)}
    expected = _naive(batches)
    shown = [len(problem.examples) for problem in problems]
    assert markers == expected or (max(shown, default=0) == 5 and markers <= expected)


def test_nothing_is_said_across_a_cell_with_a_hole_in_it() -> None:
    batches = _placed(
        [
            _Batch(0, 2, 1, None, "aborted"),
            _Batch(0, 2, 2, None, "none"),
            _Batch(1, 2, 2, None, "none"),
            _Batch(0, 1, 1, "commit", "none"),
        ]
    )
    cells = [(LOWEST, 1), (2, 6), (7, HIGHEST)]
    ends = [_checked(batches, cell)[1] for cell in cells]
    assert [len(end.waiting) for end in ends] == [1, 0, 0]
    assert [len(end.first_markers) for end in ends] == [0, 0, 1]
    assert across_cells(ends) == []
